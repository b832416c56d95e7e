import type { Path } from './check.ts';

/** An environment variable that overrides the file. */
type Variable = {
  name: string;
  description: string;
  /** The settings it sets; `*` stands for every item of a list. */
  paths: readonly Path[];
  /** Converts the text to the value. Invalid text is passed on, so that the checks report it. */
  read(text: string): unknown;
};

const asText = (text: string) => text;
const asNumber = (text: string) => (/^\d+$/.test(text.trim()) ? Number(text) : text);
const asList = (text: string) => text.split(',').map((each) => each.trim());
const asRange = (text: string) => {
  const [, first, last] = /^\s*(\d+)\s*[-,]\s*(\d+)\s*$/.exec(text) ?? [];
  return first && last ? [Number(first), Number(last)] : text;
};

/** Environment variables that override the file, in the order `--help` lists them. */
export const variables: readonly Variable[] = [
  {
    name: 'HOOKSWITCH_HTTP_BIND',
    description: 'address of the HTTP interface',
    paths: [['http', 'bind']],
    read: asText,
  },
  {
    name: 'HOOKSWITCH_HTTP_PORT',
    description: 'port of the HTTP interface',
    paths: [['http', 'port']],
    read: asNumber,
  },
  {
    name: 'HOOKSWITCH_SIP_BIND',
    description: 'address of all SIP transports',
    paths: [['sip', 'transports', '*', 'bind']],
    read: asText,
  },
  {
    name: 'HOOKSWITCH_SIP_PORT',
    description: 'port of all SIP transports',
    paths: [['sip', 'transports', '*', 'port']],
    read: asNumber,
  },
  {
    name: 'HOOKSWITCH_RTP_ADDRESS',
    description: 'address for audio (RTP)',
    paths: [['media', 'rtp_address']],
    read: asText,
  },
  {
    name: 'HOOKSWITCH_RTP_PORTS',
    description: 'ports for audio (RTP), e.g. 10000-20000',
    paths: [['media', 'rtp_ports']],
    read: asRange,
  },
  {
    name: 'HOOKSWITCH_LOG_LEVEL',
    description: 'trace, debug, info, warn, error, fatal or silent',
    paths: [['general', 'log_level']],
    read: asText,
  },
  { name: 'HOOKSWITCH_DATA', description: 'data directory', paths: [['general', 'data_directory']], read: asText },
  {
    name: 'HOOKSWITCH_RECORDINGS',
    description: 'directory of recordings',
    paths: [['recordings', 'directory']],
    read: asText,
  },
  {
    name: 'HOOKSWITCH_CLUSTER_NATS',
    description: 'NATS servers of the cluster, separated by commas',
    paths: [['cluster', 'nats']],
    read: asList,
  },
  {
    name: 'HOOKSWITCH_CLUSTER_NAME',
    description: 'name of this node of the cluster',
    paths: [['cluster', 'name']],
    read: asText,
  },
];

/**
 * Overrides settings of the file with environment variables. An empty variable counts as not set.
 * @param raw the file's settings; changed in place. Invalid groups are left for the checks.
 * @param defaults makes the default configuration, for lists that the file leaves out.
 * @returns which variable set which setting, by the setting's path as JSON, for messages.
 */
export function applyEnvironment(
  raw: Record<string, unknown>,
  defaults: () => unknown,
  env: Readonly<Record<string, string | undefined>>,
): Map<string, string> {
  const setBy = new Map<string, string>();
  const present = variables.filter(({ name }) => env[name]);
  const standard = present.length > 0 ? defaults() : undefined;
  for (const { name, paths, read } of present)
    for (const path of paths)
      for (const at of set(raw, standard, path, read(env[name] ?? ''))) setBy.set(JSON.stringify(at), name);
  return setBy;
}

/** Sets a value; `*` stands for each item of a list. @returns where it was set. */
function set(target: unknown, defaults: unknown, path: Path, value: unknown): Path[] {
  const [key, ...rest] = path;
  if (key === undefined || typeof target !== 'object' || target === null) return [];
  const below = (step: Path[number], paths: readonly Path[]): Path[] => paths.map((each) => [step, ...each]);
  if (key === '*') {
    if (!Array.isArray(target)) return [];
    return target.flatMap((item: unknown, index) => below(index, set(item, undefined, rest, value)));
  }
  const group = target as Record<string, unknown>;
  const standard = (defaults as Record<string, unknown> | undefined)?.[key];
  if (rest.length === 0) {
    group[key] = value;
    return [[key]];
  }
  group[key] ??= rest[0] === '*' ? structuredClone(standard) : {};
  return below(key, set(group[key], standard, rest, value));
}
