import type { Cluster } from '../cluster/cluster.ts';
import type { DeviceStateWord } from '../models/device-state.ts';
import type { Mailbox } from '../models/mailbox.ts';
import type { DeviceStates, SharedDevices } from '../stores/device-states.ts';
import type { Endpoints } from '../stores/endpoints.ts';
import type { Mailboxes } from '../stores/mailboxes.ts';

/** Device states and mailboxes of the whole cluster. */

const partPrefix = 'device:';
const setPrefix = 'set:';
const mailboxPrefix = 'mailbox:';

/** The name behind a prefix; undefined for another key. */
const nameIn = (key: string, prefix: string): string | undefined =>
  key.startsWith(prefix) ? key.slice(prefix.length) : undefined;

/** The devices of other nodes, for those of this one. */
export const sharedDevices = (states: Cluster['states']): SharedDevices => ({
  elsewhere: (device) => states.parts(partPrefix + device) as DeviceStateWord[],
  tell: (device, state, all) => states.tell(partPrefix + device, state ?? null, all),
  set: (device, state) => states.set(setPrefix + device, state ?? null),
});

type Shared = {
  cluster: Pick<Cluster, 'states'> | undefined;
  deviceStates: Pick<DeviceStates, 'heard' | 'adopt' | 'get' | 'dump' | 'share'>;
  mailboxes: Pick<Mailboxes, 'adopt' | 'list' | 'onChanged' | 'find'>;
  endpoints: Pick<Endpoints, 'dump'>;
};

/** Shares device states and mailboxes with the other nodes, if there is a cluster. */
export function shareStates({ cluster, deviceStates, mailboxes, endpoints }: Shared): void {
  if (!cluster) return;
  const { states } = cluster;
  states.use({
    part(key, tells) {
      const device = nameIn(key, partPrefix);
      if (device !== undefined) deviceStates.heard(device, tells);
    },
    value(key, value) {
      const device = nameIn(key, setPrefix);
      const mailbox = nameIn(key, mailboxPrefix);
      if (device !== undefined) deviceStates.adopt(device, (value ?? undefined) as DeviceStateWord | undefined);
      if (mailbox !== undefined) mailboxes.adopt(mailbox, (value ?? undefined) as Mailbox | undefined);
    },
    together: (key) => deviceStates.get(nameIn(key, partPrefix) ?? '').state,
  });
  for (const { name, state } of deviceStates.dump().kept) states.know(setPrefix + name, state);
  for (const mailbox of mailboxes.list()) states.know(mailboxPrefix + mailbox.name, mailbox);
  mailboxes.onChanged(({ name }) => states.set(mailboxPrefix + name, mailboxes.find(name) ?? null));
  for (const { technology, resource } of endpoints.dump()) deviceStates.share(`${technology}/${resource}`);
}
