import type { CallOutcome } from '../models/call-outcome.ts';

/** Applications of one leg that are remembered. */
export const mostApplications = 8;
/** Recordings of one leg that are remembered. */
export const mostRecordings = 16;
/** Called parties of one call whose outcomes are remembered until its first leg is answered. */
export const mostCalled = 50;

/** A channel as logs and call records see it. Times in ms since the epoch. */
export type CallLeg = {
  readonly channel: string;
  /** The channel that the call began with: the same for all legs of a call. Changes when the leg meets an older call. */
  call: string;
  readonly name: string;
  readonly technology: string;
  /** Name of the endpoint, where it belongs to one. */
  readonly endpoint?: string | undefined;
  readonly direction: 'in' | 'out';
  /** The caller's number and name, empty if unknown. */
  readonly from: { readonly number: string; readonly name: string };
  /** The called extension of an inbound call, or the dialed resource of an outbound call. */
  readonly to: string;
  /** The technology's own id: SIP's Call-ID. */
  readonly protocolId: string;
  readonly accountCode: string;
  /** The dialplan context that it entered. */
  readonly context: string;
  readonly startedAt: number;
  answeredAt?: number | undefined;
  /** Its source `address:port`, if known. */
  readonly source?: string | undefined;
  /** The audio format that was agreed on, once it is answered. */
  codec?: string | undefined;
  /** The format of video that was agreed on, likewise. */
  video?: string | undefined;
  /** The applications that it entered, in order, each once; the first {@link mostApplications}. */
  readonly applications: string[];
  /** Recordings of it, and of the bridges that it was in meanwhile, by name; the first {@link mostRecordings}. */
  readonly recordings: string[];
  /**
   * Of the first leg of a call until it is answered: the later legs, in order, with their outcomes once they ended; the
   * first {@link mostCalled}.
   */
  called?: readonly CalledLeg[] | undefined;
};

/** A later leg of a call. */
type CalledLeg = { readonly channel: string; readonly outcome?: CallOutcome | undefined };
