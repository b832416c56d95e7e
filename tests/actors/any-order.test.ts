import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hangupAll } from '../../src/actors/channels.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { type Act, contexts, ids, perform, roughScenario } from '../support/call-acts.ts';
import { createCallControl, settled } from '../support/call-control.ts';

/**
 * Channels, bridges, playbacks, recordings, snoops, external media, video, transfers and offered calls together, with anything
 * done to them in any order.
 */
const test = suite('a whole system, whatever is done to it');

/** Each has called, and there is a bridge of each type. */
const begun: readonly Act[] = [
  ...(['bridge', 'holding', 'sfu'] as const).map((kind, index) => ({
    kind,
    id: ids[index]!,
    other: ids[index]!,
    ms: 1,
  })),
  ...ids.map((id) => ({ kind: 'callApp', id, other: id, ms: 1 })),
];

function world() {
  const w = createCallControl({ contexts });
  const { events } = w.connect('all', true);
  w.connect(['app', 'other', 'desk']);
  /** Every leg that there was. */
  const all = new Set([...w.legs.values()]);
  const keep = w.legs.set.bind(w.legs);
  w.legs.set = (id, leg) => {
    all.add(leg);
    return keep(id, leg);
  };
  return { ...w, events, all };
}

type World = ReturnType<typeof world>;

/** What holds at any moment. */
function check({ bridges: owner, channels: all, meeting }: World): void {
  const members = owner.list().flatMap((bridge) => bridge.channels);
  assert.is(new Set(members).size, members.length, 'a channel is in one bridge at most');
  for (const id of members) assert.ok(all.find(id), `${id} is in a bridge and no more`);
  for (const { id, channels: inside } of owner.list())
    assert.equal(
      [...(meeting.mixes.findLast((mix) => mix.id === id)?.sessions.keys() ?? [])].sort(),
      [...inside].sort(),
    );
}

const idOf = (event: AriEvent): string | undefined => {
  if ('playback' in event) return `playback ${event.playback.id}`;
  return 'recording' in event ? `recording ${event.recording.name}` : undefined;
};

/** Whatever began ended once, and nothing ended or went on that had not begun. */
function checkEnds(events: readonly AriEvent[]): void {
  const open = new Set<string>();
  const ended = new Set<string>();
  for (const event of events) {
    const id = idOf(event);
    if (id === undefined) continue;
    if (event.type.endsWith('Started')) {
      open.add(id);
      ended.delete(id);
    } else if (event.type.endsWith('Finished') || event.type.endsWith('Failed')) {
      open.delete(id);
      // A recording that fails has not always started.
      if ('playback' in event) assert.not(ended.has(id), `${id} ended twice`);
      ended.add(id);
    }
  }
  assert.equal([...open], [], 'what began has ended');
}

/** Who entered a bridge left it, in turns. */
function checkStays(events: readonly AriEvent[]): void {
  const where = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'ChannelEnteredBridge') {
      assert.is(where.get(event.channel?.id ?? ''), undefined, 'entered while in another');
      where.set(event.channel?.id ?? '', event.bridge.id);
    } else if (event.type === 'ChannelLeftBridge') {
      assert.is(where.get(event.channel.id), event.bridge.id, 'left where it was');
      where.delete(event.channel.id);
      assert.not(event.bridge.channels.includes(event.channel.id));
    } else if (event.type === 'StasisEnd')
      assert.is(where.get(event.channel.id), undefined, 'left the application first');
  }
  assert.equal([...where], []);
}

test('a channel is in one bridge at most, what began ends once, and nothing is left when all hung up', async () => {
  await fc.assert(
    fc.asyncProperty(roughScenario, async (story) => {
      const w = world();
      for (const act of [...begun, ...story]) {
        perform(w, act);
        await settled();
        check(w);
      }
      hangupAll(w.channels, 16);
      await settled();
      // Connections that no server took in time, and channels that came of those that one did.
      w.clock.advance(3_000);
      await settled();
      hangupAll(w.channels, 16);
      for (const { id } of w.bridges.list()) w.bridgeOperations.destroy(id);
      w.clock.advance(10_000);
      await settled();
      for (const mix of w.meeting.mixes) for (const recorder of mix.recorders) recorder.finish();
      await settled();
      assert.equal(
        [w.channels.size, w.bridges.size, w.recordings.size, w.playbacks.size, w.broadcasts.size],
        [0, 0, 0, 0, 0],
      );
      assert.is(w.audio.size, 0, 'nobody hears music any more');
      for (const { calls } of w.all)
        assert.is(calls.filter((call) => call === 'release').length, 1, 'every leg is let go of once');
      for (const mix of w.meeting.mixes) assert.is(mix.closed, true);
      assert.equal([w.outside.connections.size, w.servers.size], [0, 0], 'no connection is left');
      checkEnds(w.events);
      checkStays(w.events);
    }),
    { numRuns: 100 },
  );
});

test.run();
