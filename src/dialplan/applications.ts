import type { Application } from './applications/application.ts';
import { stasisBroadcast } from './applications/broadcast.ts';
import { answerApplication, busy, congestion, hangup, progress, ringing } from './applications/call.ts';
import { bridge, confBridge, dial, musicOnHold, record } from './applications/company.ts';
import { goto, gotoIf, noOp, set, stasis, userEvent, wait } from './applications/flow.ts';
import { echo, playback } from './applications/media.ts';

/** All applications a step may name, in the order of the documentation. */
export const applications: readonly Application[] = [
  answerApplication,
  bridge,
  busy,
  confBridge,
  congestion,
  dial,
  echo,
  goto,
  gotoIf,
  hangup,
  musicOnHold,
  noOp,
  playback,
  progress,
  record,
  ringing,
  set,
  stasis,
  stasisBroadcast,
  userEvent,
  wait,
];

const byName: ReadonlyMap<string, Application> = new Map(
  applications.map((application) => [application.name.toLowerCase(), application]),
);

/** An application by its name in any case; undefined when there is none. */
export const findApplication = (name: string): Application | undefined => byName.get(name.toLowerCase());
