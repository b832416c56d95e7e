import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';

/** `Callee` is the type of a called party. */
export type EarlyAudioEvent<Callee = unknown> =
  /** A called party has early media. */
  | { type: 'callee.audible'; callee: Callee }
  /** A called party rings. */
  | { type: 'callee.rings' }
  /** The heard party has ended or is no longer wanted. */
  | { type: 'heard.over' }
  | { type: 'dial.over' };

const effects = {
  /** Connects the caller with the early media. */
  hearCallee: effect('hearCallee'),
  /** Ends early media. */
  hearNobody: effect('hearNobody'),
  /** Signals ringing to the caller. */
  tellRinging: effect('tellRinging'),
  /** The same, unless the caller is up and would hear a tone instead of early media. */
  tellRingingBeforeAnswer: effect('tellRingingBeforeAnswer'),
};
const audio = setup({ types: { events: {} as EarlyAudioEvent }, actions: effects });

/** What the caller of a Dial hears before the answer. Ringing is signalled once. */
export const earlyAudioMachine = audio.createMachine({
  id: 'earlyAudio',
  initial: 'quiet',
  states: {
    quiet: {
      on: {
        'callee.audible': { target: 'hearing', actions: 'hearCallee' },
        'callee.rings': { target: 'ringing', actions: 'tellRinging' },
        'dial.over': 'over',
      },
    },
    ringing: { on: { 'callee.audible': { target: 'hearingAndRinging', actions: 'hearCallee' }, 'dial.over': 'over' } },
    /** Early media of a called party. */
    hearing: {
      on: {
        'callee.rings': { target: 'hearingAndRinging', actions: 'tellRingingBeforeAnswer' },
        'heard.over': { target: 'quiet', actions: 'hearNobody' },
        'dial.over': { target: 'over', actions: 'hearNobody' },
      },
    },
    hearingAndRinging: {
      on: {
        'heard.over': { target: 'ringing', actions: 'hearNobody' },
        'dial.over': { target: 'over', actions: 'hearNobody' },
      },
    },
    over: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const earlyAudioIgnores: Ignores<typeof earlyAudioMachine> = [
  { events: ['callee.audible'], in: ['hearing', 'hearingAndRinging'], why: 'the first called party is audible' },
  { events: ['callee.rings'], in: ['ringing', 'hearingAndRinging'], why: 'ringing was signalled' },
  { events: ['heard.over'], in: ['quiet', 'ringing'], why: 'no party is heard' },
];

export type EarlyAudioEffect = keyof typeof effects;

/** The chart as a table. */
export const earlyAudioTable = plainTable<typeof earlyAudioMachine, EarlyAudioEffect>(earlyAudioMachine);
