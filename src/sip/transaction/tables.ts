/**
 * The four transactions of RFC 3261 17 as tables: state × input → next state and effects, all of it data. RFC 6026 adds
 * `accepted` with Timers L and M. `runner.ts` runs them; an input without a row is ignored.
 */

/** Timer names are the RFC's; `100` sends 100 Trying for a silent user, `cancel` gives up after a CANCEL (9.1). */
export type Timer = 'A' | 'B' | 'D' | 'E' | 'F' | 'G' | 'H' | 'I' | 'J' | 'K' | 'L' | 'M' | '100' | 'cancel';

export type Effect =
  /** `start`: with its first duration. `repeat`: twice as long as last time (E and G at most T2). `repeatAtT2`: after T2. */
  { readonly type: 'start' | 'repeat' | 'repeatAtT2' | 'stop'; readonly timer: Timer } | { readonly type: PlainEffect };

export type PlainEffect =
  /** Client: send the request. Server: send the response just given. */
  | 'send'
  /** Client: the request again. Server: the last response again, if there is one. */
  | 'resend'
  /** Server: send 100 Trying. */
  | 'sendTrying'
  /** Client: acknowledge the failure just received (17.1.1.3). */
  | 'sendAck'
  /** Client: send CANCEL now, or remember to and do it with `sendHeldCancel`. */
  | 'sendCancel'
  | 'holdCancel'
  | 'sendHeldCancel'
  /** Tell the user. */
  | 'tellProvisional'
  | 'tellFinal'
  | 'tellTimeout'
  | 'tellTransportError'
  | 'tellConfirmed'
  | 'tellAck';

export type Row<State> = { readonly to: State; readonly effects: readonly Effect[] };
type Table<State extends string, Input extends string> = {
  readonly [state in State]: { readonly [input in Input]?: Row<State> };
};

type TimerInput = `timer${Timer}`;
export type ClientInput = 'begin' | 'provisional' | 'success' | 'failure' | 'transportError' | 'cancel' | TimerInput;
export type ServerInput =
  | 'begin'
  | 'request'
  | 'ack'
  | 'provisional'
  | 'success'
  | 'failure'
  | 'transportError'
  | TimerInput;

type InviteClientState = 'calling' | 'proceeding' | 'completed' | 'accepted' | 'terminated';
type NonInviteClientState = 'trying' | 'proceeding' | 'completed' | 'terminated';
type InviteServerState = 'proceeding' | 'completed' | 'confirmed' | 'accepted' | 'terminated';
type NonInviteServerState = 'trying' | 'proceeding' | 'completed' | 'terminated';

const start = (timer: Timer): Effect => ({ type: 'start', timer });
const stop = (timer: Timer): Effect => ({ type: 'stop', timer });
const repeat = (timer: Timer): Effect => ({ type: 'repeat', timer });
const repeatAtT2 = (timer: Timer): Effect => ({ type: 'repeatAtT2', timer });

function to<State extends string>(state: State, ...effects: readonly (Effect | PlainEffect)[]): Row<State> {
  return { to: state, effects: effects.map((effect) => (typeof effect === 'string' ? { type: effect } : effect)) };
}

/** RFC 3261 figure 5 with RFC 6026 figure 3. */
export const inviteClient: Table<InviteClientState, ClientInput> = {
  calling: {
    begin: to('calling', 'send', start('A'), start('B')),
    timerA: to('calling', 'resend', repeat('A')),
    timerB: to('terminated', 'tellTimeout'),
    cancel: to('calling', 'holdCancel'),
    provisional: to('proceeding', stop('A'), stop('B'), 'sendHeldCancel', 'tellProvisional'),
    success: to('accepted', stop('A'), stop('B'), start('M'), 'tellFinal'),
    failure: to('completed', stop('A'), stop('B'), start('D'), 'sendAck', 'tellFinal'),
    transportError: to('terminated', 'tellTransportError'),
  },
  proceeding: {
    cancel: to('proceeding', 'sendCancel', start('cancel')),
    timercancel: to('terminated', 'tellTimeout'),
    provisional: to('proceeding', 'tellProvisional'),
    success: to('accepted', stop('cancel'), start('M'), 'tellFinal'),
    failure: to('completed', stop('cancel'), start('D'), 'sendAck', 'tellFinal'),
  },
  completed: {
    failure: to('completed', 'sendAck'),
    timerD: to('terminated'),
    transportError: to('terminated'),
  },
  accepted: {
    success: to('accepted', 'tellFinal'),
    timerM: to('terminated'),
  },
  terminated: {},
};

/** RFC 3261 figure 6. */
export const nonInviteClient: Table<NonInviteClientState, ClientInput> = {
  trying: {
    begin: to('trying', 'send', start('E'), start('F')),
    timerE: to('trying', 'resend', repeat('E')),
    timerF: to('terminated', 'tellTimeout'),
    provisional: to('proceeding', 'tellProvisional'),
    success: to('completed', stop('E'), stop('F'), start('K'), 'tellFinal'),
    failure: to('completed', stop('E'), stop('F'), start('K'), 'tellFinal'),
    transportError: to('terminated', 'tellTransportError'),
  },
  proceeding: {
    timerE: to('proceeding', 'resend', repeatAtT2('E')),
    timerF: to('terminated', 'tellTimeout'),
    provisional: to('proceeding', 'tellProvisional'),
    success: to('completed', stop('E'), stop('F'), start('K'), 'tellFinal'),
    failure: to('completed', stop('E'), stop('F'), start('K'), 'tellFinal'),
    transportError: to('terminated', 'tellTransportError'),
  },
  completed: { timerK: to('terminated') },
  terminated: {},
};

/** RFC 3261 figure 7 with RFC 6026 figure 5: transport errors are reported without a change of state. */
export const inviteServer: Table<InviteServerState, ServerInput> = {
  proceeding: {
    begin: to('proceeding', start('100')),
    timer100: to('proceeding', 'sendTrying'),
    request: to('proceeding', 'resend'),
    provisional: to('proceeding', stop('100'), 'send'),
    success: to('accepted', stop('100'), 'send', start('L')),
    failure: to('completed', stop('100'), 'send', start('G'), start('H')),
    transportError: to('proceeding', 'tellTransportError'),
  },
  completed: {
    request: to('completed', 'resend'),
    timerG: to('completed', 'resend', repeat('G')),
    timerH: to('terminated', 'tellTimeout'),
    ack: to('confirmed', stop('G'), stop('H'), start('I'), 'tellConfirmed'),
    transportError: to('completed', 'tellTransportError'),
  },
  confirmed: { timerI: to('terminated') },
  accepted: {
    success: to('accepted', 'send'),
    ack: to('accepted', 'tellAck'),
    timerL: to('terminated'),
    transportError: to('accepted', 'tellTransportError'),
  },
  terminated: {},
};

/** RFC 3261 figure 8. A retransmitted request in `trying` has no answer yet and is absorbed. */
export const nonInviteServer: Table<NonInviteServerState, ServerInput> = {
  trying: {
    provisional: to('proceeding', 'send'),
    success: to('completed', 'send', start('J')),
    failure: to('completed', 'send', start('J')),
  },
  proceeding: {
    request: to('proceeding', 'resend'),
    provisional: to('proceeding', 'send'),
    success: to('completed', 'send', start('J')),
    failure: to('completed', 'send', start('J')),
    transportError: to('terminated', 'tellTransportError'),
  },
  completed: {
    request: to('completed', 'resend'),
    timerJ: to('terminated'),
    transportError: to('terminated', 'tellTransportError'),
  },
  terminated: {},
};

/** RFC 3261 table 4, in ms: T1 round-trip estimate, T2 longest retransmission interval, T4 life of a message in the network. */
export type TimerValues = { readonly t1: number; readonly t2: number; readonly t4: number };

export const defaultTimerValues: TimerValues = { t1: 500, t2: 4_000, t4: 5_000 };

/** How long the user may be silent before 100 Trying goes out, in ms (17.2.1). */
const TRYING_AFTER = 200;

/**
 * The first duration of a timer in ms; 0 expires directly, undefined never starts. Reliable transports retransmit
 * nothing and expect no retransmissions (RFC 3261 table 4).
 */
export function timerDuration(timer: Timer, { t1, t4 }: TimerValues, reliable: boolean): number | undefined {
  switch (timer) {
    case 'A':
    case 'E':
    case 'G':
      return reliable ? undefined : t1;
    case 'D':
    case 'J':
      return reliable ? 0 : 64 * t1;
    case 'I':
    case 'K':
      return reliable ? 0 : t4;
    case '100':
      return TRYING_AFTER;
    default:
      return 64 * t1;
  }
}
