import { cpus } from 'node:os';
import type { ChosenId, Kind } from '../cluster/claims.ts';
import type { RemoteRequest } from '../cluster/forwards.ts';
import type { PhonesHere } from '../cluster/phones.ts';
import { packageVersion as version } from '../config/package-files.ts';
import type { SipDriver } from '../drivers/sip/driver.ts';
import type { Moved } from '../drivers/sip/services.ts';
import { narrowOf, visibilityOf } from '../http/access/visibility.ts';
import type { HttpApp } from '../http/app.ts';
import type { AppDeps, Env } from '../http/env.ts';
import type { Sessions } from '../http/sessions.ts';
import type { HttpUser } from '../http/user.ts';
import { markOf } from '../lib/ids.ts';
import { takesCalls } from '../machines/lifecycle.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { Target } from '../sip/transport/transport.ts';
import type { Tokens } from '../stores/tokens.ts';
import type { Base } from './base.ts';
import type { CallControl } from './call-control.ts';
import type { Network } from './network.ts';
import { enterPhase } from './server-owner.ts';
import { shareStates } from './shared-state.ts';
import type { State } from './state.ts';

/** Whether this node has an object. */
const objectsHere =
  ({ channels, meeting, playbacks, recordings }: CallControl) =>
  (kind: Kind, id: string): boolean => {
    switch (kind) {
      case 'channel':
        return channels.findByIdOrName(id) !== undefined;
      case 'bridge':
        return meeting.bridges.find(id) !== undefined;
      case 'playback':
        return playbacks.has(id);
      case 'recording':
        return recordings.has(id);
    }
  };

/** The objects whose ids a client has chosen, or the dialplan. */
const chosenHere = ({ channels, meeting, playbacks, recordings }: CallControl): ChosenId[] => {
  const all: ChosenId[] = [
    ...channels.all().map(({ id }) => ({ kind: 'channel' as const, id })),
    ...meeting.bridges.list().map(({ id }) => ({ kind: 'bridge' as const, id })),
    ...playbacks.dump().map(({ actor }) => ({ kind: 'playback' as const, id: actor.context.id })),
    ...recordings.dump().map(({ plan }) => ({ kind: 'recording' as const, id: plan.name })),
  ];
  return all.filter(({ id }) => markOf(id) === undefined);
};

/** Whether a phone is online here; undefined for an endpoint that is none of ours, such as a number behind a trunk. */
const phonesHere =
  ({ endpoints }: State) =>
  (endpoint: string): boolean | undefined => {
    const [, technology = '', resource = ''] = /^([^/]+)\/([^/@&]+)$/.exec(endpoint) ?? [];
    const known = endpoints.status(technology, resource);
    return known && known.state === 'online';
  };

/** The phones of this node, for others. */
function phonesFor(state: State, { nodeFlows }: Network, sip: SipDriver, { meeting }: CallControl): PhonesHere {
  const { transfers } = meeting;
  const isOnline = phonesHere(state);
  return {
    isOnline: (endpoint) => isOnline(endpoint) === true,
    places: (asked) =>
      sip.registeredPlaces(asked, (target) => nodeFlows?.through(target, asked.node, asked.endpoint) ?? target),
    send: async (peer, bytes) => nodeFlows?.send(peer as Target, Buffer.from(bytes)),
    moved: (phone) => sip.movedAway(phone as Moved),
    call: (named) => transfers.callSeen(sip.channelOf(named) ?? ''),
    endCall: transfers.endCall,
    take: (peer, bytes) => nodeFlows?.take(peer as Target, Buffer.from(bytes)),
  };
}

/** What the interface needs of the cluster; undefined for a server on its own. */
export const clusterParts = (state: State, calls: CallControl): AppDeps['cluster'] => {
  const { cluster, applications } = state;
  return (
    cluster && { cluster, isHere: objectsHere(calls), isOnline: phonesHere(state), isActive: applications.isActive }
  );
};

/** Measures the CPU time of the process per second since it was last asked. */
function loadMeter(now: () => number): () => number {
  let before = { at: now(), ...process.cpuUsage() };
  return () => {
    const next = { at: now(), ...process.cpuUsage() };
    const spentMs = (next.user + next.system - before.user - before.system) / 1000;
    const load = spentMs / Math.max(1, next.at - before.at);
    before = next;
    return Math.round(Math.min(load, cpus().length) * 1000) / 1000;
  };
}

type Serving = {
  calls: CallControl;
  app: HttpApp['app'];
  sip: SipDriver;
  network: Network;
  owners: Parameters<typeof narrowOf>[1];
  tokens: Pick<Tokens, 'share'>;
  sessions: Pick<Sessions, 'share'>;
};

/** Begins to take part in the cluster, if there is one. */
export function serveCluster(base: Base, state: State, serving: Serving): void {
  const { calls, app, sip, network, owners } = serving;
  const { cluster, applications } = state;
  const { channels, meeting } = calls;
  const { clock, lifecycle } = base;
  const started = formatTimestamp(clock.now());
  const load = loadMeter(() => clock.monotonic());
  const carryOut = async ({ method, url, headers, body, user, application, overWebSocket }: RemoteRequest) => {
    const isGet = method === 'GET' || method === 'HEAD';
    const bindings: Env['Bindings'] = {
      ...{ forwarded: true, localUser: user as HttpUser },
      ...(application !== undefined && { application }),
      ...(overWebSocket && { overWebSocket }),
      ...(isGet && body !== undefined && { getBody: body }),
    };
    const init = { method, headers, ...(!isGet && body !== undefined && { body }) };
    return app.request(new Request(`http://localhost${url}`, init), undefined, bindings);
  };
  const logIns = shareStates(state, serving);
  cluster?.serve({
    carryOut,
    isHere: objectsHere(calls),
    hasChannel: (channel) => channels.findByIdOrName(channel) !== undefined,
    seesChannel: (user, channel) => visibilityOf(user as HttpUser, owners)?.sees('channel', channel) ?? false,
    chosenIds: () => chosenHere(calls),
    phones: phonesFor(state, network, sip, calls),
    redeem: (digest) => logIns?.redeem(digest),
    bridges: async (request) => (await meeting.bridgeLinks?.answer(request)) ?? {},
    narrowOf: (user) => narrowOf(user as HttpUser, owners),
    readiness() {
      if (lifecycle.state === 'isolated' || lifecycle.state === 'cordonedAndIsolated') return 'isolated';
      // A stand-in ends with the calls of its node.
      return takesCalls(lifecycle.state) && !base.io.standIn ? 'ready' : 'drained';
    },
    isolated: (is) => enterPhase(base, { channels, sip }, is ? 'isolate' : 'rejoin'),
    figures: () => ({
      ...{ version, started, channels: channels.size, bridges: meeting.bridges.list().length },
      ...{ applications: applications.names().filter(applications.isConnected).length },
      ...{ draining: !takesCalls(lifecycle.state), load: load() },
    }),
  });
}
