import * as fc from 'fast-check';

/**
 * Deeds in any order, for whole servers and for parts of one. A suite says which kinds there are, how often each comes and
 * what it carries. Its adapter says what each kind does.
 */

type Parts = Readonly<Record<string, fc.Arbitrary<unknown>>>;
type Values<P extends Parts> = { [K in keyof P]: P[K] extends fc.Arbitrary<infer V> ? V : never };
/** How often each kind comes, and what it carries. */
type Vocabulary<V> = { readonly [K in keyof V]: readonly [often: number, parts: Parts] };

type DeedOf<V extends Vocabulary<V>> = {
  [K in keyof V & string]: { kind: K } & Values<V[K][1]>;
}[keyof V & string];

/** Kinds that carry the same. One that stands twice comes twice as often. */
export const likewise = <const K extends string, P extends Parts>(kinds: readonly K[], parts: P, often = 1) =>
  Object.fromEntries(
    kinds.map((kind) => [kind, [often * kinds.filter((other) => other === kind).length, parts]]),
  ) as unknown as { readonly [W in NoInfer<K>]: readonly [number, P] };

export const anyDeed = <V extends Vocabulary<V>>(vocabulary: V): fc.Arbitrary<DeedOf<V>> =>
  fc.oneof(
    { withCrossShrink: true },
    ...Object.entries<readonly [number, Parts]>(vocabulary).map(([kind, [weight, parts]]) => ({
      weight,
      arbitrary: fc.record({ kind: fc.constant(kind), ...parts }),
    })),
  ) as unknown as fc.Arbitrary<DeedOf<V>>;
