import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultAor, type EndpointConfig } from '../../../src/drivers/sip/config.ts';
import type { HeaderLines } from '../../../src/sip/message/build.ts';
import { audioAt, Carrier } from './carrier.ts';
import { anybody, createPhone, endpoint, type Phone, trunkTo } from './support.ts';

/** Calls before their answer: reliable provisional responses, and calls that ring at several places. */
const early = suite('before the answer');

const phones: Phone[] = [];
const carriers: Carrier[] = [];

async function withCarrier(rest: Partial<EndpointConfig> = {}) {
  const carrier = await Carrier.open();
  const phone = await createPhone({ config: { endpoints: [trunkTo(carrier.uri, rest)] } });
  carriers.push(carrier);
  phones.push(phone);
  return { carrier, phone };
}

early.after.each(async () => {
  for (const phone of phones.splice(0)) await phone.close();
  for (const carrier of carriers.splice(0)) await carrier.close();
});

for (const reliable of ['peer_supported', 'required'] as const)
  early(`between two of us that have 100rel: ${reliable} early audio and the answer are settled by PRACK`, async () => {
    const callee = await createPhone({ config: { endpoints: [{ ...anybody, reliable }] } });
    const caller = await createPhone({ config: { endpoints: [trunkTo(callee.uri, { reliable })] } });
    phones.push(callee, caller);
    const out = caller.open('600@trunk');
    out.leg.dial();
    const inbound = await callee.rung();
    inbound.leg.ring();
    inbound.leg.progress();
    await out.heard('leg.progressed');
    inbound.leg.answer();
    await Promise.all([out.heard('leg.answered'), inbound.heard('leg.answered')]);
    assert.equal(out.told, ['leg.ringing', 'leg.progressed', 'leg.answered']);
    const flows = (phone: Phone, id: string) => phone.media.sessions.get(id)!.flows.map(({ remote }) => remote.port);
    assert.equal(flows(caller, out.id).at(-1), callee.media.sessions.get(inbound.id)!.local.port);
    assert.equal(flows(callee, inbound.id), [caller.media.sessions.get(out.id)!.local.port]);
    out.leg.hangup(16);
    await inbound.heard('leg.hungUp');
    await callee.finish();
    await caller.finish();
  });

early('who requires what the endpoint is not to know gets 420, who does not know what it must 421', async () => {
  const carrier = await Carrier.open();
  carriers.push(carrier);
  const answers: unknown[] = [];
  const rows: [Partial<EndpointConfig>, HeaderLines][] = [
    [{ reliable: 'no' }, [['Require', '100rel']]],
    [{ reliable: 'required' }, []],
    [{ timers: 'no' }, [['Require', 'timer']]],
    [{ timers: 'required' }, [['Supported', '100rel']]],
    [{ shortestSessionSeconds: 300 }, [['Session-Expires', '299']]],
  ];
  for (const [terms, headers] of rows) {
    const phone = await createPhone({ config: { endpoints: [{ ...anybody, ...terms }] } });
    phones.push(phone);
    const callId = Buffer.from(JSON.stringify(terms)).toString('hex');
    carrier.send({ method: 'INVITE', port: phone.port, callId, headers, sdp: audioAt(9) });
    // Nobody acknowledges the one before, which is repeated.
    const response = await carrier.response('INVITE', callId);
    answers.push([response.status, ...['Unsupported', 'Require', 'Min-SE'].map((name) => response.header(name))]);
    assert.is(phone.incoming.length, 0);
  }
  assert.equal(answers, [
    [420, '100rel', undefined, undefined],
    [421, undefined, '100rel', undefined],
    [420, 'timer', undefined, undefined],
    [421, undefined, 'timer', undefined],
    [422, undefined, undefined, '300'],
  ]);
});

early(
  'of several early dialogs the first that describes its audio is heard, and whoever answers in the end',
  async () => {
    const { carrier, phone } = await withCarrier();
    const out = phone.open('600@trunk');
    out.leg.dial();
    const invite = await carrier.request('INVITE');
    carrier.reply(invite, 180, { toTag: 'silent' });
    carrier.reply(invite, 183, { toTag: 'one', sdp: audioAt(5001 * 2) });
    carrier.reply(invite, 183, { toTag: 'two', sdp: audioAt(5002 * 2) });
    carrier.reply(invite, 183, { toTag: 'three', sdp: audioAt(5003 * 2) });
    await out.heard('leg.progressed');
    carrier.reply(invite, 199, { toTag: 'one' });
    carrier.reply(invite, 200, { toTag: 'three' });
    await out.heard('leg.answered');
    const ports = phone.media.sessions.get(out.id)!.flows.map(({ remote }) => remote.port);
    assert.equal(ports, [10_002, 10_004, 10_006]);
    const ack = await carrier.request('ACK');
    assert.is(ack.toTag, 'three');
    carrier.reply(invite, 200, { toTag: 'two', sdp: audioAt(5002 * 2) });
    const late = await carrier.request('ACK');
    const bye = await carrier.request('BYE');
    assert.equal([late.toTag, bye.toTag], ['two', 'two']);
    carrier.reply(bye, 200);
    assert.is(phone.media.sessions.get(out.id)!.flows.length, 3);
    assert.equal(out.told, ['leg.ringing', 'leg.progressed', 'leg.answered']);
    out.leg.hangup(16);
  },
);

early('a 180 with a description opens early audio as a 183 with one does', async () => {
  const { carrier, phone } = await withCarrier();
  const out = phone.open('600@trunk');
  out.leg.dial();
  const invite = await carrier.request('INVITE');
  carrier.reply(invite, 180, { toTag: 'one' });
  await out.heard('leg.ringing');
  carrier.reply(invite, 180, { toTag: 'one', sdp: audioAt(10_002) });
  await out.heard('leg.progressed');
  assert.equal(out.told, ['leg.ringing', 'leg.progressed']);
  const second = phone.open('601@trunk');
  second.leg.dial();
  const other = await carrier.request('INVITE');
  carrier.reply(other, 180, { toTag: 'two', sdp: audioAt(10_004) });
  await second.heard('leg.ringing');
  assert.equal(second.told, ['leg.progressed', 'leg.ringing']);
  assert.equal(await second.heard('leg.ringing'), { type: 'leg.ringing', inMedia: true });
  assert.equal(
    phone.media.sessions.get(second.id)!.flows.map(({ remote }) => remote.port),
    [10_004],
  );
});

early('early audio of more places than may be is left out, and heard when they answer', async () => {
  const [one, two] = [await Carrier.open(), await Carrier.open()];
  const aor = { ...defaultAor, contacts: [one.uri, two.uri] };
  const phone = await createPhone({ config: { endpoints: [endpoint('trunk', { aor })], mostBranches: 1 } });
  carriers.push(one, two);
  phones.push(phone);
  const out = phone.open('trunk');
  out.leg.dial();
  one.reply(await one.request('INVITE'), 183, { sdp: audioAt(10_002) });
  await out.heard('leg.progressed');
  const invite = await two.request('INVITE');
  two.reply(invite, 183, { sdp: audioAt(10_004) });
  two.reply(invite, 200, { sdp: audioAt(10_006) });
  await out.heard('leg.answered');
  const ports = phone.media.sessions.get(out.id)!.flows.map(({ remote }) => remote.port);
  assert.equal(ports, [10_002, 10_006]);
  assert.equal(phone.limits.figures(), { 'sip.most_branches': 1 });
  out.leg.hangup(16);
});

early('a 2xx with another description than before counts, unless the first was settled reliably', async () => {
  for (const reliable of [false, true]) {
    const { carrier, phone } = await withCarrier();
    const out = phone.open('600@trunk');
    out.leg.dial();
    const invite = await carrier.request('INVITE');
    carrier.reply(invite, 183, {
      sdp: audioAt(10_000),
      ...(reliable && {
        headers: [
          ['Require', '100rel'],
          ['RSeq', '5'],
        ],
      }),
    });
    if (reliable) carrier.reply(await carrier.request('PRACK'), 200);
    carrier.reply(invite, 200, { sdp: audioAt(10_002) });
    await out.heard('leg.answered');
    const ports = phone.media.sessions.get(out.id)!.flows.map(({ remote }) => remote.port);
    assert.equal(ports, reliable ? [10_000] : [10_000, 10_002]);
    out.leg.hangup(16);
  }
});

early('an UPDATE of an early dialog moves its audio, also while another one is heard', async () => {
  const { carrier, phone } = await withCarrier();
  const out = phone.open('600@trunk');
  out.leg.dial();
  const invite = await carrier.request('INVITE');
  for (const [toTag, port] of [
    ['one', 10_000],
    ['two', 10_002],
  ] as const) {
    const headers = [['Require', '100rel'] as const, ['RSeq', '1'] as const];
    carrier.reply(invite, 183, { toTag, sdp: audioAt(port), headers });
    carrier.reply(await carrier.request('PRACK'), 200);
  }
  const dialog = { callId: invite.callId, toTag: invite.fromTag, user: 'trunk' };
  carrier.send({ ...dialog, method: 'UPDATE', tag: 'two', sdp: audioAt(10_012) });
  assert.is((await carrier.response('UPDATE')).status, 200);
  carrier.send({ ...dialog, method: 'UPDATE', tag: 'one', sdp: audioAt(10_010) });
  assert.is((await carrier.response('UPDATE')).status, 200);
  carrier.reply(invite, 200, { toTag: 'two' });
  await out.heard('leg.answered');
  const ports = phone.media.sessions.get(out.id)!.flows.map(({ remote }) => remote.port);
  assert.equal(ports, [10_000, 10_010, 10_012]);
  out.leg.hangup(16);
});

early('181 and 182 are told as proceeding, once, and 181 as forwarding, too', async () => {
  const { carrier, phone } = await withCarrier({ reliable: 'no' });
  const out = phone.open('600@trunk');
  out.leg.dial();
  const invite = await carrier.request('INVITE');
  assert.is(invite.header('Supported'), '199, replaces, tdialog, timer');
  for (const status of [181, 182, 180, 183]) carrier.reply(invite, status);
  carrier.reply(invite, 200, { sdp: audioAt(10_000) });
  await out.heard('leg.answered');
  assert.equal(out.told, ['leg.proceeding', 'leg.forwarding', 'leg.ringing', 'leg.answered']);
  out.leg.hangup(16);
});

early('without an offer in the INVITE early audio is offered reliably, and the PRACK answers', async () => {
  const carrier = await Carrier.open();
  carriers.push(carrier);
  const phone = await createPhone({ config: { endpoints: [endpoint('anybody', { match: ['127.0.0.1'] })] } });
  phones.push(phone);
  carrier.send({ method: 'INVITE', port: phone.port, headers: [['Require', '100rel']] });
  const inbound = await phone.rung();
  inbound.leg.progress();
  const progress = await carrier.response('INVITE');
  assert.equal([progress.status, progress.contentType], [183, 'application/sdp']);
  carrier.send({
    method: 'PRACK',
    number: 2,
    toTag: progress.toTag,
    headers: [['RAck', `${progress.header('RSeq')} 1 INVITE`]],
    sdp: audioAt(10_000),
  });
  assert.is((await carrier.response('PRACK')).status, 200);
  inbound.leg.answer();
  const ok = await carrier.response('INVITE');
  assert.equal([ok.status, ok.bodyText], [200, '']);
  assert.equal(
    phone.media.sessions.get(inbound.id)!.flows.map(({ remote }) => remote.port),
    [10_000],
  );
  carrier.send({ method: 'ACK', toTag: ok.toTag });
  inbound.leg.hangup(16);
});

early.run();
