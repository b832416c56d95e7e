import type { Cluster } from '../cluster/cluster.ts';
import { registrationPrefix } from '../cluster/registration-holders.ts';
import type { LogInsHere, Sessions } from '../http/sessions.ts';
import { markFor } from '../lib/ids.ts';
import type { DeviceStateWord } from '../models/device-state.ts';
import type { Mailbox } from '../models/mailbox.ts';
import type { DeviceStates, SharedDevices } from '../stores/device-states.ts';
import type { Endpoints } from '../stores/endpoints.ts';
import type { Mailboxes } from '../stores/mailboxes.ts';
import type { Tokens } from '../stores/tokens.ts';
import type { GlobalVariables } from '../stores/variables.ts';

/** Device states, mailboxes, global variables, tokens and log-ins of the whole cluster. */

const partPrefix = 'device:';
const setPrefix = 'set:';
const mailboxPrefix = 'mailbox:';
const globalPrefix = 'global:';
const tokenPrefix = 'token:';
const logInPrefix = 'log-in:';

/** The name behind a prefix; undefined for another key. */
const nameIn = (key: string, prefix: string): string | undefined =>
  key.startsWith(prefix) ? key.slice(prefix.length) : undefined;

/** The devices of other nodes, for those of this one. */
export const sharedDevices = (states: Cluster['states']): SharedDevices => ({
  elsewhere: (device) => states.parts(partPrefix + device) as DeviceStateWord[],
  tell: (device, state, all) => states.tell(partPrefix + device, state ?? null, all),
  set: (device, state) => states.set(setPrefix + device, state ?? null),
});

/** Whether another node reaches a phone, as it has told. */
export const isReachedElsewhere = (states: Pick<Cluster['states'], 'parts'>, device: string): boolean =>
  states.parts(partPrefix + device).length > 0;

/** Tells the other nodes of a global variable that was set here. */
export const shareGlobal =
  (states: Cluster['states']) =>
  (name: string, value: string | undefined): void =>
    states.set(globalPrefix + name, value ?? null);

/** Numbers of all nodes, such as the calls of an endpoint: each node tells its own, and adds up those of the others. */
export const sharedCounts = (states: () => Pick<Cluster['states'], 'tell' | 'parts'> | undefined, prefix: string) => ({
  tell: (name: string, count: number): void => states()?.tell(prefix + name, count > 0 ? String(count) : null),
  elsewhere: (name: string): number =>
    (states()?.parts(prefix + name) ?? []).reduce((sum, count) => sum + Number(count), 0),
});

type Shared = {
  cluster: Pick<Cluster, 'name' | 'states' | 'registrations' | 'markedNode' | 'redeem'> | undefined;
  deviceStates: Pick<DeviceStates, 'heard' | 'adopt' | 'get' | 'dump' | 'share'>;
  mailboxes: Pick<Mailboxes, 'adopt' | 'list' | 'onChanged' | 'find'>;
  endpoints: Pick<Endpoints, 'dump'>;
  globals: Pick<GlobalVariables, 'adopt' | 'dump'>;
};

/** The keys of tokens are their digests: a name may be used again. */
const shareTokens = (states: Cluster['states'], tokens: Pick<Tokens, 'share'>) =>
  tokens.share({
    tell: (token) => states.set(tokenPrefix + token.digest, token),
    know: (token) => states.know(tokenPrefix + token.digest, token),
    forget: ({ digest }) => states.forget(tokenPrefix + digest),
  });

/** A ticket is used up at the node that made it. */
const shareLogIns = (
  { name, states, markedNode, redeem }: Pick<Cluster, 'name' | 'states' | 'markedNode' | 'redeem'>,
  sessions: Pick<Sessions, 'share'>,
): LogInsHere =>
  sessions.share({
    mark: markFor(name),
    tell(logIn) {
      states.set(logInPrefix + logIn.digest, logIn);
      return states.told();
    },
    forget: (digest) => states.forget(logInPrefix + digest),
    redeem(ticket, digest) {
      const node = markedNode(ticket);
      return node === undefined || node === name ? undefined : redeem(node, digest);
    },
  });

/**
 * Shares device states, mailboxes, global variables, tokens and log-ins with the other nodes.
 * @returns the log-ins of this node; undefined if there is no cluster
 */
export function shareStates(
  { cluster, deviceStates, mailboxes, endpoints, globals }: Shared,
  { tokens, sessions }: { tokens: Pick<Tokens, 'share'>; sessions: Pick<Sessions, 'share'> },
): LogInsHere | undefined {
  if (!cluster) return undefined;
  const { states, registrations } = cluster;
  const adoptToken = shareTokens(states, tokens);
  const logIns = shareLogIns(cluster, sessions);
  states.use({
    part(key, tells) {
      const device = nameIn(key, partPrefix);
      if (device !== undefined) deviceStates.heard(device, tells);
      const registration = nameIn(key, registrationPrefix);
      if (registration !== undefined) registrations.heard(registration);
    },
    value(key, value) {
      const device = nameIn(key, setPrefix);
      const mailbox = nameIn(key, mailboxPrefix);
      if (device !== undefined) deviceStates.adopt(device, (value ?? undefined) as DeviceStateWord | undefined);
      const global = nameIn(key, globalPrefix);
      if (global !== undefined) globals.adopt(global, typeof value === 'string' ? value : undefined);
      if (nameIn(key, tokenPrefix) !== undefined) adoptToken(value);
      if (nameIn(key, logInPrefix) !== undefined) logIns.adopt(value);
      if (mailbox !== undefined) mailboxes.adopt(mailbox, (value ?? undefined) as Mailbox | undefined);
    },
    together: (key) => deviceStates.get(nameIn(key, partPrefix) ?? '').state,
  });
  for (const { name, state } of deviceStates.dump().kept) states.know(setPrefix + name, state);
  for (const [name, value] of globals.dump()) states.know(globalPrefix + name, value);
  for (const mailbox of mailboxes.list()) states.know(mailboxPrefix + mailbox.name, mailbox);
  mailboxes.onChanged(({ name }) => states.set(mailboxPrefix + name, mailboxes.find(name) ?? null));
  for (const { technology, resource } of endpoints.dump()) deviceStates.share(`${technology}/${resource}`);
  return logIns;
}
