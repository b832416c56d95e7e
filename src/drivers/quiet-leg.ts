import type { Leg } from '../telephony/driver.ts';

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
