import { closeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import { type MediaThread, startWorker } from '../../src/media/start-worker.ts';
import { openLink } from '../../src/native/descriptor-link.ts';
import { loadHandoverCalls } from '../../src/native/handover-calls.ts';
import { newInheritedTable } from '../../src/native/inherited.ts';
import type { MediaReport, MediaRest, MediaSessionDump } from '../../src/telephony/media.ts';
import { Phone } from './socket-phone.ts';
import { memoryLogger } from './support.ts';

/** Audio that goes on in one plane until another one, of the next process, takes it over. */
const calls = await loadHandoverCalls();
const sounds = fileURLToPath(new URL('../../sounds', import.meta.url));
const config = { ...defaultMediaConfig, threads: 1, ports: { first: 0, last: 0 }, soundsDirectories: [sounds] };
const clear = { marker: false, payloadType: 0, ssrc: 7, payload: new Array(160).fill(0x10) };
const tone = { uri: 'tone:440/600000', language: 'en', offsetMs: 0 };

/** A plane whose thread ends with it, whether or not it stands still. */
function openPlane(follows: boolean) {
  const threads: MediaThread[] = [];
  const startThread: typeof startWorker = (start) => {
    const thread = startWorker(start);
    threads.push(thread);
    return thread;
  };
  const { link, other } = openLink(calls);
  const supervised = { link: link.descriptor, inherited: newInheritedTable(), inherit: () => {}, follows };
  const plane = createMediaPlane({ config, clock: systemClock, log: memoryLogger(), startThread, supervised });
  const close = async (): Promise<void> => {
    const closed = plane.close();
    await Promise.all(threads.map((thread) => thread.terminate()));
    await closed;
    for (const descriptor of [link.descriptor, other]) closeSync(descriptor);
  };
  return { plane, close };
}

/** As it comes to the next process, whose ports are others here. */
const passed = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const elsewhere = ({ local: _, ...dump }: MediaSessionDump): MediaSessionDump => passed(dump);

test('streams go on while nobody listens to their thread, and in the next plane without a gap or a digit lost', async () => {
  const [first, second] = [openPlane(false), openPlane(true)];
  const [echoing, listening] = [await Phone.bind(), await Phone.bind()];
  const told: MediaReport[] = [];
  try {
    const heard = (report: MediaReport): void => void told.push(report);
    const session = await first.plane.openRtp('a', heard);
    echoing.configure(session);
    session.echo(true);
    let sequence = 0;
    const echoes = async (to = session): Promise<void> => {
      const before = echoing.heard.length;
      echoing.send(to, { ...clear, sequence: ++sequence, timestamp: sequence * 160 });
      await echoing.hears((all) => all.length > before);
    };
    const playing = await first.plane.openRtp('b', () => {});
    listening.configure(playing);
    playing.play(tone, () => {});
    await Promise.all([echoes(), listening.hears((all) => all.length > 3)]);
    const dumps = [session.dump(), playing.dump()].map(elsewhere) as [MediaSessionDump, MediaSessionDump];

    await first.plane.linger!();
    const before = listening.heard.length;
    const digit = { payloadType: 101, timestamp: ++sequence * 160, payload: [5, 0x8a, 3, 32] };
    echoing.send(session, { ...clear, ...digit, marker: true, sequence });
    await Promise.all([echoes(), listening.hears((all) => all.length > before + 3)]);
    const rest: MediaRest = passed(first.plane.halt!());
    assert.equal(told, [], 'nobody hears of it here');
    assert.equal(
      rest.reports.map(([id, report]) => [id, report.type]),
      [['a', 'digit']],
    );

    const again = await Promise.all(dumps.map((dump) => second.plane.reopenRtp(dump, heard)));
    const from = dumps[1].item!;
    again[1]!.play({ ...from.item, heardMs: from.positionMs }, () => {});
    await second.plane.prepared!();
    second.plane.goOn!(rest);
    assert.equal(told, [{ type: 'media.digit', digit: '5', durationMs: 100 }]);
    await echoes(again[0]);
    const counted = listening.heard.length;
    await listening.hears((all) => all.length > counted + 3);
    for (const { heard: packets } of [echoing, listening]) {
      assert.is(new Set(packets.map(({ ssrc }) => ssrc)).size, 1);
      assert.equal(
        packets.map((packet) => (packet.sequence - packets[0]!.sequence) & 0xffff),
        packets.map((_, at) => at),
      );
    }
    const played = listening.heard.flatMap(({ payload }) => payload);
    // 440 Hz is the same again after 200 samples: nothing is left out or heard twice.
    assert.equal(played.slice(200), played.slice(0, -200));
  } finally {
    await Promise.all([first.close(), second.close()]);
    for (const { socket } of [echoing, listening]) socket.close();
  }
});

test.run();
