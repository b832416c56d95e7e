import type { LiveActor } from '../../../src/actors/spawn.ts';
import type { BridgeContext } from '../../../src/machines/bridge.ts';
import type { ChannelContext } from '../../../src/machines/channel.ts';
import { ownershipMachine } from '../../../src/machines/ownership.ts';
import { playbackMachine } from '../../../src/machines/playback.ts';
import type { Bridge } from '../../client/src/index.ts';
import type { Phone } from './phone.ts';
import type { Inside, TestServer } from './server.ts';

/** What kinds of disturbances there are. */
export type DisturbanceKind =
  | 'caller hangs up'
  | 'callee hangs up'
  | 'busy'
  | 'declined'
  | 'answered'
  | 'never answered'
  | 'digit'
  | 'hold'
  | 'transfer'
  | 'playback fails'
  | 'recording fails'
  | 'move fails'
  | 'bridge destroyed'
  | 'WebSocket cut'
  | 'media thread lost'
  | 'media fails'
  | 'server restarted';

/** Something that can happen from outside in a state of a chart. */
export type Disturbance = {
  kind: DisturbanceKind;
  /** In words, such as `bob (the callee) hangs up`. */
  name: string;
  /** The event of the chart that it causes. */
  event: string;
  /** Makes it happen. Left out: nobody acts. */
  act?(pbx: TestServer): unknown;
  /** Ends it, so that the next call is normal again. */
  end?(pbx: TestServer): unknown;
  /** Changes the command that is about to be carried out, so that it fails later. */
  change?(params: Map<string, unknown>): void;
  /** How long the call is left alone afterwards, in ms. */
  waitMs?: number;
};

const busy = 17;
const rejected = 21;
/** A sound and an application that are not there. */
const missing = 'no-such-thing-anywhere';
const longestDialMs = 600_000;
/** Media threads that are lost so often within a minute are not replaced: their calls end. */
const lossesUntilGivenUp = 4;
/** The phone that calls are transferred to: the application knows nothing of it. It answers, and hangs up 3 s later. */
export const elsewhere = 'elsewhere';

/** Which phone is at the other end of a channel. */
export function phoneOf(actor: LiveActor, phones: ReadonlyMap<string, Phone>): Phone | undefined {
  const { endpoint } = actor.getSnapshot().context as ChannelContext;
  return actor.chart === 'channel' && endpoint?.[0] === 'PJSIP' ? phones.get(endpoint[1]) : undefined;
}

export const isCaller = (actor: LiveActor): boolean =>
  actor.chart === 'channel' && (actor.getSnapshot().context as ChannelContext).origin === 'incoming';

/** What a far side can do with a channel: each is asked of the channel's chart. */
function ofChannel(actor: LiveActor, phones: ReadonlyMap<string, Phone>): Disturbance[] {
  const phone = phoneOf(actor, phones);
  if (!phone) return [];
  const snapshot = actor.getSnapshot();
  const can = (type: string) => snapshot.can({ type, cause: busy, digit: '1', durationMs: 100 } as never);
  const { dialTimeoutMs } = snapshot.context as ChannelContext;
  const called = !isCaller(actor);
  const who = `${phone.name} (the ${called ? 'callee' : 'caller'})`;
  const found: Disturbance[] = [];
  const add = (what: Pick<Disturbance, 'kind' | 'event' | 'name' | 'waitMs'>, act?: (phone: Phone) => unknown) => {
    // It is done to another server's phone of that name.
    const acts = act && { act: (pbx: TestServer) => act(pbx.phone(phone.name)) };
    found.push({ ...what, name: `${who} ${what.name}`, ...acts });
  };
  if (called && can('leg.answered')) {
    const event = 'leg.hungUp';
    add({ kind: 'busy', event, name: 'is busy' }, (each) => each.hangup(busy));
    add({ kind: 'declined', event, name: 'declines' }, (each) => each.hangup(rejected));
    add({ kind: 'answered', event: 'leg.answered', name: 'answers at this moment' }, (each) => each.answer());
    if (dialTimeoutMs > 0 && dialTimeoutMs < longestDialMs)
      add({ kind: 'never answered', event: 'dialTimeout', name: 'never answers', waitMs: dialTimeoutMs + 5_000 });
  } else if (can('leg.hungUp')) {
    const kind = called ? 'callee hangs up' : 'caller hangs up';
    add({ kind, event: 'leg.hungUp', name: 'hangs up' }, (each) => each.hangup());
  }
  if (!can('leg.held')) return found;
  for (const digit of ['1', '#'])
    add({ kind: 'digit', event: 'leg.digit', name: `presses ${digit}` }, (each) => each.press(digit));
  add({ kind: 'hold', event: 'leg.held', name: 'puts the call on hold' }, (each) => each.hold());
  add({ kind: 'transfer', event: 'leg.transferAsked', name: 'transfers the call to a phone elsewhere' }, (each) =>
    each.transfer(elsewhere),
  );
  return found;
}

/** Somebody else destroys a bridge: the one that has as many members at that moment. */
function bridgeDestroyed(actor: LiveActor): Disturbance {
  const { length } = (actor.getSnapshot().context as BridgeContext).members;
  return {
    kind: 'bridge destroyed',
    name: `somebody else destroys the bridge of ${length}`,
    event: 'destroy',
    async act(pbx) {
      const bridges = await pbx.ask<Bridge[]>('/ari/bridges');
      const wanted = bridges.find(({ channels }) => channels.length === length);
      if (wanted) await pbx.ask(`/ari/bridges/${encodeURIComponent(wanted.id)}`, 'DELETE');
      await pbx.settle();
    },
  };
}

/** The whole server, with every call that there is. */
const serverRestarted: Disturbance = {
  kind: 'server restarted',
  name: 'the server restarts with its calls',
  event: 'restart',
  act: (pbx) => pbx.faults.restart(),
};

/** What can fail below an object. */
function ofObject(actor: LiveActor, sockets: readonly string[][]): Disturbance[] {
  const snapshot = actor.getSnapshot();
  const can = (event: object) => snapshot.can(event as never);
  if (actor.chart === 'liveRecording' && can({ type: 'record.failed', reason: '' }))
    return [
      {
        kind: 'recording fails',
        name: 'the recording fails (the disk is full)',
        event: 'record.failed',
        act: (pbx) => pbx.faults.diskFull(),
        end: (pbx) => pbx.faults.diskFull(false),
      },
    ];
  // Several applications of one WebSocket lose it together.
  const socket = sockets.find(([first]) => first === actor.id);
  const { connection } = snapshot.context as { connection?: string };
  if (socket && actor.chart === 'application' && can({ type: 'disconnect', connection }))
    return [
      {
        kind: 'WebSocket cut',
        name: `the WebSocket of '${socket.join(',')}' is cut`,
        event: 'disconnect',
        act: (pbx) => pbx.faults.dropWebSocket(actor.id),
      },
    ];
  if (actor.chart === 'channel' && can({ type: 'leg.held' }))
    return [
      {
        kind: 'media thread lost',
        name: 'the media thread is lost',
        event: 'media.lost',
        act: (pbx) => pbx.faults.killMediaThread(),
      },
      {
        kind: 'media fails',
        name: 'the media threads are lost until the server ends all calls (cause 41)',
        event: 'media.lost',
        act: (pbx) => pbx.faults.killMediaThread(lossesUntilGivenUp),
      },
    ];
  if (actor.chart === 'bridge' && can({ type: 'destroy' })) return [bridgeDestroyed(actor)];
  return [];
}

/** Whether a chart can take an event in some state that a command leads to. */
const leadsTo = (machine: typeof playbackMachine | typeof ownershipMachine, state: string, event: string): boolean =>
  Object.hasOwn((machine.states as Record<string, { config: { on?: object } }>)[state]?.config.on ?? {}, event);

/** What can become of a command after it is accepted. */
function ofCommand(command: string): Disturbance[] {
  if (/\/play$/.test(command) && leadsTo(playbackMachine, 'playing', 'media.failed'))
    return [
      {
        kind: 'playback fails',
        name: 'the playback fails (the sound is missing)',
        event: 'media.failed',
        change: (params) => params.set('media', `sound:${missing}`),
      },
    ];
  if (/\/move$/.test(command) && leadsTo(ownershipMachine, 'moving', 'application.refused'))
    return [
      {
        kind: 'move fails',
        name: 'the move fails (the application is not connected)',
        event: 'application.refused',
        change: (params) => params.set('app', missing),
      },
    ];
  return [];
}

/**
 * What can come from outside now, by the charts of the objects that there are.
 * @param command what is about to be carried out, if anything.
 */
export function disturbancesNow({ actors, phones, world }: Inside, command?: string): Disturbance[] {
  const sockets = world.http.apps;
  const all = actors().flatMap((actor) => [...ofChannel(actor, phones), ...ofObject(actor, sockets)]);
  // A restart cuts requests that are under way: whether they are sent again is a matter of the client library.
  const wanted = command === undefined ? [...all, serverRestarted] : [...ofCommand(command), ...all];
  const one = new Map(wanted.map((disturbance) => [disturbance.name, disturbance]));
  return [...one.values()];
}
