import { type Bus, readsNames } from '../bus/bus.ts';
import type { DeviceStateWord } from '../models/device-state.ts';
import type { Mailbox } from '../models/mailbox.ts';

/** The state of an extension as BLF shows it. */
type HintState = {
  /** Its devices as the dialplan names them. */
  devices: readonly string[];
  /** How busy they are, taken together. */
  state: DeviceStateWord;
};

/** BLF: extensions of the dialplan, by the state of their devices. */
interface Hints {
  /** Undefined where the dialplan has no hint for it. */
  of(context: string, extension: string): HintState | undefined;
  /** The state of a device has changed without an event. */
  changed(device: string): void;
  /** Adds a listener for device state changes, by device name. */
  onChanged(listener: (device: string) => void): void;
  /** Stops listening. */
  close(): void;
}

type HintsOptions = {
  bus: Bus;
  /** The devices of an extension; undefined where there is no hint for it. */
  devicesOf(context: string, extension: string): readonly string[] | undefined;
  deviceState(name: string): DeviceStateWord;
  /** A mailbox by its name, which is the device `MWI:<name>`: in use while messages wait. */
  mailboxes: { find(name: string): Mailbox | undefined; onChanged(listener: (mailbox: Mailbox) => void): void };
};

/** Order of states: with several devices the later one wins. */
const order: readonly DeviceStateWord[] = [
  'INVALID',
  'UNKNOWN',
  'UNAVAILABLE',
  'NOT_INUSE',
  'ONHOLD',
  'RINGING',
  'INUSE',
  'BUSY',
  'RINGINUSE',
];
const busyWords: ReadonlySet<DeviceStateWord> = new Set(['INUSE', 'BUSY', 'ONHOLD']);

/** The combined state of several devices, as in Asterisk: one that rings beside one in use gives both. */
export function together(states: readonly DeviceStateWord[]): DeviceStateWord {
  if (states.includes('RINGING') && states.some((state) => busyWords.has(state))) return 'RINGINUSE';
  return states.reduce((most, state) => (order.indexOf(state) > order.indexOf(most) ? state : most), 'INVALID');
}

const mailboxPrefix = /^MWI:/i;

export function createHints({ bus, devicesOf, deviceState, mailboxes }: HintsOptions): Hints {
  const listeners: ((device: string) => void)[] = [];
  const tell = (device: string): void => {
    for (const listener of listeners) listener(device);
  };
  const unsubscribe = bus.subscribe(({ event }) => {
    if (event.type === 'DeviceStateChanged') tell(event.device_state.name);
  }, readsNames);
  mailboxes.onChanged(({ name }) => tell(`MWI:${name}`));

  const stateOf = (device: string): DeviceStateWord => {
    if (!mailboxPrefix.test(device)) return deviceState(device);
    const wanted = device.replace(mailboxPrefix, '');
    const mailbox = mailboxes.find(wanted);
    return mailbox && mailbox.new_messages > 0 ? 'INUSE' : 'NOT_INUSE';
  };

  return {
    of(context, extension) {
      const devices = devicesOf(context, extension);
      return devices && { devices, state: together(devices.map(stateOf)) };
    },
    changed: tell,
    onChanged: (listener) => void listeners.push(listener),
    close: unsubscribe,
  };
}
