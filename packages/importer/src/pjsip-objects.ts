import type { Access } from './access.ts';
import type { Report } from './report.ts';
import type { Values } from './source.ts';

/** The objects of `pjsip.conf`, and which of what they say has no meaning here. */

/** Puts something beside what a key has. */
export function add<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const there = lists.get(key);
  if (there) there.push(item);
  else lists.set(key, [item]);
}

/** Objects by type and name. */
export class Objects {
  /** Objects by the value of a setting, indexed on first use. */
  readonly #bySetting = new Map<string, Map<string, Values[]>>();
  readonly #byType = new Map<string, { all: Values[]; byName: Map<string, Values> }>();

  add(type: string, values: Values): void {
    const { all, byName } = this.#byType.get(type) ?? { all: [], byName: new Map<string, Values>() };
    this.#byType.set(type, { all, byName });
    all.push(values);
    if (!byName.has(values.name.toLowerCase())) byName.set(values.name.toLowerCase(), values);
  }

  types(): IterableIterator<string> {
    return this.#byType.keys();
  }

  of = (type: string): readonly Values[] => this.#byType.get(type)?.all ?? [];

  /** The objects of a type that have this value, in any case of letters. All must have been added. */
  having = (type: string, setting: string, value: string): readonly Values[] => {
    const kind = `${type} ${setting}`;
    let found = this.#bySetting.get(kind);
    if (!found) {
      found = new Map();
      for (const each of this.of(type)) add(found, each.text(setting).toLowerCase(), each);
      this.#bySetting.set(kind, found);
    }
    return found.get(value.toLowerCase()) ?? [];
  };

  /** The object of a type and a name, in any case of letters; the first one where there are several. */
  named = (type: string, name: string): Values | undefined => this.#byType.get(type)?.byName.get(name.toLowerCase());
}

export type World = Pick<Objects, 'of' | 'named' | 'having'> & {
  report: Report;
  notes: Record<string, string>;
  accessOf: (values: Values, prefix?: 'contact_') => Access;
  /** Addresses that the lists for all of SIP admit. */
  everywhere: Access;
};

/** The AORs of an endpoint, each once. */
export const aorsOf = (endpoint: Values, { named }: Pick<World, 'named'>): Values[] => [
  ...new Set(endpoint.list('aors').flatMap((name) => named('aor', name) ?? [])),
];

/** Reports objects without endpoint, because they have no effect. */
export function tellStrays({ of, report }: World): void {
  const endpoints = new Set(of('endpoint').map(({ name }) => name.toLowerCase()));
  const named = (types: readonly string[], keys: readonly string[]): Set<string> =>
    new Set(
      types
        .flatMap((type) => of(type).flatMap((each) => keys.flatMap((key) => each.list(key))))
        .map((name) => name.toLowerCase()),
    );
  const auths = named(['endpoint', 'registration'], ['auth', 'outbound_auth']);
  const aors = named(['endpoint'], ['aors']);
  for (const [type, used] of [
    ['auth', auths],
    ['aor', aors],
  ] as const)
    for (const { name, place } of of(type))
      if (!used.has(name.toLowerCase())) report.missing(place, `${type} ${name} belongs to no endpoint and is dropped`);
  for (const identify of of('identify'))
    if (!endpoints.has(identify.text('endpoint').toLowerCase()))
      report.missing(identify.place, `identify ${identify.name} belongs to no endpoint and is dropped`);
}
