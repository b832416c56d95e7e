import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultSipConfig, type EndpointConfig } from '../../../src/drivers/sip/config.ts';
import type { DeviceStateWord } from '../../../src/models/device-state.ts';
import type { HeaderLines } from '../../../src/sip/message/build.ts';
import type { SipRequest } from '../../../src/sip/message/message.ts';
import type { ServerTransaction } from '../../../src/sip/transaction/transaction.ts';
import { driverData } from '../../support/snapshots.ts';
import { anybody, createPhone, endpoint, type Phone, type PhoneOptions, subscriber, trunkTo } from './support.ts';

const phones: Phone[] = [];
let state: DeviceStateWord = 'NOT_INUSE';
let hinted = true;

/** The hint of 201: the phone `trunk`, whose state as a whole is set by hand. */
const hint = (context: string, extension: string) =>
  hinted && context === 'lamps' && extension === '201' ? { devices: ['PJSIP/trunk', 'Stasis:desk'], state } : undefined;

/** What `answer` gives for a NOTIFY that is left waiting. */
const unanswered = 0;

type WorldOptions = PhoneOptions & { answer?: (index: number) => number; watcher?: Partial<EndpointConfig> };

/** A server with a phone that it calls, and a phone with a blf for that one. */
async function world({ answer = () => 200, watcher = {}, ...options }: WorldOptions = {}) {
  const called = await createPhone({ config: { endpoints: [anybody] } });
  const watching = endpoint('anybody', { ...anybody, subscribeContext: 'lamps', allowReplaces: true, ...watcher });
  const server = await createPhone({
    hint,
    ...options,
    config: { endpoints: [watching, trunkTo(called.uri)], ...options.config },
  });
  const client = await createPhone();
  phones.push(server, client, called);
  const notified: SipRequest[] = [];
  const waiting: ServerTransaction[] = [];
  client.transactions.onRequest((transaction) => {
    notified.push(transaction.request);
    const status = answer(notified.length);
    if (status === unanswered) waiting.push(transaction);
    else transaction.reply(status, status === 503 ? { headers: [['Retry-After', '1']] } : {});
    client.facts.changed();
  });
  const send = subscriber(client, server, {
    from: '<sip:anybody@127.0.0.1>;tag=phone',
    to: (user) => `sip:${user}@pbx.example`,
    callId: 'blf',
  });
  const subscribe = (headers: HeaderLines, { toTag, user = '201', callId = 'blf' }: Asking = {}) =>
    send(headers, user, { toTag, named: callId });
  const heard = (count: number) => client.facts.until(() => notified.length >= count, `${count} NOTIFYs`);
  const set = (word: DeviceStateWord) => {
    state = word;
    server.watchers.changed('device:stasis:desk');
  };
  return { server, client, called, notified, waiting, subscribe, heard, set };
}
type Asking = { toTag?: string | undefined; user?: string; callId?: string };

const dialogEvent = ['Event', 'dialog'] as const;
const presenceEvent = ['Event', 'presence'] as const;

/** The dialogs of a document: their attributes and state. */
function dialogsOf(request: SipRequest): Record<string, string>[] {
  return [...request.bodyText.matchAll(/<dialog (.*?)><state>(.*?)<\/state>(.*?)<\/dialog>/g)].map(
    ([, attributes = '', word = '', rest = '']) => ({
      ...Object.fromEntries([...attributes.matchAll(/([\w-]+)="(.*?)"/g)].map(([, name, value]) => [name, value])),
      state: word,
      ...(rest.includes('+sip.rendering') && { held: 'yes' }),
    }),
  );
}
const states = (requests: readonly SipRequest[]) =>
  requests.map((request) => dialogsOf(request).map(({ state: word, held }) => (held ? `${word} held` : word)));
const versions = (requests: readonly SipRequest[]) =>
  requests.map((request) => /version="(\d+)" state="(\w+)"/.exec(request.bodyText)?.slice(1).join(' '));

/** Resolves when no subscription is left. */
async function ended(server: Phone) {
  const poll = setInterval(() => server.facts.changed(), 5);
  await server.facts.until(() => server.watchers.size === 0, 'the subscription ends');
  clearInterval(poll);
}

const lamps = suite('lamps');

lamps.before.each(() => {
  state = 'NOT_INUSE';
  hinted = true;
});

lamps.after.each(async () => {
  const all = phones.splice(0);
  await Promise.all(all.map((phone) => phone.finish()));
  for (const phone of all) await phone.close();
});

lamps('a call to the watched phone is told with its dialog: trying, early, confirmed, terminated', async () => {
  const { server, called, notified, subscribe, heard } = await world();
  const accepted = await subscribe([dialogEvent, ['Accept', 'application/dialog-info+xml']]);
  assert.equal([accepted.status, accepted.expires], [200, 3600]);
  await heard(1);
  assert.is(notified[0]!.header('Content-Type'), 'application/dialog-info+xml');
  assert.is(notified[0]!.header('Event'), 'dialog');
  assert.is(
    notified[0]!.bodyText,
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<dialog-info xmlns="urn:ietf:params:xml:ns:dialog-info" version="0" state="full" entity="sip:201@pbx.example">',
      '<dialog id="201"><state>terminated</state></dialog>',
      '</dialog-info>',
      '',
    ].join('\r\n'),
  );
  const out = server.open('600@trunk');
  out.leg.dial();
  const inbound = await called.rung();
  await heard(2);
  inbound.leg.ring();
  await out.heard('leg.ringing');
  await heard(3);
  inbound.leg.answer();
  await out.heard('leg.answered');
  await heard(4);
  inbound.leg.hangup(16);
  await heard(5);
  assert.equal(states(notified), [['terminated'], ['trying'], ['early'], ['confirmed'], ['terminated']]);
  assert.equal(versions(notified), ['0 full', '1 full', '2 full', '3 full', '4 full']);
  const { 'local-tag': phoneTag, 'remote-tag': ourTag, ...early } = dialogsOf(notified[2]!)[0]!;
  assert.equal(early, { id: out.id, 'call-id': inbound.leg.protocolId, direction: 'recipient', state: 'early' });
  assert.ok(phoneTag && ourTag && phoneTag !== ourTag);
  assert.is(dialogsOf(notified[1]!)[0]!['local-tag'], undefined, 'a phone that has not answered has no tag yet');
  assert.equal(dialogsOf(notified[4]!), [{ id: out.id, state: 'terminated' }]);
});

lamps('a call that the watched phone makes is told as its own, and held while it holds it', async () => {
  const watched = { devices: ['PJSIP/caller'], state: 'NOT_INUSE' as const };
  const { server, notified, subscribe, heard } = await world({
    hint: () => watched,
    config: { endpoints: [endpoint('caller', { match: ['127.0.0.1'] })] },
  });
  const phone = await createPhone({ config: { endpoints: [trunkTo(server.uri)] } });
  phones.push(phone);
  await subscribe([dialogEvent], { user: '9' });
  await heard(1);
  const out = phone.open('600@trunk');
  out.leg.dial();
  const inbound = await server.rung();
  await heard(2);
  inbound.leg.ring();
  await heard(3);
  inbound.leg.answer();
  await out.heard('leg.answered');
  await heard(4);
  out.leg.hold();
  await inbound.heard('leg.held');
  await heard(5);
  out.leg.unhold();
  await inbound.heard('leg.unheld');
  await heard(6);
  out.leg.hangup(16);
  await heard(7);
  assert.equal(states(notified), [
    ['terminated'],
    ['trying'],
    ['early'],
    ['confirmed'],
    ['confirmed held'],
    ['confirmed'],
    ['terminated'],
  ]);
  const { 'local-tag': _, 'remote-tag': __, ...said } = dialogsOf(notified[2]!)[0]!;
  assert.equal(said, { id: inbound.id, 'call-id': out.leg.protocolId, direction: 'initiator', state: 'early' });
});

for (const [who, settings, isNamed] of [
  ['a watcher that may not replace calls', {}, false],
  ['a watcher of another context', { allowReplaces: true, context: 'guests' }, false],
  ['a watcher that may replace calls of that context', { allowReplaces: true }, true],
] as const)
  lamps(`${who} is ${isNamed ? '' : 'not '}told the names of their dialogs`, async () => {
    const { server, called, notified, subscribe, heard } = await world({
      watcher: { allowReplaces: false, ...settings },
    });
    await subscribe([dialogEvent]);
    await heard(1);
    const out = server.open('600@trunk');
    out.leg.dial();
    const inbound = await called.rung();
    await heard(2);
    inbound.leg.ring();
    await heard(3);
    const [{ 'call-id': callId, 'local-tag': local, 'remote-tag': remote, ...plain } = {}] = dialogsOf(notified[2]!);
    assert.equal(plain, { id: out.id, direction: 'recipient', state: 'early' });
    assert.equal([callId, local, remote].map(Boolean), [isNamed, isNamed, isNamed]);
    inbound.leg.answer();
    await out.heard('leg.answered');
    out.leg.hangup(16);
    await heard(4);
  });

lamps('devices whose calls cannot be seen are told by their state', async () => {
  const { notified, subscribe, heard, set } = await world();
  await subscribe([dialogEvent]);
  await heard(1);
  const words = ['RINGING', 'INUSE', 'ONHOLD', 'UNAVAILABLE'] as const;
  for (const [index, word] of words.entries()) {
    set(word);
    await heard(index + 2);
  }
  assert.equal(states(notified), [['terminated'], ['early'], ['confirmed'], ['confirmed held'], ['terminated']]);
});

lamps('presence tells whether a phone is there and what it does, in the words that phones read', async () => {
  const { notified, subscribe, heard, set } = await world();
  await subscribe([presenceEvent, ['Accept', 'application/pidf+xml, application/xpidf+xml']]);
  await heard(1);
  for (const [index, word] of (['RINGING', 'INUSE', 'ONHOLD', 'UNAVAILABLE'] as const).entries()) {
    set(word);
    await heard(index + 2);
  }
  assert.is(notified[0]!.header('Content-Type'), 'application/pidf+xml');
  const said = notified.map(({ bodyText }) => [
    /<basic>(\w+)/.exec(bodyText)?.[1],
    [.../<rpid:activities>(.*)<\/rpid:activities>/.exec(bodyText)![1]!.matchAll(/rpid:([\w-]+)/g)].map(
      ([, name]) => name,
    ),
    /<note>(.*?)<\/note>/.exec(bodyText)?.[1],
  ]);
  assert.equal(said, [
    ['open', ['unknown'], 'Ready'],
    ['open', ['busy'], 'Ringing'],
    ['open', ['on-the-phone', 'busy'], 'On the phone'],
    ['open', ['on-the-phone', 'busy'], 'On hold'],
    ['closed', ['away'], 'Unavailable'],
  ]);
  assert.match(notified[0]!.bodyText, 'entity="sip:201@pbx.example"');
});

lamps('what is told twice over is told once', async () => {
  const { server, notified, subscribe, heard, set } = await world();
  await subscribe([dialogEvent]);
  await heard(1);
  set('NOT_INUSE');
  server.watchers.changed('device:pjsip/trunk');
  set('INUSE');
  await heard(2);
  set('INUSE');
  set('RINGING');
  await heard(3);
  assert.equal(states(notified), [['terminated'], ['confirmed'], ['early']]);
});

lamps('who renews is told again, keeps one subscription, and its id is repeated', async () => {
  const { server, notified, subscribe, heard } = await world();
  const { toTag } = await subscribe([['Event', 'dialog;id=7;sla']]);
  await heard(1);
  const renewed = await subscribe(
    [
      ['Event', 'dialog;id=7'],
      ['Expires', '600'],
    ],
    { toTag },
  );
  assert.equal([renewed.status, renewed.expires], [200, 600]);
  await heard(2);
  assert.equal([server.watchers.size, server.driver.counts().subscriptions], [1, 1]);
  assert.equal(
    notified.map((request) => [request.header('Event'), request.header('Subscription-State')]),
    [
      ['dialog;id=7', 'active;expires=3600'],
      ['dialog;id=7', 'active;expires=600'],
    ],
  );
  assert.equal(versions(notified), ['0 full', '1 full']);
  assert.is((await subscribe([presenceEvent], { toTag })).status, 489, 'a dialog has one package');
});

lamps('who asks once, or unsubscribes, is told once more and holds nothing', async () => {
  const { server, notified, subscribe, heard } = await world();
  assert.is((await subscribe([presenceEvent, ['Expires', '0']], { callId: 'once' })).status, 200);
  await heard(1);
  const { toTag } = await subscribe([dialogEvent]);
  await heard(2);
  assert.is((await subscribe([dialogEvent, ['Expires', '0']], { toTag })).status, 200);
  await heard(3);
  assert.equal(
    notified.map((request) => request.header('Subscription-State')),
    ['terminated;reason=timeout', 'active;expires=3600', 'terminated;reason=timeout'],
  );
  await ended(server);
  assert.is((await subscribe([dialogEvent], { toTag })).status, 481);
});

lamps('what cannot be watched is refused: other events, other bodies, no hint, too short', async () => {
  const { subscribe } = await world();
  assert.is((await subscribe([['Event', 'refer']])).status, 489);
  assert.is((await subscribe([])).status, 489);
  const body = await subscribe([dialogEvent, ['Accept', 'application/pidf+xml']]);
  assert.equal([body.status, body.header('Accept')], [406, 'application/dialog-info+xml']);
  assert.is((await subscribe([dialogEvent], { user: '202' })).status, 404);
  const brief = await subscribe([dialogEvent, ['Expires', '30']]);
  assert.equal([brief.status, brief.header('Min-Expires')], [423, '60']);
});

lamps('a phone may watch so much, and all phones together', async () => {
  const limits = { ...defaultSipConfig.subscriptions, intervalMs: 10 };
  const tight = await world({
    config: {
      endpoints: [endpoint('anybody', { ...anybody, subscribeContext: 'lamps' })],
      subscriptions: { ...limits, perEndpoint: 1 },
    },
  });
  assert.is((await tight.subscribe([dialogEvent])).status, 200);
  assert.is((await tight.subscribe([dialogEvent], { callId: 'more' })).status, 403);
  assert.equal(tight.server.limits.figures(), { 'sip.subscriptions.per_endpoint': 1 });
  await tight.heard(1);
  const full = await world({
    config: {
      endpoints: [endpoint('anybody', { ...anybody, subscribeContext: 'lamps' })],
      subscriptions: { ...limits, most: 1 },
    },
  });
  assert.is((await full.subscribe([dialogEvent])).status, 200);
  const refused = await full.subscribe([dialogEvent], { callId: 'more' });
  assert.equal([refused.status, refused.header('Retry-After')], [503, '60']);
  assert.equal(full.server.limits.figures(), { 'sip.subscriptions.most': 1 });
  await full.heard(1);
});

lamps('who asks once and answers no NOTIFY draws no more of them than who stays subscribed', async () => {
  const { subscribe, waiting, client } = await world({
    answer: () => unanswered,
    config: {
      endpoints: [endpoint('anybody', { ...anybody, subscribeContext: 'lamps' })],
      subscriptions: { ...defaultSipConfig.subscriptions, intervalMs: 10, perEndpoint: 1 },
    },
  });
  const once = (callId: string) => subscribe([dialogEvent, ['Expires', '0']], { callId });
  assert.is((await once('first')).status, 200);
  await client.facts.until(() => waiting.length === 1, 'a NOTIFY');
  assert.is((await once('second')).status, 403);
  waiting[0]!.reply(200);
  let status = 403;
  for (let nth = 0; status === 403; nth++) ({ status } = await once(`later ${nth}`));
  assert.is(status, 200);
  await client.facts.until(() => waiting.length === 2, 'another NOTIFY');
  waiting[1]!.reply(200);
});

lamps('of many calls so many are told as the configuration says, and a long URI is refused', async () => {
  const called = await createPhone({ config: { endpoints: [anybody] } });
  phones.push(called);
  const { server, notified, subscribe, heard } = await world({
    config: {
      endpoints: [endpoint('anybody', { ...anybody, subscribeContext: 'lamps' }), trunkTo(called.uri)],
      subscriptions: { ...defaultSipConfig.subscriptions, intervalMs: 10, calls: 2 },
    },
  });
  const calls = ['1', '2', '3'].map(() => server.open('600@trunk'));
  for (const { leg } of calls) leg.dial();
  for (const index of calls.keys()) (await called.rung(index)).leg.ring();
  await Promise.all(calls.map((call) => call.heard('leg.ringing')));
  await subscribe([dialogEvent]);
  await heard(1);
  assert.equal(states(notified), [['early', 'early']]);
  const tooLong = `201;x=${'y'.repeat(512)}`;
  assert.is((await subscribe([dialogEvent], { user: tooLong, callId: 'long' })).status, 414);
  for (const { leg } of calls) leg.hangup(16);
});

lamps('a phone that knows nothing of its subscription loses it; one that is busy is told later', async () => {
  const gone = await world({ answer: () => 481 });
  await gone.subscribe([dialogEvent]);
  await gone.heard(1);
  await ended(gone.server);
  assert.is(gone.server.driver.counts().subscriptions, 0);
  const busy = await world({ answer: (index) => (index === 1 ? 503 : 200) });
  await busy.subscribe([dialogEvent]);
  await busy.heard(1);
  busy.set('INUSE');
  await busy.heard(2);
  assert.equal([states(busy.notified), busy.server.watchers.size], [[['terminated'], ['confirmed']], 1]);
});

lamps('hints that go, and phones that go, end what watches them, with the reason', async () => {
  const { server, notified, subscribe, heard, set } = await world();
  await subscribe([dialogEvent]);
  await subscribe([presenceEvent], { callId: 'second' });
  await heard(2);
  server.driver.reviewHints();
  set('INUSE');
  await heard(4);
  hinted = false;
  server.driver.reviewHints();
  await heard(6);
  assert.equal(
    notified.slice(4).map((request) => request.header('Subscription-State')),
    ['terminated;reason=noresource', 'terminated;reason=noresource'],
  );
  await ended(server);
  hinted = true;
  await subscribe([dialogEvent], { callId: 'third' });
  await heard(7);
  server.driver.removeEndpoint('anybody');
  await heard(8);
  assert.is(notified[7]!.header('Subscription-State'), 'terminated;reason=rejected');
  await ended(server);
});

lamps('a server that stops tells its phones when to come back', async () => {
  const { server, notified, subscribe, heard } = await world();
  await subscribe([dialogEvent]);
  await heard(1);
  await server.watchers.close();
  assert.is(notified[1]!.header('Subscription-State'), 'terminated;reason=probation;retry-after=10');
  assert.equal([server.watchers.size, server.driver.counts().subscriptions], [0, 0]);
});

lamps('subscriptions go on in another process: the same dialog, the next version', async () => {
  const first = await world();
  await first.subscribe([dialogEvent]);
  await first.heard(1);
  const poll = setInterval(() => first.server.facts.changed(), 5);
  const settled = () => first.server.watchers.dump()[0]!.value === 'current';
  await first.server.facts.until(settled, 'the phone knows');
  clearInterval(poll);
  const { subscriptions } = driverData(first.server.driver);
  const data = JSON.parse(JSON.stringify({ subscriptions, watchers: first.server.watchers.dump() }));
  const second = await world();
  second.server.driver.restore({ version: 1, bindings: [], subscriptions: data.subscriptions });
  second.server.watchers.restore(data.watchers);
  assert.equal([second.server.watchers.size, second.server.driver.counts().subscriptions], [1, 1]);
  second.set('INUSE');
  await first.heard(2);
  const [before, after] = first.notified as [SipRequest, SipRequest];
  assert.equal(
    [after.callId, after.fromTag, after.cseq.number],
    [before.callId, before.fromTag, before.cseq.number + 1],
  );
  assert.equal(versions([before, after]), ['0 full', '1 full']);
  assert.equal(states([after]), [['confirmed']]);
});

lamps.run();
