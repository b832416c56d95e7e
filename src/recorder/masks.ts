/** Hidden parts of a call. */
export type Mask = {
  /** Digits that were pressed or sent. */
  readonly digits: boolean;
  /** Names of variables whose values are not shown. */
  readonly variables: ReadonlySet<string>;
};

/** Everything is shown. */
export const nothingMasked: Mask = { digits: false, variables: new Set() };

/** Hides what either of two masks hides. */
export function joined(one: Mask, other: Mask): Mask {
  if (one === other) return one;
  return { digits: one.digits || other.digits, variables: new Set([...one.variables, ...other.variables]) };
}

/** Replaces hidden values. */
export const hidden = '***';

/** Members that name a variable beside its `value`. */
const namesOfVariables = ['name', 'variable'] as const;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** A variable as it is named, without what says how far it is inherited. */
const bare = (name: string): string => name.replace(/^_{1,2}/, '');

/** Plain JSON with what a mask hides replaced; the value itself when the mask hides nothing. */
export function masked<T>(value: T, mask: Mask): T {
  return !mask.digits && mask.variables.size === 0 ? value : (hide(value, mask) as T);
}

function hide(value: unknown, mask: Mask): unknown {
  if (Array.isArray(value)) return value.map((each) => hide(each, mask));
  if (!isObject(value)) return value;
  const named = namesOfVariables.some((key) => typeof value[key] === 'string' && mask.variables.has(bare(value[key])));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (isHidden(key, member, named, mask)) return [key, hidden];
      return [key, hide(member, mask)];
    }),
  );
}

function isHidden(key: string, member: unknown, named: boolean, { digits, variables }: Mask): boolean {
  if (variables.has(bare(key)) && !isObject(member)) return true;
  if (named && key === 'value') return true;
  return digits && ['digit', 'digits', 'dtmf'].includes(key) && typeof member === 'string';
}

/** A query with what a mask hides replaced. */
export function maskedQuery(query: string, mask: Mask): string {
  if (query === '' || (!mask.digits && mask.variables.size === 0)) return query;
  const pairs = new URLSearchParams(query);
  const variable = pairs.get('variable');
  for (const key of pairs.keys()) {
    const ofVariable = key === 'value' && variable !== null && mask.variables.has(bare(variable));
    if (ofVariable || (mask.digits && key === 'dtmf')) pairs.set(key, hidden);
  }
  return pairs.toString();
}
