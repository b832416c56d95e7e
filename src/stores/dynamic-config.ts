import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import type { ConfigTuple } from '../models/system.ts';
import { openKeptMap } from './kept-map.ts';

/** One attribute of a kind of object. Values are text, as they are shown. */
export type Attribute = {
  /** Of an object whose maker said nothing. */
  initial: string;
  /** Never shown to anybody. */
  secret?: true;
  /** Error text for an invalid value, behind its name. */
  refusal?: string;
  /** Another attribute that it changes; then it is no attribute of its own. */
  changes?: string;
  /**
   * The value to keep for one that a client gave, undefined when it makes no sense. `before` is the value so far;
   * `again`: the same request has set the attribute already, so that a list may go on.
   */
  read(given: string, before: string, again: boolean): string | undefined;
};

/** A kind of object. */
type ObjectType = {
  attributes: Readonly<Record<string, Attribute>>;
  /** Whether something can have that id. */
  isId(id: string): boolean;
  /** Why values do not go together; undefined when they do. */
  check?(values: Values): string | undefined;
};

type Values = Readonly<Record<string, string>>;
type ConfigObject = { readonly id: string; readonly values: Values };

/** Objects by kind and id; ids are found in any case of letters. */
export interface DynamicConfig {
  /** The attributes of an object, without secret ones. @throws AriError configClassNotFound, configTypeNotFound, configObjectNotFound */
  get(configClass: string, objectType: string, id: string): ConfigTuple[];
  /**
   * Creates or changes an object. All fields are applied or none. Resolves once it is stored.
   * @param fields a list of `{attribute, value}`, as the client sent it.
   * @throws AriError as {@link get} except for the object, and configFieldsRequired, configCreateInvalid,
   * configUpdateInvalid, configUpdateForbidden synchronously; storageFailed (rejects), then nothing has changed.
   */
  update(configClass: string, objectType: string, id: string, fields: unknown): Promise<ConfigTuple[]>;
  /**
   * Resolves once that is stored.
   * @throws AriError as {@link get}, and configDeleteForbidden for objects of the configuration file, synchronously;
   * storageFailed (rejects), then nothing has changed.
   */
  delete(configClass: string, objectType: string, id: string): Promise<void>;

  /** An object with its secrets, for internal use. */
  find(objectType: string, id: string): ConfigObject | undefined;
  /** The objects of a kind that clients made. */
  made(objectType: string): ConfigObject[];
  /** Sets the objects of the configuration file; no events are published. */
  replaceFixed(fixed: DynamicConfigOptions['fixed']): void;
  /** Resolves once all changes are on disk. */
  close(): Promise<void>;
}

export type DynamicConfigOptions = {
  /** Data directory. */
  directory: string;
  clock: Clock;
  log: Logger;
  /** The name of the class that all objects belong to. */
  configClass: string;
  types: Readonly<Record<string, ObjectType>>;
  /** Objects of the configuration file, by kind: they can be read, but not changed. */
  fixed: Readonly<Record<string, readonly ConfigObject[]>>;
  /** Objects that clients may make; any number when left out. */
  limit?: number | undefined;
  /** Why a change cannot be, beyond the object itself; undefined when it can. */
  refuses?(objectType: string, object: ConfigObject): string | undefined;
  /** Hears every change after it was made, and when one is undone that could not be kept. */
  onChanged?(objectType: string, id: string): void;
};

type Kept = ConfigObject & { type: string };
type Field = { attribute: string; value: string };

const isField = (field: unknown): field is Field =>
  typeof (field as Field | null)?.attribute === 'string' && typeof (field as Field).value === 'string';

const isText = (value: unknown): value is string => typeof value === 'string';

function readObject(element: unknown): Kept {
  const { type, id, values } = (element ?? {}) as Partial<Kept>;
  if (
    !isText(type) ||
    !isText(id) ||
    typeof values !== 'object' ||
    values === null ||
    !Object.values(values).every(isText)
  )
    throw new TypeError(`not an object: ${JSON.stringify({ type, id })}`);
  return { type, id, values };
}

const initialOf = ({ attributes }: ObjectType): Values =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { initial, changes }]) => (changes ? [] : [[name, initial]])),
  );

/** The values with fields applied in their order; a text says which field is wrong. */
function apply({ attributes, check }: ObjectType, before: Values, fields: unknown): Values | string {
  if (!Array.isArray(fields)) return 'the fields are no list';
  const values: Record<string, string> = { ...before };
  const touched = new Set<string>();
  for (const field of fields as unknown[]) {
    if (!isField(field)) return 'a field is not of the form {"attribute", "value"}';
    const known = Object.hasOwn(attributes, field.attribute) ? attributes[field.attribute] : undefined;
    if (!known) return `there is no attribute ${field.attribute}`;
    const name = known.changes ?? field.attribute;
    const value = known.read(field.value, values[name] ?? '', touched.has(name));
    if (value === undefined) return `${field.attribute} ${known.refusal ?? 'cannot be so'}`;
    values[name] = value;
    touched.add(name);
  }
  return check?.(values) ?? values;
}

const tuplesOf = ({ attributes }: ObjectType, values: Values): ConfigTuple[] =>
  Object.entries(attributes).flatMap(([attribute, { secret, changes }]) =>
    secret || changes ? [] : [{ attribute, value: values[attribute] ?? '' }],
  );

/** Objects that clients create at run time, stored in a file with private permissions: it holds passwords. */
export function createDynamicConfig(options: DynamicConfigOptions): DynamicConfig {
  const { directory, clock, log, configClass: ownClass, types, fixed, refuses, onChanged } = options;
  const { limit = Number.POSITIVE_INFINITY } = options;
  const keyOf = (type: string, id: string): string => `${type}/${id.toLowerCase()}`;
  const byKey = (objects: DynamicConfigOptions['fixed']): Map<string, ConfigObject> =>
    new Map(Object.entries(objects).flatMap(([type, own]) => own.map((each) => [keyOf(type, each.id), each] as const)));
  let fixedObjects = byKey(fixed);
  const kept = openKeptMap<Kept>({
    directory,
    name: 'dynamic-config.json',
    clock,
    log,
    mode: 0o600,
    read: readObject,
    keyOf: ({ type, id }) => keyOf(type, id),
    onUndone: ({ type, id }) => onChanged?.(type, id),
  });
  for (const { type, id } of kept.values())
    if (fixedObjects.has(keyOf(type, id)))
      log.warn({ type, id }, 'the configuration file replaces an object created at run time');
  /** A client's object with defaults for new attributes; undefined for a removed type. */
  const complete = (object: Kept | undefined): Kept | undefined => {
    const type = object && Object.hasOwn(types, object.type) ? types[object.type] : undefined;
    return object && type && { ...object, values: { ...initialOf(type), ...object.values } };
  };

  const typeOf = (configClass: string, objectType: string): ObjectType => {
    if (configClass !== ownClass) throw new AriError('configClassNotFound', { configClass });
    const type = Object.hasOwn(types, objectType) ? types[objectType] : undefined;
    if (!type) throw new AriError('configTypeNotFound', { objectType });
    return type;
  };
  const find = (type: string, id: string): ConfigObject | undefined =>
    fixedObjects.get(keyOf(type, id)) ?? complete(kept.get(keyOf(type, id)));

  /** The resulting object, or undefined after logging the error. */
  const wanted = (
    type: ObjectType,
    objectType: string,
    before: ConfigObject,
    fields: unknown,
  ): ConfigObject | string => {
    const values = type.isId(before.id) ? apply(type, before.values, fields) : 'nothing can have that id';
    const object = typeof values === 'string' ? undefined : { id: before.id, values };
    const problem = typeof values === 'string' ? values : refuses?.(objectType, { id: before.id, values });
    if (problem === undefined && object) return object;
    const reason = problem ?? 'it cannot be so';
    log.info({ type: objectType, id: before.id, problem: reason }, 'an object of the configuration is refused');
    return reason;
  };

  return {
    get(configClass, objectType, id) {
      const type = typeOf(configClass, objectType);
      const object = find(objectType, id);
      if (!object) throw new AriError('configObjectNotFound', { id });
      return tuplesOf(type, object.values);
    },

    update(configClass, objectType, id, fields) {
      const type = typeOf(configClass, objectType);
      const existing = find(objectType, id);
      if (existing && (fields === undefined || fields === null)) throw new AriError('configFieldsRequired', { id });
      const isFixed = fixedObjects.has(keyOf(objectType, id));
      const before = existing ?? { id, values: initialOf(type) };
      const object = wanted(type, objectType, before, fields ?? []);
      if (typeof object === 'string')
        throw new AriError(existing ? 'configUpdateInvalid' : 'configCreateInvalid', { id, problem: object });
      if (isFixed) throw new AriError('configUpdateForbidden', { objectType });
      if (!existing) requireWithin('dynamic_objects', kept.size + 1, limit);
      const held = kept.set(keyOf(objectType, id), { type: objectType, ...object });
      onChanged?.(objectType, object.id);
      return held.then(() => tuplesOf(type, object.values));
    },

    delete(configClass, objectType, id) {
      typeOf(configClass, objectType);
      const object = find(objectType, id);
      if (!object) throw new AriError('configObjectNotFound', { id });
      if (fixedObjects.has(keyOf(objectType, id))) throw new AriError('configDeleteForbidden', { id });
      const held = kept.delete(keyOf(objectType, id));
      onChanged?.(objectType, object.id);
      return held;
    },

    find,
    made: (objectType) =>
      kept.values().flatMap((object) => {
        const known = object.type === objectType && !fixedObjects.has(keyOf(object.type, object.id));
        return (known && complete(object)) || [];
      }),
    replaceFixed(objects) {
      fixedObjects = byKey(objects);
    },
    close: () => kept.close(),
  };
}
