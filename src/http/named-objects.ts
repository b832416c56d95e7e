import type { Context } from 'hono';
import type { Kind } from '../cluster/claims.ts';
import type { Env } from './env.ts';
import type { Operation, Params } from './operation.ts';
import { createParamReader, type ParamReader, type Sources } from './parameters.ts';
import type { HttpUser } from './user.ts';

export type Answer = Response | Promise<Response>;

/** A request that was let in. */
export type Asked = {
  operation: Operation;
  sources: Sources;
  user: HttpUser;
  /** Carries it out on this node. */
  run(sources: Sources): Answer;
};

/** An object that a request names, or that it is to create. */
export type NamedObject = { kind: Kind | 'call'; id: string; isNew: boolean };

const kinds: ReadonlySet<string> = new Set(['channel', 'bridge', 'playback', 'recording', 'call']);

/** Reads the objects that a request names. Those of the path come first. */
export type ObjectReader = (c: Context<Env>, sources: Sources) => NamedObject[];

/** The object of an event source; undefined for all of a type, an endpoint or a device. */
export function objectOfSource(source: string): NamedObject | undefined {
  const [, kind, id = ''] = /^(channel|bridge):(.+)$/s.exec(source) ?? [];
  return kind === undefined ? undefined : { kind: kind as Kind, id, isNew: false };
}

/** Makes what reads the objects that requests of an operation name. */
export function objectReaderOf({ params }: Operation): ObjectReader {
  const naming = Object.entries(params).filter(
    ([, { names, creates }]) => creates !== undefined || names === 'eventSource' || (names && kinds.has(names)),
  );
  if (naming.length === 0) return () => [];
  const read: ParamReader = createParamReader(Object.fromEntries(naming) as Params);
  const names = naming.map(([name]) => name);
  const ordered = naming.toSorted(([, one], [, other]) => Number(one.in !== 'path') - Number(other.in !== 'path'));
  return (c, sources) => {
    const path: Record<string, string> = {};
    for (const name of names) {
      const value = c.req.param(name);
      if (value !== undefined) path[name] = value;
    }
    const values = read(path, sources);
    const found: NamedObject[] = [];
    for (const [name, param] of ordered) {
      const value = values[name];
      // Each request comes here, and most name one object.
      if (typeof value === 'string') addObject(found, param, value);
      else if (Array.isArray(value))
        for (const each of value) if (typeof each === 'string') addObject(found, param, each);
    }
    return found;
  };
}

function addObject(found: NamedObject[], { names, creates }: Params[string], id: string): void {
  if (id === '') return;
  if (creates !== undefined) found.push({ kind: creates, id, isNew: true });
  else if (names === 'eventSource') {
    const object = objectOfSource(id);
    if (object) found.push(object);
  } else found.push({ kind: names as Kind | 'call', id: id.trim(), isNew: false });
}
