import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { prepareDirectory, writeDurablySync } from '../stores/durable-file.ts';
import type { ServerData } from './server-data.ts';

/** A call that is not restored, as it was. */
type LeftOut = { mark: string; call: string; channels: string[]; removed: Record<string, unknown> };

/**
 * Removes a call from saved data: its channels, their bridges, playbacks, recordings, Dials and transfers, and its SIP
 * transactions. Nothing else refers to them then.
 * @param mark what the server was working on when it crashed: a kind and an id. @returns undefined: it belongs to no call.
 */
export function removeCall(data: ServerData, mark: string): LeftOut | undefined {
  const { calls, sip } = data;
  const legs = calls.legs ?? [];
  const channel = channelOf(data, mark.slice(mark.indexOf(' ') + 1));
  const call = channel === undefined ? undefined : callsOf(data).get(channel);
  if (channel === undefined || call === undefined) return undefined;
  const channels = channelsWith(data, channel);
  const own = legs.filter((leg) => channels.includes(leg.channel));
  const callIds = own.map(({ protocolId }) => protocolId).filter((id) => id !== '');
  const named = [...channels.map((id) => JSON.stringify(id)), ...callIds.map((id) => JSON.stringify(id))];
  const concerns = (value: unknown): boolean => {
    const text = JSON.stringify(value);
    return named.some((name) => text.includes(name));
  };
  const removed: Record<string, unknown> = {};
  const without = <T>(name: string, all: readonly T[] | undefined, isOf: (one: T) => boolean = concerns): T[] => {
    const found = (all ?? []).filter(isOf);
    if (found.length > 0) removed[name] = found;
    return (all ?? []).filter((one) => !found.includes(one));
  };
  const isCarried = ({ octets }: { octets: string }): boolean => {
    const message = Buffer.from(octets, 'base64').toString('latin1');
    return callIds.some((id) => message.includes(id));
  };
  const gone = new Set(channels);
  calls.channels = without('channels', calls.channels, ({ life }) => gone.has(life.context.id));
  calls.legs = without('legs', calls.legs, (leg) => gone.has(leg.channel));
  calls.bridges = without('bridges', calls.bridges);
  calls.playbacks = without('playbacks', calls.playbacks);
  calls.recordings = without('recordings', calls.recordings);
  calls.transfers = without('transfers', calls.transfers);
  calls.consultations = without('consultations', calls.consultations);
  calls.dials = without('dials', calls.dials);
  calls.creators = without('creators', calls.creators);
  calls.orphans = without('orphans', calls.orphans);
  calls.outboundConnections = without('outboundConnections', calls.outboundConnections);
  const { transactions, driver } = sip;
  transactions.clients = without('clients', transactions.clients, isCarried);
  transactions.servers = without(
    'servers',
    transactions.servers,
    ({ key, response, pending }) =>
      callIds.some((id) => key.includes(id)) ||
      [response, pending?.request].some((octets) => octets && isCarried({ octets })),
  );
  driver.departing = without('departing', driver.departing);
  data.deviceStates.uses = data.deviceStates.uses
    .filter(([user]) => !gone.has(user))
    .map((each) => (each.length === 2 ? [each[0], each[1].filter(([user]) => !gone.has(user))] : each));
  return { mark, call, channels, removed };
}

/** The call of each channel. Halves of Local channels and channels that listen are no legs. */
const callsOf = ({ calls: { channels, legs = [] } }: ServerData): ReadonlyMap<string, string> =>
  new Map([
    ...channels.map(({ life: { context } }) => [context.id, context.linked.id] as const),
    ...legs.map((leg) => [leg.channel, leg.call] as const),
  ]);

/** The channels of a call, and those that listen to it: a leg that names another channel cannot go on without it. */
function channelsWith(data: ServerData, channel: string): string[] {
  const { calls } = data;
  const callOf = callsOf(data);
  const found = new Set([channel]);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    const names = [...found].map((id) => JSON.stringify(id));
    const together = new Set([...found].map((id) => callOf.get(id)));
    for (const { life, leg } of calls.channels) {
      const { id } = life.context;
      const call = callOf.get(id);
      const text = JSON.stringify(leg);
      if ((call !== undefined && together.has(call)) || names.some((name) => text.includes(name))) found.add(id);
    }
  }
  return [...found];
}

/** The channel that an id is of: its own, that of its SIP dialog, or that which a playback or recording belongs to. */
function channelOf({ calls }: ServerData, id: string): string | undefined {
  const own = calls.legs?.find(({ channel, protocolId }) => channel === id || protocolId === id)?.channel;
  if (own !== undefined) return own;
  if (calls.channels.some(({ life }) => life.context.id === id)) return id;
  const heard = calls.playbacks.find(({ actor }) => actor.context.id === id)?.target;
  if (heard?.kind === 'channel') return heard.id;
  return calls.bridges.find(({ actor }) => actor.context.id === id)?.stays[0]?.channelId;
}

/** Secrets that no bundle has: keys of SRTP, and what a leg knows of passwords. */
const secret = new Set(['leg', 'clients', 'servers', 'departing']);

/** Leaves out calls that have crashed the server several times, and writes what was known of each. */
export function leaveOut(
  data: ServerData | undefined,
  marks: readonly string[],
  { directory, clock, log }: { directory: string; clock: Clock; log: Logger },
): ServerData | undefined {
  if (!data) return undefined;
  for (const mark of marks) {
    const left = removeCall(data, mark);
    if (!left) {
      log.warn({ workedOn: mark }, 'the server crashed repeatedly outside any call');
      continue;
    }
    const file = join(directory, `${clock.now()}-${encodeURIComponent(left.call)}.json`);
    const isOpen = ([name]: [string, unknown]): boolean => !secret.has(name);
    const text = JSON.stringify(left, (_, value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).filter(isOpen))
        : value,
    );
    try {
      prepareDirectory(directory, 0o700);
      writeDurablySync(file, text, 0o600);
    } catch (error) {
      log.error({ file, error }, 'cannot write the bundle of a call that crashed the server');
    }
    log.error(
      { call: left.call, channels: left.channels, file },
      'a call that crashed the server repeatedly is not restored; its phones get no more audio',
    );
  }
  return data;
}
