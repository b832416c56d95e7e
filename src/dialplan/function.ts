import type { DialplanChannel, DialplanSystem } from './host.ts';
import type { Values } from './text-functions.ts';

/** A channel function. Its text is the part in parentheses, as written. Undefined means failure. */
export type DialplanFunction = {
  read?: (channel: DialplanChannel, text: string, values: Values) => string | undefined;
  /** True when written; a message may say why not, in place of {@link takes}. */
  write?: (channel: DialplanChannel, text: string, value: string) => boolean | string;
  /** Allowed values, for the error message. Goes with `write`. */
  takes?: string;
};

/** A function of the whole system; likewise. */
export type SystemFunction = {
  read?: (system: DialplanSystem, text: string) => string | undefined;
  /** True when written. */
  write?: (system: DialplanSystem, text: string, value: string) => boolean;
  /** The accepted values, in words. */
  takes?: string;
};
