import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type MemberMusicEvent, memberMusicMachine, memberMusicTable } from '../../src/machines/member-music.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: MemberMusicEvent['type'][]) => afterEvents(memberMusicTable, 'silent', ...types);
const chart = suite('music of a member chart');

chart('a bridge stops only the music that it has started', () => {
  assert.equal(after('music.stopped'), ['silent']);
  assert.equal(after('music.started'), ['playing', 'startMusic']);
  assert.equal(after('music.started', 'music.started'), ['playing', 'startMusic']);
  assert.equal(after('music.started', 'music.stopped'), ['silent', 'stopMusic']);
});

chart('the music of a bridge ends when the member leaves', () => {
  assert.equal(after('member.left'), ['left']);
  assert.equal(after('music.started', 'member.left'), ['left', 'stopMusic']);
  assert.equal(after('member.left', 'music.started'), ['left']);
});

chart('every state and every transition is reached', () => assertTableCovered(memberMusicMachine, 'silent'));

chart.run();
