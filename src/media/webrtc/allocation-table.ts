/** States of an allocation at a TURN server (RFC 8656), as its client sees it. */
export type AllocationState =
  | 'new'
  /** Asked without credentials: the server tells its realm. */
  | 'asking'
  /** Asked with credentials. */
  | 'proving'
  /** The same with the nonce of a server that found the first one too old. */
  | 'provingAgain'
  /** There is one. */
  | 'allocated'
  /** It is there, and is being made to last. */
  | 'refreshing'
  | 'refreshingAgain'
  /** There is none, and will be none. */
  | 'failed'
  /** It was given up. */
  | 'closed';

/** What happens to it. */
export type AllocationEvent =
  | 'open'
  /** The server wants credentials (401), and tells its realm and a nonce. */
  | 'challenged'
  /** The nonce is too old (438); a newer one was told. */
  | 'stale'
  /** Success. */
  | 'granted'
  /** Any other error, or a success that cannot be read. */
  | 'refused'
  /** No answer, after all repetitions. */
  | 'silence'
  | 'refreshDue'
  /** The connection to the server has ended, where there is one. */
  | 'lost'
  | 'close';

/** What is done. */
export type AllocationAction = 'ask' | 'prove' | 'keep' | 'refresh' | 'planRefresh' | 'fail' | 'release';

type Step = { readonly to: AllocationState; readonly act?: AllocationAction };

const fail: Step = { to: 'failed', act: 'fail' };
const failures = { challenged: fail, stale: fail, refused: fail, silence: fail, lost: fail };
const close: Step = { to: 'closed' };
/** The server keeps it until its lifetime ends, unless it is told. */
const release: Step = { to: 'closed', act: 'release' };
const keep: Step = { to: 'allocated', act: 'keep' };
const last: Step = { to: 'allocated', act: 'planRefresh' };

/** What each event does in each state; left out: nothing. */
export const allocationTable: Readonly<
  Record<AllocationState, Readonly<Partial<Record<AllocationEvent, Step | undefined>>>>
> = {
  new: { open: { to: 'asking', act: 'ask' }, close },
  asking: { ...failures, challenged: { to: 'proving', act: 'prove' }, granted: keep, close },
  // A second challenge is a wrong password.
  proving: { ...failures, stale: { to: 'provingAgain', act: 'prove' }, granted: keep, close: release },
  provingAgain: { ...failures, granted: keep, close: release },
  allocated: { refreshDue: { to: 'refreshing', act: 'refresh' }, lost: fail, close: release },
  refreshing: { ...failures, stale: { to: 'refreshingAgain', act: 'refresh' }, granted: last, close: release },
  refreshingAgain: { ...failures, granted: last, close: release },
  failed: { close },
  closed: {},
};
