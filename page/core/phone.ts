import { type Call, Phone, type Supervision } from '../../packages/browser/src/index.ts';
import { cell } from './cell.ts';
import { session } from './session.ts';

/** The page as a phone of the user who has logged in. */
export type PagePhone = {
  /** The name by which it can be called, once it can. */
  name: string | undefined;
  /** Whether a call is being placed: no further one is meanwhile. */
  placing: boolean;
  /** Its calls, the newest last. */
  calls: readonly PhoneCall[];
  /** Why the last thing did not work, in words. */
  problem: string;
};

/** A call of the page. `peer`: whom it is with, in words. */
export type PhoneCall = { call: Call; peer: string; incoming: boolean; muted: boolean; held: boolean };

/** The Q.850 cause of a normal end. */
const normal = 16;

const off: PagePhone = { name: undefined, placing: false, calls: [], problem: '' };

/** Undefined while the page is no phone. */
export const pagePhone = cell<PagePhone | undefined>(undefined);

/** The phone of a token, connected or about to be. */
type Line = { readonly token: string; readonly phone: Promise<Phone>; close(): void };

let line: Line | undefined;
/** Times that the phone was turned off: what was begun before is of no interest then. */
let turnedOff = 0;

const change = (part: Partial<PagePhone>): void => pagePhone.set({ ...(pagePhone.get() ?? off), ...part });

const calls = (): readonly PhoneCall[] => pagePhone.get()?.calls ?? [];

const alter = (call: Call, part: Partial<PhoneCall>): void =>
  change({ calls: calls().map((each) => (each.call === call ? { ...each, ...part } : each)) });

function add(call: Call, peer: string, incoming: boolean): void {
  change({ calls: [...calls(), { call, peer, incoming, muted: false, held: false }] });
  call.onchange = () => {
    if (call.state !== 'ended') return alter(call, {});
    const problem = call.cause === normal ? {} : { problem: `${peer} ended with cause ${call.cause}.` };
    change({ calls: calls().filter((each) => each.call !== call), ...problem });
  };
  // It may have ended while it was made.
  call.onchange(call);
}

/** What went wrong, for the user. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'That did not work.';
  if (error.name === 'NotAllowedError') return 'The browser does not let this page use the microphone.';
  if (error.name === 'NotFoundError') return 'This computer has no microphone.';
  return error.message;
}

async function attempt(what: () => Promise<unknown>): Promise<void> {
  const before = turnedOff;
  change({ problem: '' });
  try {
    await what();
  } catch (error) {
    if (before === turnedOff) change({ problem: wordsOf(error) });
  }
}

/** Whether the page may use the microphone at all: browsers let only secure origins. */
export const hasMicrophone = (): boolean => navigator.mediaDevices !== undefined;

/** It shows the far side's pictures, and has no camera: the page may use the microphone only. */
const watching = { video: true, media: { audio: true } };

function connect(token: string): Line {
  let isClosed = false;
  const onlistening = (name: string | undefined) => {
    if (!isClosed) change({ name });
  };
  const made = Phone.connect(location.origin, token, { onlistening, ...watching }).then((phone) => {
    if (isClosed) phone.close();
    else phone.onincoming = ring;
    return phone;
  });
  const opened: Line = {
    ...{ token, phone: made },
    close() {
      isClosed = true;
      made.then((phone) => phone.close()).catch(() => {});
    },
  };
  // The next attempt connects anew; what went wrong is told by this one.
  made.catch(() => {
    if (line === opened) line = undefined;
  });
  return opened;
}

const ring = (call: Call): void =>
  add(call, `The call from ${call.caller.name || call.caller.number || 'unknown'}`, true);

/** The phone, also while it connects: there is one at a time. */
function connected(): Promise<Phone> {
  const token = session.get()?.token ?? '';
  if (line?.token !== token) {
    line?.close();
    line = connect(token);
  }
  return line.phone;
}

/** Makes a call, unless the phone is turned off meanwhile, or another call is being placed. */
async function place(make: (phone: Phone) => Promise<Call>, peer: string): Promise<void> {
  if (pagePhone.get()?.placing) return;
  const before = turnedOff;
  const made = attempt(async () => {
    change({ placing: true });
    const phone = await connected();
    if (before !== turnedOff) return;
    const call = await make(phone);
    if (before === turnedOff) add(call, peer, false);
  });
  await made;
  if (before === turnedOff) change({ placing: false });
}

/** Makes the page a phone. */
export const turnOn = (): Promise<void> => attempt(connected);

/** Hangs up all calls; the page is no phone any more. */
export function turnOff(): void {
  turnedOff++;
  line?.close();
  line = undefined;
  pagePhone.set(undefined);
}

/** Calls an extension of the dialplan. */
export const dial = (extension: string, context: string): Promise<void> =>
  place((phone) => phone.call({ extension, context }), `The call to ${extension}`);

/** Talks to a channel of the server. @param peer its name. */
export const supervise = (channelId: string, mode: Supervision, peer: string): Promise<void> =>
  place((phone) => phone.supervise(channelId, mode), peer);

/** Answers a call to the page. */
export const answer = ({ call }: PhoneCall): Promise<void> =>
  attempt(async () => {
    await call.answer();
    alter(call, { incoming: false });
  });

/** Puts the far side on hold, or takes it back. */
export const hold = ({ call, held }: PhoneCall): Promise<void> =>
  attempt(async () => {
    await call.hold(!held);
    alter(call, { held: !held });
  });

/** Silences the microphone, or ends that. */
export function mute({ call, muted }: PhoneCall): void {
  call.mute(!muted);
  alter(call, { muted: !muted });
}

session.follow(() => {
  if (!session.get()) turnOff();
});
