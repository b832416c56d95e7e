/** Applications of one leg that are remembered. */
export const mostApplications = 8;
/** Recordings of one leg that are remembered. */
export const mostRecordings = 16;

/** A channel as those who run the server are told of it. Times in ms since the epoch. */
export type CallLeg = {
  readonly channel: string;
  /** The channel that the call began with: the same for all legs of a call. Changes when the leg meets an older call. */
  call: string;
  readonly name: string;
  readonly technology: string;
  /** Name of the endpoint, where it belongs to one. */
  readonly endpoint?: string | undefined;
  readonly direction: 'in' | 'out';
  /** Who calls: number and name, empty where unknown. */
  readonly from: { readonly number: string; readonly name: string };
  /** Who is called: the extension of a call in, the resource that is dialed of a call out. */
  readonly to: string;
  /** The technology's own id: SIP's Call-ID. */
  readonly protocolId: string;
  readonly accountCode: string;
  /** Where it entered the dialplan. */
  readonly context: string;
  readonly startedAt: number;
  answeredAt?: number | undefined;
  /** Where it came from, `address:port`, where that is known. */
  readonly source?: string | undefined;
  /** The audio format that was agreed on, once it is answered. */
  codec?: string | undefined;
  /** The format of video that was agreed on, likewise. */
  video?: string | undefined;
  /** The applications that it entered, in order, each once; the first {@link mostApplications}. */
  readonly applications: string[];
  /** Recordings of it, and of the bridges that it was in meanwhile, by name; the first {@link mostRecordings}. */
  readonly recordings: string[];
};
