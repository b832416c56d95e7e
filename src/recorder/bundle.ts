import { shownUrl } from '../lib/shown-url.ts';
import type { CallDetail } from '../models/call.ts';
import { hidden } from './masks.ts';
import { writeMermaid } from './mermaid.ts';
import { createTimeMachine, type Moment } from './time-travel.ts';

/** The server that made a bundle. */
export type ServerDescription = {
  /** Names of programs and libraries with their versions. */
  versions: Readonly<Record<string, string>>;
  /** The present configuration; secrets are removed here. Left out: none. */
  config?: () => unknown;
};

/** Everything that is known of a call, in one document: what is attached to a report of a fault. */
export type Bundle = {
  format: 'hookswitch-bundle';
  version: 1;
  /** When it was made, in ms since the Unix epoch. */
  made_at: number;
  versions: Readonly<Record<string, string>>;
  config?: unknown;
  call: CallDetail;
  /** How things were at the end of the timeline. */
  models: Omit<Moment, 'objects'>;
  /** The timeline as a Mermaid sequence diagram. */
  diagram: string;
};

/** Makes the bundle of a call. */
export function createBundle(call: CallDetail, { versions, config }: ServerDescription, now: number): Bundle {
  const { objects: _objects, ...models } = createTimeMachine(call.timeline).at(call.timeline.at(-1)?.seq ?? 0);
  return {
    format: 'hookswitch-bundle',
    version: 1,
    made_at: now,
    versions,
    ...(config && { config: withoutSecrets(config()) }),
    call,
    models,
    diagram: writeMermaid(call.timeline),
  };
}

/** Names of settings that hold secrets. */
const secretNames = /password|secret|token|credential|private|passphrase|api_?key|^key$|^md5_cred$/i;

/** Configured headers may contain credentials: only their names are kept. */
const headersWithout = (headers: readonly unknown[]): unknown[] =>
  headers.map((header) => (typeof header === 'string' ? header.replace(/:.*/s, `: ${hidden}`) : header));

/** A configuration without passwords, under any name, also without those in addresses and headers. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return shownUrl(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (name === 'headers' && Array.isArray(member)) return [name, headersWithout(member)];
      const isSecret = secretNames.test(name) && typeof member !== 'object' && member !== '';
      return [name, isSecret ? hidden : withoutSecrets(member)];
    }),
  );
}
