import Type, { type Static } from 'typebox';
import { model, text } from './schema.ts';

/**
 * pending: not decided yet. answered: the parties could talk, and nothing broke it. refused: the called side, the
 * dialplan or an application turned it down. abandoned: the calling side gave it up. failed: everything else.
 */
export const outcomeResults = ['pending', 'answered', 'failed', 'refused', 'abandoned'] as const;

const outcomeParties = ['caller', 'callee', 'application', 'dialplan', 'server', 'timeout', 'fault'] as const;

export const CallOutcome = model('CallOutcome', 'The outcome of a call or of a leg.', {
  result: Type.Enum([...outcomeResults], {
    description:
      '`pending`: not decided yet. `answered`: the parties could talk. `refused`: turned down. `abandoned`: the calling side gave it up. `failed`: everything else, also a call that was dropped.',
  }),
  reason: text('Why, in words; empty while it is pending.'),
  by: Type.Optional(
    Type.Enum([...outcomeParties], { description: 'Who decided it; left out while it is pending or unknown.' }),
  ),
});
export type CallOutcome = Static<typeof CallOutcome>;
