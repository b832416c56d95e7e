import * as fc from 'fast-check';

/** How many datagrams are mutated in one property: a state costs more to reach than a datagram to read. */
export const mutationsAtOnce = 20;

type Mutation = { which: number; cut: number | null; changes: { at: number; octet: number }[] };

/** Changes of datagrams: which of some, where it is cut off, and octets that are others. */
export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({
    which: fc.nat(20),
    cut: fc.option(fc.nat(600)),
    changes: fc.array(fc.record({ at: fc.nat(600), octet: fc.nat(255) }), { minLength: 1, maxLength: 8 }),
  }),
  { minLength: mutationsAtOnce, maxLength: mutationsAtOnce },
);

/** One of some datagrams, changed. */
export function mutated(all: readonly Buffer[], { which, cut, changes }: Mutation): Buffer {
  const genuine = all[which % all.length]!;
  const octets = Buffer.from(genuine.subarray(0, cut ?? genuine.length));
  for (const { at, octet } of changes) if (at < octets.length) octets[at] = octet;
  return octets;
}
