import type { Application } from './applications/application.ts';
import { stasisBroadcast } from './applications/broadcast.ts';
import { answerApplication, busy, congestion, hangup, progress, ringing } from './applications/call.ts';
import { execIfOf } from './applications/conditional.ts';
import { bridge, chanSpy, confBridge, dial, musicOnHold, record } from './applications/connect.ts';
import { logApplication, noOp, set, stasis, userEvent, verbose, wait } from './applications/flow.ts';
import { goto, gotoIf, gotoIfTime } from './applications/jumps.ts';
import { background, read, waitExten } from './applications/keys.ts';
import { continueWhile, endWhile, exitWhile, whileApplication } from './applications/loop.ts';
import { echo, playback } from './applications/media.ts';
import { sayAlpha, sayDigits, sayNumber } from './applications/say.ts';
import { gosub, gosubIf, returnApplication, stackPop } from './applications/subroutine.ts';

const execIf = execIfOf((name) => findApplication(name));

/** All applications a step may name, in the order of the documentation. */
export const applications: readonly Application[] = [
  answerApplication,
  background,
  bridge,
  busy,
  chanSpy,
  confBridge,
  congestion,
  continueWhile,
  dial,
  echo,
  endWhile,
  execIf,
  exitWhile,
  gosub,
  gosubIf,
  goto,
  gotoIf,
  gotoIfTime,
  hangup,
  logApplication,
  musicOnHold,
  noOp,
  playback,
  progress,
  read,
  record,
  returnApplication,
  ringing,
  sayAlpha,
  sayDigits,
  sayNumber,
  set,
  stackPop,
  stasis,
  stasisBroadcast,
  userEvent,
  verbose,
  wait,
  waitExten,
  whileApplication,
];

const byName: ReadonlyMap<string, Application> = new Map(
  applications.map((application) => [application.name.toLowerCase(), application]),
);

/** An application by its name in any case; undefined when there is none. */
export const findApplication = (name: string): Application | undefined => byName.get(name.toLowerCase());
