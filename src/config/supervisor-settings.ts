import { flag, group, number, whole } from './setting.ts';

/** The settings of the parent process that starts the server again (`serve --supervised`). */
export const supervisor = group(
  {
    start_timeout: number(1, 3_600, {
      default: 60,
      unit: 's',
      description: 'How long a start may take before the process is killed and started again.',
    }),
    steady: number(0.1, 3_600, {
      default: 10,
      unit: 's',
      description: 'A server that ran this long did not crash at once: it is started again without a pause.',
    }),
    pause: number(0.01, 3_600, {
      default: 0.2,
      unit: 's',
      description: 'Pause after the second crash at once. Each further crash doubles it.',
    }),
    longest_pause: number(0.01, 3_600, {
      default: 30,
      unit: 's',
      description: 'Longest pause between two starts.',
    }),
    crashes: whole(1, 1_000_000, {
      default: 20,
      unit: 'crashes',
      description: 'Crashes at once, one after the other, after which the supervisor gives up and ends.',
    }),
    call_crashes: whole(1, 1_000, {
      default: 3,
      unit: 'crashes',
      description:
        'Crashes while the same call was worked on, after which that call is not taken up again. What was known of it is written to the directory crashes of the data directory.',
    }),
    leave_timeout: number(0.1, 60, {
      default: 5,
      unit: 's',
      description:
        'How long a server may take to hand its calls to the next version before it is killed. A server whose calls are moved to another node (`hookswitch drain --move`) ends so long afterwards.',
    }),
    standby: flag({
      default: true,
      description:
        'Keeps a second process prepared: its code is loaded, and behind a crash it goes on with the calls at once. It has restored calls of its own once, so that it restores those of the server fast. It takes about 160 MB of memory, most of it its own, and no CPU while it waits.',
    }),
    claim_timeout: number(0.1, 3_600, {
      default: 10,
      unit: 's',
      description:
        'How long a server keeps sockets of the one before whose calls it has not taken up. Then it closes them.',
    }),
    sockets: whole(1, 1_000_000, {
      default: 100_000,
      unit: 'sockets',
      description:
        'Sockets that are held. Those that the present server has not taken up make room for others; a crash closes those beyond. A call has two, each listener one.',
    }),
  },
  'The parent process of `serve --supervised`. It reads these when a server starts.',
);
