/** How the answers of several nodes become one. */
export type Merge = (bodies: readonly unknown[]) => unknown;

type Json = Record<string, unknown>;

const isList = (value: unknown): value is unknown[] => Array.isArray(value);

/** Lists have the items of all, each once; other members are those of the first. */
export function mergeObjects(objects: readonly Json[]): Json {
  const [first = {}, ...others] = objects;
  const merged: Json = { ...first };
  for (const other of others)
    for (const [name, value] of Object.entries(other)) {
      const before = merged[name];
      if (before === undefined) merged[name] = value;
      else if (isList(before) && isList(value)) merged[name] = unique([...before, ...value]);
    }
  return merged;
}

const unique = (items: readonly unknown[]): unknown[] => {
  const seen = new Set<unknown>();
  return items.filter((item) => {
    const key = typeof item === 'object' ? JSON.stringify(item) : item;
    return !seen.has(key) && seen.add(key);
  });
};

const lineOf = ({ endpoint, server, client }: Json): string => JSON.stringify([endpoint, server, client]);

/** Registrations at providers, as their nodes see them: one that stands by is shown only if no node holds it. */
function mergeRegistrations(all: readonly Json[]): Json[] {
  const held = new Set(all.filter(({ status }) => status !== 'Standby').map(lineOf));
  const seen = new Set<string>();
  return all.filter((each) => {
    if (each['status'] !== 'Standby') return true;
    const line = lineOf(each);
    return !held.has(line) && !seen.has(line) && seen.add(line);
  });
}

/** An endpoint is online if it is at any node. */
const stateRank = ['online', 'offline', 'unknown'];
function mergeEndpoints(objects: readonly Json[]): Json {
  const states = objects.map(({ state }) => state);
  const state = stateRank.find((each) => states.includes(each));
  const { registrations, ...merged } = mergeObjects(objects);
  return {
    ...{ ...merged, ...(state !== undefined && { state }) },
    ...(isList(registrations) && { registrations: mergeRegistrations(registrations as Json[]) }),
  };
}

/** Lists behind each other. Objects with the same key are one. */
const lists =
  (keyOf: (item: Json) => string | undefined, one: (objects: readonly Json[]) => Json = mergeObjects): Merge =>
  (bodies) => {
    const byKey = new Map<string, Json[]>();
    let unnamed = 0;
    for (const item of bodies.flat() as Json[]) {
      const key = keyOf(item) ?? `\0${unnamed++}`;
      const same = byKey.get(key);
      if (same) same.push(item);
      else byKey.set(key, [item]);
    }
    return [...byKey.values()].map((same) => (same.length === 1 ? same[0] : one(same)));
  };

const none = (): undefined => undefined;
const byName = ({ name }: Json): string => String(name);
const byResource = ({ technology, resource }: Json): string => `${String(technology)}/${String(resource)}`;
const objects =
  (merge: (objects: readonly Json[]) => Json): Merge =>
  (bodies) =>
    merge(bodies as Json[]);

/** What waits longest comes first. */
const longestFirst: Merge = (bodies) =>
  (bodies.flat() as Json[]).sort((one, other) => Number(one.since) - Number(other.since));

/** Operations whose answer is that of all nodes. */
export const merges: Readonly<Record<string, Merge>> = {
  'channels.list': lists(none),
  'bridges.list': lists(none),
  'recordings.listStored': lists(byName, ([first = {}]) => first),
  'applications.list': lists(byName),
  'applications.get': objects(mergeObjects),
  'applications.filter': objects(mergeObjects),
  'endpoints.list': lists(byResource, mergeEndpoints),
  'endpoints.listByTech': lists(byResource, mergeEndpoints),
  'endpoints.get': objects(mergeEndpoints),
  'groups.list': lists(none),
  'calls.stuck': longestFirst,
  'server.listContacts': lists(none),
  'server.listRegistrations': (bodies) => mergeRegistrations(bodies.flat() as Json[]),
};
