import type { Step } from '../actors/step.ts';
import type { Turn } from '../actors/turn.ts';
import type { Logger } from '../lib/log.ts';

/**
 * Logs every transition of every chart while `trace` is on, and costs nothing otherwise. Names of events, facts and
 * effects are logged; their content may be secret and is not.
 * @returns a function to call after changed log levels.
 */
export function createChartLog(turn: Pick<Turn, 'listen'>, log: Logger): () => void {
  let stop: (() => void) | undefined;
  const follow = (): void => {
    if (log.enabled('trace')) stop ??= turn.listen((step) => tell(log, step));
    else {
      stop?.();
      stop = undefined;
    }
  };
  follow();
  return follow;
}

function tell(log: Logger, { seq, object, chart, event, from, to, facts, effects, causedBy }: Step): void {
  log.trace(
    {
      // Only a channel's charts have its id.
      ...(chart === 'channel' || chart === 'ownership' ? { channel: object } : { object }),
      ...{ chart, step: seq, event: event.type, from, to },
      ...(facts.length === 0 ? {} : { facts: facts.map(({ type }) => type) }),
      ...(effects.length === 0 ? {} : { effects: effects.map(({ type }) => type) }),
      ...(causedBy === undefined ? {} : { caused_by: causedBy }),
    },
    'a step',
  );
}
