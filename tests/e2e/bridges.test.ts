import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encode } from '../../src/media/codec/codecs.ts';
import { need } from '../support/need.ts';
import { assertContinuous, holds, prompt } from '../support/rtp-audio.ts';
import { RtpPeer } from '../support/rtp-peer.ts';
import { onServer } from '../support/server.ts';
import { answered, SippRun } from '../support/sipp.ts';

const calls = suite('phones in a bridge');

need('sipp').test(
  calls,
  'two phones that an application bridges hear each other, and are recorded together',
  (program) =>
    onServer(
      { dialplan: { default: { '_X.': ['Stasis(desk)'] } }, endpoints: { anonymous: { match: ['127.0.0.1'] } } },
      async (server) => {
        const app = await server.app('desk');
        const entered: string[] = [];
        const enter = async () => {
          const peer = server.closing(await RtpPeer.open());
          const phone = server.closing(
            new SippRun(program, {
              remote: server.sip(),
              service: '100',
              steps: answered(peer.port),
            }),
          );
          const { channel } = await app.waitFor('StasisStart', (event) => !entered.includes(event.channel.id));
          entered.push(channel.id);
          await app.ok('POST', `/channels/${channel.id}/answer`);
          // Whoever has heard something knows where to speak to.
          const played = await app.ok<{ id: string }>('POST', `/channels/${channel.id}/play?media=sound:beep`);
          await app.waitFor('PlaybackFinished', (event) => event.playback.id === played.id);
          await peer.until(() => peer.packets.length > 0, 'the beep');
          return { id: channel.id, peer, phone };
        };
        const [first, second] = [await enter(), await enter()];
        await app.ok('POST', '/bridges/b1?type=mixing');
        await app.ok('POST', `/bridges/b1/addChannel?channel=${first.id},${second.id}`);
        const said = prompt('hello-world');
        // In whole packets.
        const octets = Buffer.alloc(Math.ceil(said.length / 160) * 160, 0xff);
        octets.set(encode('ulaw', said));
        for (const [speaker, listener] of [
          [first, second],
          [second, first],
        ] as const) {
          // Again until all of it was heard: what a busy machine lets come too late is left out of a mix.
          speaker.peer.repeat(0, octets);
          await listener.peer.until(() => holds(listener.peer.words(), said), 'what the other says');
          speaker.peer.hush();
          assertContinuous(listener.peer.packets);
        }
        const begun = performance.now();
        await app.ok('POST', '/bridges/b1/record?name=both&format=wav');
        await app.waitFor('RecordingStarted');
        await first.peer.speak(octets);
        await app.ok('POST', '/recordings/live/both/stop');
        const { recording } = await app.waitFor('RecordingFinished');
        const most = Math.ceil((performance.now() - begun) / 1000);
        const { duration = -1 } = recording;
        assert.ok(duration >= 0 && duration <= most, `${duration} of ${most} s`);
        await app.ok('DELETE', '/bridges/b1');
        for (const { id, phone } of [first, second]) {
          await app.ok('DELETE', `/channels/${id}`);
          await phone.done;
        }
      },
    ),
);

calls.run();
