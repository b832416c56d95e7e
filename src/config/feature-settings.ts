import { flag, group, text, whole } from './setting.ts';

const code = (standard: string, about: string) =>
  text({ default: standard, pattern: '^[0-9A-D*#]{0,11}$', description: `${about} Empty: none.` });

/** The section `features`. */
export const features = group(
  {
    blindxfer: code('#1', 'Blind transfer: the other party goes to the number dialed next (Dial with t or T).'),
    atxfer: code(
      '*2',
      'Attended transfer: calls the number dialed next while the other party hears music (Dial with t or T).',
    ),
    atxfercomplete: code('*2', 'Completes an attended transfer, during the consultation call or before it.'),
    atxferabort: code('*1', 'Ends the consultation call and returns to the other party.'),
    disconnect: code('*0', 'Ends the call (Dial with h or H).'),
    automon: code('*1', 'Starts and stops recording the call (Dial with w or W).'),
    automixmon: code('*3', 'Starts and stops recording the call (Dial with x or X).'),
    digit_timeout: whole(1, 60_000, {
      default: 1_000,
      unit: 'ms',
      description: 'Longest time between two keys of a code. Keys that match no code are then sent to the other party.',
    }),
    transfer_digit_timeout: whole(1, 60_000, {
      default: 3_000,
      unit: 'ms',
      description: 'Longest time before the first digit of a transfer target, and between two digits.',
    }),
    transfer_attempts: whole(1, 100, {
      default: 3,
      unit: 'numbers',
      description: 'Wrong numbers that may be dialed before the party returns to its call.',
    }),
    transfer_no_answer_timeout: whole(1, 3_600_000, {
      default: 15_000,
      unit: 'ms',
      description: 'Time that the target of atxfer rings.',
    }),
    recording_beep: flag({
      default: false,
      description: 'Whether both parties hear a beep when a recording of their call starts.',
    }),
  },
  'Feature keys in calls, if the options of Dial allow them. Up to 11 keys each; "" turns one off.',
);
