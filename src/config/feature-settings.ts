import { flag, group, text, whole } from './setting.ts';

const code = (standard: string, about: string) =>
  text({ default: standard, pattern: '^[0-9A-D*#]{0,11}$', description: `${about} Empty: none.` });

/** The section `features`. */
export const features = group(
  {
    blindxfer: code(
      '#1',
      'Keys that put the other party through to the number that is dialed then (Dial with t or T).',
    ),
    atxfer: code(
      '*2',
      'Keys that call the number that is dialed then, to talk there before the other party is put through to it (Dial with t or T).',
    ),
    atxfercomplete: code('*2', 'Keys that put the other party through, in such a talk or before it.'),
    atxferabort: code('*1', 'Keys that end it and lead back to the other party.'),
    disconnect: code('*0', 'Keys that end the call (Dial with h or H).'),
    automon: code('*1', 'Keys that record the call, and end that (Dial with w or W).'),
    automixmon: code('*3', 'The same (Dial with x or X).'),
    digit_timeout: whole(1, 60_000, {
      default: 1_000,
      unit: 'ms',
      description:
        'Longest time between two keys of a code; keys that become none are pressed for the other party then.',
    }),
    transfer_digit_timeout: whole(1, 60_000, {
      default: 3_000,
      unit: 'ms',
      description: 'Longest time until the first key of a number to put through to, and between two of them.',
    }),
    transfer_attempts: whole(1, 100, {
      default: 3,
      unit: 'numbers',
      description: 'Numbers that may be dialed in vain before the party is back in its call.',
    }),
    transfer_no_answer_timeout: whole(1, 3_600_000, {
      default: 15_000,
      unit: 'ms',
      description: 'How long a number is called by atxfer.',
    }),
    recording_beep: flag({
      default: false,
      description: 'Whether both parties hear a beep when their call begins to be recorded.',
    }),
  },
  'What parties of a call may ask for by keys, where the options of Dial allow it.',
);
