import * as fc from 'fast-check';
import { anyDeed as deed, likewise } from '../support/deeds.ts';
import { type Account, type createStory, type Deed, words } from './snapshot-story.ts';

/** Deeds in any order, for the suites that save, kill and restore a server. Each adds words that matter to it. */

type Word = Deed['word'];
export type Timed = { after: number; deed: Deed };

export const anyDeed = (...more: Word[]): fc.Arbitrary<Deed> =>
  deed(likewise([...more, ...words], { nth: fc.nat(3) })).map(({ kind: word, nth }) => ({ word, nth }));

/** Deeds with the time before each, in steps. */
export const timedDeeds = (deed: fc.Arbitrary<Deed>, after: fc.Arbitrary<number>, maxLength: number) =>
  fc.array(fc.record<Timed>({ after, deed }), { minLength: 2, maxLength });

/** Deeds of calls that are played to and meet, close together and far apart. */
export const manyDeeds = timedDeeds(
  anyDeed('call', 'originate', 'play', 'bridge', 'join', 'join'),
  fc.oneof(fc.nat(3), fc.nat(80)),
  10,
);

/** Steps behind which the server dies. */
export const anySteps = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 4 });

/** A story that begins with a call. */
export const withCall = (deeds: readonly Timed[]): Timed[] => [{ after: 1, deed: { word: 'call', nth: 0 } }, ...deeds];

/** How often a suite of whole stories runs. */
export const fewRuns = (numRuns: number) => ({
  ...{ numRuns, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
});

/** Tells a story in steps of 10 ms, to its end: all channels are hung up. `behind` is called behind each step. */
export async function tellInSteps(
  story: Awaited<ReturnType<typeof createStory>>,
  deeds: readonly Timed[],
  behind: (step: number) => Promise<void> | void,
): Promise<Account> {
  let step = 0;
  const run = async (steps: number) => {
    for (let left = steps; left > 0; left--) {
      await story.clock.run(10);
      await behind(++step);
    }
  };
  await run(10);
  for (const { after, deed } of deeds) {
    await run(after);
    await story.act(deed);
  }
  await run(200);
  for (const { id } of (await story.ask('GET', '/channels')) as { id: string }[])
    await story.ask('DELETE', `/channels/${id}`);
  await story.clock.run(40_000);
  return story.close();
}
