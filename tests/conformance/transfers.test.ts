import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hangupAll, usesTarget } from '../support/conformance-cases.ts';
import type { App, Client, Message } from '../support/conformance-client.ts';
import { eventMisfits } from '../support/conformance-surface.ts';
import { Phone } from '../support/phone.ts';

const transfers = suite('the events of transfers, asked from outside');
let client: Client;
let app: App;
const phones: Phone[] = [];

usesTarget(transfers, async (own) => {
  client = own;
  app = await client.connect(client.unique('transfers'));
});
transfers.after(async () => {
  for (const phone of phones) await phone.close();
});

/** Asked where SIP is known to be spoken: of Hookswitch alone. */
const test = (title: string, body: (sip: string) => Promise<void>) =>
  transfers(title, async () => {
    if (client.target.sip === undefined) return;
    await body(client.target.sip);
    await hangupAll(client);
  });

/** A phone that has called the application. */
type Caller = { phone: Phone; id: string };

async function caller(sip: string): Promise<Caller> {
  const number = client.unique('phone');
  const phone = await Phone.open(number, sip);
  phones.push(phone);
  const isIts = ({ channel }: Message) => (channel as { caller: { number: string } }).caller.number === number;
  await phone.call(`u*${app.name}`);
  const entered = await app.wait('StasisStart', isIts);
  return { phone, id: (entered['channel'] as { id: string }).id };
}

/** Joins channels. @returns the id of their bridge. */
async function join(...callers: Caller[]): Promise<string> {
  const id = client.unique('bridge');
  await client.must(`POST /bridges/${id}`);
  await client.must(`POST /bridges/${id}/addChannel?channel=${callers.map((each) => each.id).join()}`);
  return id;
}

/**
 * All that an event has: each channel and each bridge as the word for it, what differs from run to run left out. It fits
 * its model, all channels and bridges in it included.
 */
function whole(event: Message, words: Record<string, string>): unknown {
  assert.equal(eventMisfits(event), []);
  const { timestamp: _at, asterisk_id: _by, seq: _nth, caused_by: _why, ...rest } = event;
  const text = JSON.stringify(rest, (_key, value: unknown) => {
    const { id } = (typeof value === 'object' && value !== null ? value : {}) as { id?: string };
    const name = id ?? value;
    return typeof name === 'string' ? (words[name] ?? name) : value;
  });
  return JSON.parse(text);
}

const stamped = { application: 'app' };
const named = (words: Record<string, string>) => ({ ...words, [app.name]: 'app' });

/** Who is left in a bridge, in its order. */
const inBridge = async (id: string) => (await client.must<{ channels: string[] }>(`GET /bridges/${id}`)).channels;

test('blind: BridgeBlindTransfer tells who, where to, with whom, and what came of it', async (sip) => {
  const [stays, asks] = [await caller(sip), await caller(sip)];
  const bridge = await join(stays, asks);
  const words = named({ [stays.id]: 'stays', [asks.id]: 'asks', [bridge]: 'bridge' });
  assert.is(await asks.phone.refer('<sip:wait@127.0.0.1>'), 202);
  const event = await app.wait('BridgeBlindTransfer', ({ channel }) => (channel as { id: string }).id === asks.id);
  const replacing = (event['replace_channel'] as { id: string } | undefined)?.id ?? '';
  assert.equal(whole(event, { ...words, [replacing]: 'replacing' }), {
    type: 'BridgeBlindTransfer',
    ...stamped,
    channel: 'asks',
    exten: 'wait',
    context: 'conformance',
    result: 'Success',
    is_external: true,
    bridge: 'bridge',
    transferee: 'stays',
    replace_channel: 'replacing',
  });
  await asks.phone.over();
  assert.equal(await inBridge(bridge), [stays.id, replacing]);
});

test('blind: an extension that is busy is told as Fail, and the bridge stays as it was', async (sip) => {
  const [stays, asks] = [await caller(sip), await caller(sip)];
  const bridge = await join(stays, asks);
  assert.is(await asks.phone.refer('<sip:busy@127.0.0.1>'), 202);
  const event = await app.wait('BridgeBlindTransfer', ({ channel }) => (channel as { id: string }).id === asks.id);
  assert.equal(whole(event, named({ [stays.id]: 'stays', [asks.id]: 'asks', [bridge]: 'bridge' })), {
    type: 'BridgeBlindTransfer',
    ...stamped,
    channel: 'asks',
    exten: 'busy',
    context: 'conformance',
    result: 'Fail',
    is_external: true,
    bridge: 'bridge',
    transferee: 'stays',
  });
  assert.equal(await inBridge(bridge), [stays.id, asks.id]);
});

test('attended: BridgeAttendedTransfer tells both calls, and where the others are now', async (sip) => {
  const [stays, asks, consults, target] = [await caller(sip), await caller(sip), await caller(sip), await caller(sip)];
  const [first, second] = [await join(stays, asks), await join(consults, target)];
  assert.is(await asks.phone.refer(`<sip:wait@127.0.0.1?Replaces=${consults.phone.replaces()}>`), 202);
  const event = await app.wait('BridgeAttendedTransfer');
  const words = {
    ...{ [stays.id]: 'stays', [asks.id]: 'asks', [consults.id]: 'consults', [target.id]: 'target' },
    ...{ [first]: 'first', [second]: 'second' },
  };
  assert.equal(whole(event, named(words)), {
    type: 'BridgeAttendedTransfer',
    ...stamped,
    transferer_first_leg: 'asks',
    transferer_second_leg: 'consults',
    transferer_first_leg_bridge: 'first',
    transferer_second_leg_bridge: 'second',
    transferee: 'stays',
    transfer_target: 'target',
    result: 'Success',
    is_external: true,
    destination_type: 'bridge',
    destination_bridge: 'second',
  });
  await Promise.all([asks.phone.over(), consults.phone.over()]);
  assert.equal([await inBridge(first), await inBridge(second)], [[], [target.id, stays.id]]);
});

/** What becomes of two calls of a party that are to be one, and how that is told. */
async function joined(asks: Caller, consults: Caller, words: Record<string, string>): Promise<unknown> {
  assert.is(await asks.phone.refer(`<sip:wait@127.0.0.1?Replaces=${consults.phone.replaces()}>`), 202);
  const isIts = ({ transferer_first_leg }: Message) => (transferer_first_leg as { id: string }).id === asks.id;
  const event = await app.wait('BridgeAttendedTransfer', isIts);
  return whole(event, named({ ...words, [asks.id]: 'asks', [consults.id]: 'consults' }));
}

const attended = {
  type: 'BridgeAttendedTransfer',
  ...stamped,
  transferer_first_leg: 'asks',
  transferer_second_leg: 'consults',
  is_external: true,
};

test('attended: where the second call is in an application, the other party goes there', async (sip) => {
  const [stays, asks, consults] = [await caller(sip), await caller(sip), await caller(sip)];
  const bridge = await join(stays, asks);
  assert.equal(await joined(asks, consults, { [stays.id]: 'stays', [bridge]: 'bridge' }), {
    ...attended,
    transferer_first_leg_bridge: 'bridge',
    transferee: 'stays',
    result: 'Success',
    destination_type: 'application',
    destination_application: 'app',
  });
  await Promise.all([asks.phone.over(), consults.phone.over()]);
  assert.equal(await inBridge(bridge), []);
  assert.ok(stays.phone.inCall);
});

test('attended: where the first call is in an application, whoever was consulted goes there', async (sip) => {
  const [asks, consults, target] = [await caller(sip), await caller(sip), await caller(sip)];
  const bridge = await join(consults, target);
  assert.equal(await joined(asks, consults, { [target.id]: 'target', [bridge]: 'bridge' }), {
    ...attended,
    transferer_second_leg_bridge: 'bridge',
    transfer_target: 'target',
    result: 'Success',
    destination_type: 'application',
    destination_application: 'app',
  });
  await Promise.all([asks.phone.over(), consults.phone.over()]);
  assert.equal(await inBridge(bridge), []);
  assert.ok(target.phone.inCall);
});

test('attended: of a bridge of several all go along, which BridgeMerged tells', async (sip) => {
  const [stays, more, asks] = [await caller(sip), await caller(sip), await caller(sip)];
  const [consults, target] = [await caller(sip), await caller(sip)];
  const [first, second] = [await join(stays, more, asks), await join(consults, target)];
  const words = { [first]: 'first', [second]: 'second', [target.id]: 'target' };
  assert.equal(await joined(asks, consults, words), {
    ...attended,
    transferer_first_leg_bridge: 'first',
    transferer_second_leg_bridge: 'second',
    transfer_target: 'target',
    result: 'Success',
    destination_type: 'bridge',
    destination_bridge: 'second',
  });
  const merged = await app.wait('BridgeMerged', ({ bridge_from }) => (bridge_from as { id: string }).id === first);
  assert.is((merged['bridge'] as { id: string }).id, second);
  await Promise.all([asks.phone.over(), consults.phone.over()]);
  assert.equal([await inBridge(first), await inBridge(second)], [[], [target.id, stays.id, more.id]]);
});

test('attended: several who would have to go where only one can are told as Invalid, and stay', async (sip) => {
  const [stays, more, asks, consults] = [await caller(sip), await caller(sip), await caller(sip), await caller(sip)];
  const bridge = await join(stays, more, asks);
  assert.equal(await joined(asks, consults, { [bridge]: 'bridge' }), {
    ...attended,
    transferer_first_leg_bridge: 'bridge',
    result: 'Invalid',
    destination_type: 'fail',
  });
  assert.equal(await inBridge(bridge), [stays.id, more.id, asks.id]);
  assert.ok(consults.phone.inCall);
});

test('attended: a second call that is over is told as Fail, with the first one in its place', async (sip) => {
  const [stays, asks, consults] = [await caller(sip), await caller(sip), await caller(sip)];
  const bridge = await join(stays, asks);
  const over = consults.phone.replaces();
  const past = { replaces: () => over } as Phone;
  await client.must(`DELETE /channels/${consults.id}`);
  await consults.phone.over();
  assert.equal(
    await joined(
      asks,
      { ...consults, phone: past },
      {
        ...{ [stays.id]: 'stays', [bridge]: 'bridge' },
      },
    ),
    {
      ...attended,
      transferer_second_leg: 'asks',
      transferer_second_leg_bridge: 'bridge',
      transferer_first_leg_bridge: 'bridge',
      transferee: 'stays',
      result: 'Fail',
      destination_type: 'fail',
    },
  );
  assert.equal(await inBridge(bridge), [stays.id, asks.id]);
});

/** Leaves the transfers that a caller asks for to the application. */
const leaveToApplication = ({ id }: Caller) =>
  client.must(
    `POST /channels/${id}/variable?variable=${encodeURIComponent('PJSIP_TRANSFER_HANDLING()')}&value=ari-only`,
  );

test('ChannelTransfer tells what is asked for by whom, and every step that the application says', async (sip) => {
  const [stays, asks] = [await caller(sip), await caller(sip)];
  const bridge = await join(stays, asks);
  await leaveToApplication(asks);
  assert.is(await asks.phone.refer('<sip:wait@127.0.0.1>'), 202);
  const isIts = ({ referred_by }: Message) =>
    (referred_by as { source_channel: { id: string } }).source_channel.id === asks.id;
  const words = named({ [stays.id]: 'stays', [asks.id]: 'asks', [bridge]: 'bridge' });
  const asked = {
    type: 'ChannelTransfer',
    ...stamped,
    refer_to: { requested_destination: { destination: 'wait' } },
    referred_by: { source_channel: 'asks', connected_channel: 'stays', bridge: 'bridge' },
  };
  assert.equal(whole(await app.wait('ChannelTransfer', isIts), words), asked);
  for (const state of ['channel_progress', 'channel_declined']) {
    await client.must(`POST /channels/${asks.id}/transfer_progress?states=${state}`);
    const event = await app.wait('ChannelTransfer', (each) => isIts(each) && each['state'] === state);
    assert.equal(whole(event, words), { ...asked, state });
  }
  await asks.phone.until(() => asks.phone.notified.at(-1)?.fragment === 'SIP/2.0 603 Decline', 'the end of it');
  assert.equal(await inBridge(bridge), [stays.id, asks.id]);
});

test('ChannelTransfer of an attended transfer names the other call, and who is in it', async (sip) => {
  const [stays, asks, consults, target] = [await caller(sip), await caller(sip), await caller(sip), await caller(sip)];
  const [first, second] = [await join(stays, asks), await join(consults, target)];
  await leaveToApplication(asks);
  const { callId, ownTag, theirTag } = consults.phone.dialog();
  assert.is(await asks.phone.refer(`<sip:wait@127.0.0.1?Replaces=${consults.phone.replaces()}>`), 202);
  const event = await app.wait(
    'ChannelTransfer',
    ({ referred_by }) => (referred_by as { source_channel: { id: string } }).source_channel.id === asks.id,
  );
  const words = {
    ...{ [stays.id]: 'stays', [asks.id]: 'asks', [consults.id]: 'consults', [target.id]: 'target' },
    ...{ [first]: 'first', [second]: 'second' },
  };
  assert.equal(whole(event, named(words)), {
    type: 'ChannelTransfer',
    ...stamped,
    refer_to: {
      requested_destination: {
        destination: 'wait',
        protocol_id: callId,
        additional_protocol_params: [
          { parameter_name: 'from', parameter_value: ownTag },
          { parameter_name: 'to', parameter_value: theirTag },
        ],
      },
      destination_channel: 'consults',
      connected_channel: 'target',
      bridge: 'second',
    },
    referred_by: { source_channel: 'asks', connected_channel: 'stays', bridge: 'first' },
  });
});

transfers.run();
