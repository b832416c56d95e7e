import { setup } from 'xstate';
import { effect } from './effect.ts';
import type { Ignores } from './ignores.ts';
import { plainTable } from './plain-table.ts';
import type { TableRun } from './table-run.ts';

/** `Member` is the type of a channel in a bridge. */
export type MemberMusicEvent<Member = unknown> =
  | { type: 'music.started'; member: Member; musicClass: string }
  | { type: 'music.stopped'; member: Member }
  | { type: 'member.left'; member: Member };

const effects = { startMusic: effect('startMusic'), stopMusic: effect('stopMusic') };
const music = setup({ types: { events: {} as MemberMusicEvent }, actions: effects });

const start = { target: 'playing', actions: 'startMusic' } as const;

/** The music on hold that a bridge plays to one member. Music of anybody else stays when the bridge stops its own. */
export const memberMusicMachine = music.createMachine({
  id: 'memberMusic',
  initial: 'silent',
  states: {
    silent: { on: { 'music.started': start, 'member.left': 'left' } },
    playing: {
      on: {
        'music.started': start,
        'music.stopped': { target: 'silent', actions: 'stopMusic' },
        'member.left': { target: 'left', actions: 'stopMusic' },
      },
    },
    left: { type: 'final' },
  },
});

/** What it ignores, and why. */
export const memberMusicIgnores: Ignores<typeof memberMusicMachine> = [
  { events: ['music.stopped'], in: ['silent'], why: 'the bridge plays nothing to the member' },
];

type MemberMusicEffect = keyof typeof effects;

/** The chart as a table, and what runs it. */
export const memberMusicTable = plainTable<typeof memberMusicMachine, MemberMusicEffect>(memberMusicMachine);
export type MemberMusicRun<Member> = TableRun<
  keyof typeof memberMusicTable,
  MemberMusicEvent<Member>,
  MemberMusicEffect
>;
