import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultAor, type EndpointConfig } from '../../../src/drivers/sip/config.ts';
import { buildRequest } from '../../../src/sip/message/build.ts';
import type { SipRequest } from '../../../src/sip/message/message.ts';
import type { ServerTransaction } from '../../../src/sip/transaction/transaction.ts';
import type { Redirection } from '../../../src/telephony/party.ts';
import { audioAt, Carrier } from './carrier.ts';
import {
  anybody,
  createPhone,
  endpoint,
  type Phone,
  type PhoneOptions,
  type TestChannel,
  trunkTo,
  trusted,
} from './support.ts';

const phones: Phone[] = [];
const phone = async (options: PhoneOptions = {}): Promise<Phone> => {
  const made = await createPhone(options);
  phones.push(made);
  return made;
};
const taker = (rest: Parameters<typeof endpoint>[1] = {}) =>
  phone({ config: { endpoints: [{ ...anybody, ...rest }] } });

/** A call that stands between a new caller and a callee. */
async function connected(callee: Phone, rest: Parameters<typeof trunkTo>[1] = {}) {
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri, rest)] } });
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.answer();
  await out.heard('leg.answered');
  return { caller, out, inbound };
}

const features = suite('features of SIP calls');

features.after.each(async () => {
  const all = phones.splice(0);
  await Promise.all(all.map((each) => each.finish()));
  for (const each of all) {
    const { bindings, nonces, ...counts } = each.driver.counts();
    assert.equal(counts, { dialogs: 0, pending: 0, legs: 0, qualifying: 0, referrals: 0, subscriptions: 0, lines: 0 });
    assert.is(each.media.sessions.size, 0);
    await each.close();
  }
});

for (const algorithm of ['MD5', 'SHA-256'] as const)
  features(`a call with a password is taken after a ${algorithm} challenge, and so is its BYE`, async () => {
    const alice = endpoint('alice', { auth: { username: 'alice', password: 'wonderland' }, context: 'phones' });
    const callee = await phone({ config: { endpoints: [alice], algorithms: [algorithm] } });
    const { out, inbound } = await connected(callee, { outboundAuth: { username: 'alice', password: 'wonderland' } });
    assert.equal([inbound.call?.endpoint, inbound.call?.context], [['PJSIP', 'alice'], 'phones']);
    out.leg.hangup(16);
    await inbound.heard('leg.hungUp');
  });

features('a wrong password ends the call with cause 21', async () => {
  const alice = endpoint('alice', { auth: { username: 'alice', password: 'wonderland' } });
  const callee = await phone({ config: { endpoints: [alice, anybody] } });
  const caller = await phone({
    config: {
      endpoints: [trunkTo(callee.uri, { fromUser: 'alice', outboundAuth: { username: 'alice', password: 'x' } })],
    },
  });
  const out = caller.open('600@trunk');
  out.leg.dial();
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 21, techCause: 401 });
  assert.is(callee.incoming.length, 0);
});

features('who claims to be a phone with a password has to prove it, also from a trusted address', async () => {
  const alice = endpoint('alice', { auth: { username: 'alice', password: 'wonderland' } });
  const callee = await phone({ config: { endpoints: [alice, anybody] } });
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const [honest, pretender] = [
    caller.open('1@trunk'),
    caller.open('1@trunk', { caller: { name: '', number: 'alice' } }),
  ];
  honest.leg.dial();
  pretender.leg.dial();
  assert.equal(await pretender.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 21, techCause: 401 });
  assert.equal((await callee.rung()).call?.endpoint, ['PJSIP', 'anybody']);
  assert.is(callee.incoming.length, 1);
});

features(
  'of endpoints without passwords at one address the one that From names calls, else the first one',
  async () => {
    const there = (name: string, match: string) => endpoint(name, { match: [match] });
    const endpoints = [there('first', '127.0.0.0/8'), there('second', '127.0.0.1'), there('elsewhere', '192.0.2.1')];
    const callee = await phone({ config: { endpoints } });
    const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
    for (const [index, [number, expected]] of [
      ['SECOND', 'second'],
      ['first', 'first'],
      ['4930123456', 'first'],
    ].entries()) {
      caller.open('1@trunk', { caller: { name: '', number: number! } }).leg.dial();
      assert.equal((await callee.rung(index)).call?.endpoint, ['PJSIP', expected], number);
    }
    const stranger = caller.open('1@trunk', { caller: { name: '', number: 'elsewhere' } });
    stranger.leg.dial();
    assert.equal(await stranger.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 21, techCause: 403 });
  },
);

features('what comes in on a loopback address is of this machine, from whichever of its addresses', async () => {
  const callee = await phone({ config: { endpoints: [anybody] } });
  const there = await Carrier.open('127.0.0.2');
  try {
    there.send({ method: 'INVITE', port: callee.port, sdp: audioAt(9_000) });
    assert.equal((await callee.rung()).call?.endpoint, ['PJSIP', 'anybody']);
  } finally {
    await there.close();
  }
});

features('all contacts ring, the first to answer wins, the others hear that it was answered elsewhere', async () => {
  const [one, two] = [await taker(), await taker()];
  const both = endpoint('both', { aor: { ...defaultAor, contacts: [one.uri, two.uri] } });
  const caller = await phone({ config: { endpoints: [both] } });
  const out = caller.open('both');
  out.leg.dial();
  const [first, second] = [await one.rung(), await two.rung()];
  first.leg.ring();
  second.leg.ring();
  await out.heard('leg.ringing');
  second.leg.answer();
  await out.heard('leg.answered');
  assert.is((await first.heard('leg.hungUp')).cause, 26);
  assert.is(out.told.filter((told) => told === 'leg.ringing').length, 1);
});

features('when all contacts refuse, busy is told rather than absent', async () => {
  const [one, two] = [await taker(), await taker()];
  const both = endpoint('both', { aor: { ...defaultAor, contacts: [one.uri, two.uri] } });
  const caller = await phone({ config: { endpoints: [both] } });
  const out = caller.open('both');
  out.leg.dial();
  (await one.rung()).leg.hangup(17);
  (await two.rung()).leg.hangup(19);
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 17, techCause: 486 });
});

features('digits are told from the media plane and from INFO', async () => {
  const callee = await taker({ digits: 'info' });
  const { caller, out, inbound } = await connected(callee);
  caller.media.sessions.get(out.id)!.told({ type: 'media.digit', digit: '5', durationMs: 120 });
  assert.equal(await out.heard('leg.digit'), { type: 'leg.digit', digit: '5', durationMs: 120 });
  // Nobody takes telephone-event here, so digits go as INFO.
  out.leg.sendDigits({ digits: '1w#', beforeMs: 0, betweenMs: 1, durationMs: 40, afterMs: 0 });
  const digits = () => inbound.reports.filter(({ type }) => type === 'leg.digit');
  await callee.facts.until(() => digits().length === 2, 'two digits');
  assert.equal(digits(), [
    { type: 'leg.digit', digit: '1', durationMs: 40 },
    { type: 'leg.digit', digit: '#', durationMs: 40 },
  ]);
  // Its recordings and its bridge hear them as well.
  const session = callee.media.sessions.get(inbound.id)!;
  assert.equal(session.asked.slice(-2), ['heard 1', 'heard #']);
  assert.is(session.flows.at(-1)?.digitsBySignalling, true);
  // A digit of its bridge goes by INFO, too.
  session.told({ type: 'media.digitPassed', digit: '9', durationMs: 60 });
  const told = () => out.reports.filter(({ type }) => type === 'leg.digit');
  await caller.facts.until(() => told().length === 2, 'the digit of the bridge');
  assert.equal(told().at(-1), { type: 'leg.digit', digit: '9', durationMs: 60 });
});

features('digits go as RFC 4733 events when both sides take them', async () => {
  const { caller, out } = await connected(await taker());
  out.leg.sendDigits({ digits: '12', beforeMs: 0, betweenMs: 1, durationMs: 40, afterMs: 0 });
  assert.equal(caller.media.sessions.get(out.id)!.asked, ['digits 12']);
});

for (const [digits, theirs, looks] of [
  ['inband', 'auto', true],
  ['auto_inband', 'info', true],
  ['auto_inband', 'auto', undefined],
  ['auto', 'info', undefined],
] as const)
  features(
    `digits: ${digits} where the other side has ${theirs}: the audio is ${looks ? '' : 'not '}looked at`,
    async () => {
      const callee = await taker({ digits });
      const { inbound } = await connected(callee, { digits: theirs });
      const [session] = callee.media.sessions.values();
      assert.ok(session);
      assert.is(session.flows.at(-1)?.inbandDigits, looks);
      inbound.leg.sendDigits({ digits: '1', beforeMs: 0, betweenMs: 1, durationMs: 40, afterMs: 0 });
      assert.equal(session.asked, digits === 'auto' ? [] : ['digits 1']);
    },
  );

features('a 302 before the answer is told as forwarded', async () => {
  const callee = await taker();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  assert.ok(inbound.leg.redirect('PJSIP/sip:bob@192.0.2.1'));
  assert.equal(await out.heard('leg.forwarded'), { type: 'leg.forwarded', target: 'PJSIP/trunk/sip:bob@192.0.2.1' });
  assert.equal(await inbound.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 23, techCause: 302 });
});

const from = { name: '', number: 'trunk' };
const bob = { name: '', number: 'bob' };
const told = { type: 'leg.forwarded', target: 'PJSIP/trunk/sip:bob@192.0.2.1' } as const;
const goesOn = (target: string, more = {}) => ({
  type: 'leg.forwarded',
  target,
  redirection: { from, to: bob, reason: 'cfu', count: 1, followed: [target], ...more },
});

for (const [about, rest, before, expected] of [
  ['as what the phone dials', { redirects: 'user' }, undefined, goesOn('Local/bob@default')],
  ['at the address that it names', { redirects: 'uri_core' }, undefined, goesOn(told.target)],
  [
    'as one more redirection',
    { redirects: 'user' },
    { from: { name: '', number: '1' }, reason: 'cfb', count: 4, followed: ['Local/1@default'] },
    goesOn('Local/bob@default', {
      ...{ orig: { name: '', number: '1' }, origReason: 'cfb', count: 5 },
      followed: ['Local/1@default', 'Local/bob@default'],
    }),
  ],
  ['nowhere after too many redirections', { redirects: 'user' }, { from, count: 5 }, told],
  ['not twice to the same place', { redirects: 'user' }, { from, followed: ['Local/BOB@default'] }, told],
  ['not where the phone may not call', { redirects: 'uri_core', allowance: { extensions: ['600'] } }, undefined, told],
] as [string, Partial<EndpointConfig>, Redirection | undefined, unknown][])
  features(`a call that is forwarded by a 302 goes on ${about}`, async () => {
    const callee = await taker();
    const caller = await phone({ config: { endpoints: [trunkTo(callee.uri, rest)] } });
    const out = caller.open('600@trunk');
    out.leg.dial({ caller: { name: '', number: '' }, ...(before && { redirection: before }) });
    const inbound = await callee.rung();
    inbound.leg.redirect('PJSIP/sip:bob@192.0.2.1');
    assert.equal(await out.heard('leg.forwarded'), expected);
  });

/** Makes a phone take REFERs as a real one does; each request comes to the test. */
const refersTo = (callee: Phone, told: (request: SipRequest, transaction: ServerTransaction) => void) =>
  callee.transactions.onRequest((transaction) => told(transaction.request, transaction));

const notify = (of: Phone, transaction: ServerTransaction, sipfrag: string, number: number) => {
  const { request, source, toTag } = transaction;
  const message = buildRequest({
    method: 'NOTIFY',
    uri: request.contact!.uri,
    from: { ...request.to, params: { tag: request.toTag ?? toTag } },
    to: request.from,
    callId: request.callId,
    cseq: number,
    headers: [
      ['Event', 'refer'],
      ['Subscription-State', sipfrag.includes('100') ? 'active' : 'terminated;reason=noresource'],
    ],
    contentType: 'message/sipfrag',
    body: sipfrag,
  });
  return new Promise<number>((resolve) => {
    const onFinal = ({ status }: { status: number }) => resolve(status);
    of.transactions.request(message, source, {
      onFinal,
      onTimeout: () => resolve(408),
      onTransportError: () => resolve(503),
    });
  });
};

features('a redirect after the answer sends REFER, and ends the leg when the far side reports success', async () => {
  const callee = await taker();
  const { out } = await connected(callee);
  const referred = new Promise<ServerTransaction>((resolve) => {
    refersTo(callee, (request, transaction) => {
      transaction.reply(request.method === 'REFER' ? 202 : 200);
      if (request.method === 'REFER') resolve(transaction);
    });
  });
  assert.ok(out.leg.redirect('sip:bob@192.0.2.1'));
  const refer = await referred;
  assert.is(refer.request.header('Refer-To'), '<sip:bob@192.0.2.1>');
  assert.is(await notify(callee, refer, 'SIP/2.0 100 Trying', 900), 200);
  assert.is(await notify(callee, refer, 'SIP/2.0 200 OK', 901), 200);
  assert.is((await out.heard('leg.hungUp')).cause, 16);
});

features('an endpoint is asked to call somebody, and its progress is told', async () => {
  const callee = await taker();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const progress: [number, boolean][] = [];
  refersTo(callee, (_, transaction) => {
    transaction.reply(202);
    notify(callee, transaction, 'SIP/2.0 100 Trying', 1)
      .then(() => notify(callee, transaction, 'SIP/2.0 486 Busy Here', 2))
      .then(() => caller.facts.changed());
  });
  await caller.driver.refer({
    to: 'pjsip:trunk',
    referTo: 'sip:bob@192.0.2.1',
    variables: { 'X-Note': 'hello', Via: 'no' },
    progress: (status, done) => {
      progress.push([status, done]);
      caller.facts.changed();
    },
  });
  await caller.facts.until(() => progress.length === 2, 'two statuses');
  assert.equal(progress, [
    [100, false],
    [486, true],
  ]);
});

features('text messages go both ways', async () => {
  const callee = await taker();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  await caller.driver.sendMessage({
    from: 'sip:carol@192.0.2.5',
    to: 'pjsip:trunk',
    body: 'grüße',
    variables: { 'X-Mood': 'fine' },
  });
  assert.equal(callee.messages, [
    {
      from: '<sip:carol@192.0.2.5>',
      to: callee.uri.replace(/^sip:(.*):\d+$/, 'pjsip:$1'),
      body: 'grüße',
      contentType: 'text/plain',
      endpoint: 'anybody',
      headers: { 'X-Mood': 'fine' },
    },
  ]);
});

features('only a target without a host is referred to at this server, where that is asked for', async () => {
  const callee = await taker();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const seen: (string | undefined)[] = [];
  refersTo(callee, (request, transaction) => {
    seen.push(request.header('Refer-To'));
    transaction.reply(202);
    void notify(callee, transaction, 'SIP/2.0 200 OK', 1);
  });
  let over = 0;
  const progress = (): void => {
    over += 1;
    caller.facts.changed();
  };
  for (const referTo of ['sip:bob@192.0.2.1', 'pjsip:bob'])
    await caller.driver.refer({ to: 'pjsip:trunk', referTo, toSelf: true, progress });
  await caller.facts.until(() => over === 2, 'the ends of both referrals');
  assert.equal(
    seen.map((each) => each?.replace(/:\d+>/, '>')),
    ['<sip:bob@192.0.2.1>', '<sip:bob@127.0.0.1>'],
  );
});

features('the sender of a text message has its name before its URI', async () => {
  const callee = await taker();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const from = '"Carol, \\"sales\\"" <sip:carol@192.0.2.5>';
  await caller.driver.sendMessage({ from: from.replace('>', ':5080>'), to: 'pjsip:trunk', body: 'x' });
  assert.is(callee.messages[0]?.from, from);
});

features('a message to nobody, or refused, is an error', async () => {
  const callee = await phone();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri), endpoint('away')] } });
  const fails = async (to: string) =>
    caller.driver.sendMessage({ from: '1', to, body: 'x' }).then(
      () => 'sent',
      (error: Error) => error.message,
    );
  assert.is(await fails('pjsip:nobody'), 'there is no endpoint "nobody"');
  assert.is(await fails('pjsip:away'), 'endpoint "away" is not registered');
  assert.is(await fails('pjsip:trunk'), 'the message was not accepted: 401');
});

features('headers are added before dialing and read on the other side', async () => {
  const callee = await taker();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const out = caller.open('600@trunk');
  out.leg.addHeader('X-One', 'a');
  out.leg.addHeader('X-One', 'b\r\nX-Evil: yes');
  out.leg.addHeader('X-Two', 'c');
  out.leg.addHeader('Call-ID', 'mine');
  assert.ok(out.leg.updateHeader('x-two', 'd'));
  assert.not.ok(out.leg.updateHeader('X-None', 'd'));
  out.leg.dial();
  const { leg } = await callee.rung();
  assert.equal(
    [leg.header('x-one'), leg.header('X-One', 2), leg.header('X-Two'), leg.header('X-Evil'), leg.header('X-One', 3)],
    ['a', 'b X-Evil: yes', 'd', undefined, undefined],
  );
});

features('between trusted parties the caller is asserted and the called is told', async () => {
  const callee = await taker(trusted);
  const caller = await phone({
    config: { endpoints: [trunkTo(callee.uri, { ...trusted, fromUser: 'line7' })] },
  });
  const out = caller.open('600@trunk', { caller: { name: 'Dora "D" Doe', number: '4711' } });
  out.leg.dial();
  const inbound = await callee.rung();
  assert.equal(inbound.call?.caller, { name: 'Dora "D" Doe', number: '4711' });
  assert.match(inbound.leg.header('From')!, 'sip:line7@');
});

features('who the called party is, is told when a trusted peer asserts it', async () => {
  const callee = await phone();
  callee.transactions.onRequest((transaction) => {
    const headers = [['P-Asserted-Identity', '"Reception" <sip:0@192.0.2.1>']] as const;
    transaction.reply(180, { headers });
    transaction.reply(180, { headers });
    transaction.reply(486);
  });
  const caller = await phone({
    config: { endpoints: [trunkTo(callee.uri, trusted), { ...trunkTo(callee.uri), name: 'stranger' }] },
  });
  const [trusting, doubting] = [caller.open('trunk'), caller.open('stranger')];
  for (const { leg } of [trusting, doubting]) leg.dial();
  for (const channel of [trusting, doubting]) await channel.heard('leg.hungUp');
  const party = { name: 'Reception', number: '0' };
  assert.equal((await trusting.heard('leg.connectedLine')).party, party);
  assert.equal(trusting.told, ['leg.connectedLine', 'leg.ringing', 'leg.hungUp 17']);
  assert.equal(doubting.told, ['leg.ringing', 'leg.hungUp 17']);
});

features(
  'a phone is told who it is connected to: in our answers, by UPDATE, and not where that is not wanted',
  async () => {
    for (const [theirs, ours, told] of [
      [trusted, trusted, ['Reception 0', 'Eve 203']],
      [trusted, { ...trusted, sendConnectedLine: false }, []],
      [trusted, {}, []],
    ] as const) {
      const server = await phone({ config: { endpoints: [endpoint('desk', { match: ['127.0.0.1'], ...ours })] } });
      const desk = await phone({ config: { endpoints: [trunkTo(server.uri, theirs)] } });
      const out = desk.open('600@trunk');
      out.leg.dial();
      const inbound = await server.rung();
      inbound.leg.present({ name: 'Reception', number: '0' });
      inbound.leg.ring();
      inbound.leg.answer();
      await out.heard('leg.answered');
      for (const [name, number] of [
        ['Bob', '202'],
        ['Bob', '202'],
        ['Eve', '203'],
      ] as const)
        inbound.leg.present({ name, number });
      const heard = (): string[] =>
        out.reports.flatMap((report) =>
          report.type === 'leg.connectedLine' ? [`${report.party.name} ${report.party.number}`] : [],
        );
      await desk.facts.until(() => heard().at(-1) === told.at(-1), `${told}`);
      inbound.leg.hangup(16);
      await out.heard('leg.hungUp');
      // Bob is told of, too, unless Eve comes before our answer is acknowledged.
      assert.equal(
        heard().filter((each) => each !== 'Bob 202'),
        told,
      );
      out.leg.hangup(16);
    }
  },
);

features('a phone that we call is told who calls, and of others only what it does not know', async () => {
  const updates = new Set<string | undefined>();
  const callee = await taker(trusted);
  const caller = await phone({
    config: { endpoints: [trunkTo(callee.uri, trusted)] },
    lets(text) {
      if (text.startsWith('UPDATE ')) updates.add(/^CSeq: .*$/m.exec(text)?.[0]);
      return true;
    },
  });
  const out = caller.open('600@trunk');
  out.leg.present({ name: 'Dave', number: '300' });
  out.leg.dial();
  const inbound = await callee.rung();
  assert.equal(inbound.call?.caller, { name: 'Dave', number: '300' });
  inbound.leg.answer();
  await out.heard('leg.answered');
  out.leg.present({ name: 'Dave', number: '300' });
  out.leg.present({ name: 'Eve', number: '203' });
  const isEve = () => inbound.reports.some((each) => each.type === 'leg.connectedLine' && each.party.number === '203');
  await callee.facts.until(isEve, 'the phone is told of Eve');
  assert.is(updates.size, 1, 'one, however often it was sent');
});

features('a call to a phone that registered over TCP uses its connection', async () => {
  const server = await phone({
    protocol: 'tcp',
    config: { endpoints: [endpoint('desk', { match: ['127.0.0.1'] })] },
  });
  const desk = await phone({ protocol: 'tcp', config: { endpoints: [anybody] } });
  const target = { protocol: 'tcp', address: '127.0.0.1', port: server.port } as const;
  const status = await new Promise<number>((resolve) => {
    const register = buildRequest({
      method: 'REGISTER',
      uri: server.uri,
      from: '<sip:desk@127.0.0.1>;tag=1',
      to: '<sip:desk@127.0.0.1>',
      callId: 'reg',
      cseq: 1,
      contact: '<sip:desk@192.0.2.66:9;transport=tcp>',
    });
    const onFinal = (response: { status: number }) => resolve(response.status);
    desk.transactions.request(register, target, {
      onFinal,
      onTimeout: () => resolve(408),
      onTransportError: () => resolve(503),
    });
  });
  assert.is(status, 200);
  const out = server.open('desk');
  out.leg.dial();
  const inbound = await desk.rung();
  inbound.leg.answer();
  await out.heard('leg.answered');
  assert.is(server.transports.counts().connections, 1);
  out.leg.hangup(16);
  await inbound.heard('leg.hungUp');
});

features('dial strings name endpoints in any case; what they cannot mean is an error naming the part', async () => {
  const callee = await taker();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const part = (resource: string, formats?: string[]) => {
    try {
      caller.open(resource, formats ? { formats } : {});
    } catch (error) {
      return (error as { part?: string }).part;
    }
    return undefined;
  };
  assert.equal(
    [
      part('nobody'),
      part('sip:x@192.0.2.1'),
      part('trunk/nonsense'),
      part('1@nobody'),
      part('trunk', ['g722']),
      part(''),
    ],
    ['endpoint', 'endpoint', 'resource', 'endpoint', 'format', 'endpoint'],
  );
  const out = caller.open(`TRUNK/${callee.uri.replace('sip:', 'sip:777@')}`);
  assert.match(out.opened.name, /^PJSIP\/trunk-/);
  out.leg.dial();
  assert.is((await callee.rung()).call?.extension, '777');
});

features('commands given before the port is open are done in their order, and a hang-up overtakes them', async () => {
  const callee = await taker();
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const out = caller.open('600@trunk');
  out.leg.dial();
  out.leg.hangup(16);
  out.leg.hangup(16);
  assert.equal(out.told, ['leg.ended']);
  const played: string[] = [];
  out.leg.media.play({ uri: 'sound:x', language: 'en', offsetMs: 0 }, ({ type }) => played.push(type));
  out.leg.release();
  assert.equal(played, ['media.failed']);
  assert.is(callee.incoming.length, 0);
});

features('a call that call control does not take is answered 503', async () => {
  const callee = await phone({ accepts: false, config: { endpoints: [anybody] } });
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri)] } });
  const out: TestChannel = caller.open('600@trunk');
  out.leg.dial();
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 34, techCause: 503 });
});

features('a release without a hang-up ends the call as well', async () => {
  const callee = await taker();
  const { out, inbound } = await connected(callee);
  out.leg.release();
  assert.is((await inbound.heard('leg.hungUp')).cause, 16);
});

features.run();
