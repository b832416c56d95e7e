import { type ExternalLegEvent, type ExternalLegRun, externalLegTable } from '../machines/external-leg.ts';
import { TableRun, type Watched } from '../machines/table-run.ts';
import type { Leg, Report } from '../telephony/driver.ts';

/**
 * Default leg for a far side that is not a phone. Alerting, hold, names and redirections have no effect, and it has no
 * headers.
 */
export abstract class QuietLeg
  implements
    Pick<Leg, 'progress' | 'answer' | 'hold' | 'unhold' | 'present' | 'redirect' | 'tellTransfer'>,
    Pick<Leg, 'header' | 'addHeader' | 'updateHeader' | 'removeHeader'>
{
  progress(): void {}
  answer(): void {}
  hold(): void {}
  unhold(): void {}
  present(): void {}
  redirect(): boolean {
    return false;
  }
  /** It asks for none. */
  tellTransfer(): void {}
  header(_name: string): string | undefined {
    return undefined;
  }
  addHeader(_name: string, _value: string): boolean {
    return false;
  }
  updateHeader(_name: string, _value: string): boolean {
    return false;
  }
  removeHeader(_name: string): void {}
}

/** The chart of a leg whose far side is no phone, from a state on. It reports to the channel. */
export const runExternalLeg = (report: Report, state: ExternalLegRun['state'], watched: Watched): ExternalLegRun =>
  new TableRun(
    externalLegTable,
    state,
    {
      tellAnswered: () => report({ type: 'leg.answered' }),
      tellHungUp: ({ cause }: Extract<ExternalLegEvent, { cause: number }>) => report({ type: 'leg.hungUp', cause }),
      tellEnded: () => report({ type: 'leg.ended' }),
    },
    watched,
  );
