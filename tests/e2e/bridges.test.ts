import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encode } from '../../src/media/codec/codecs.ts';
import { need } from '../support/need.ts';
import { assertContinuous, assertHears, prompt } from '../support/rtp-audio.ts';
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
        const octets = Buffer.from(encode('ulaw', said));
        for (const [speaker, listener] of [
          [first, second],
          [second, first],
        ] as const) {
          const before = listener.peer.audio().length;
          await speaker.peer.speak(octets);
          const heard = () => listener.peer.audio().subarray(before);
          await listener.peer.until(() => heard().length >= said.length, 'what the other says');
          const from = heard().length - Math.ceil(said.length / 160) * 160;
          assertHears(heard().subarray(from), said);
          assertContinuous(listener.peer.packets);
        }
        await app.ok('POST', '/bridges/b1/record?name=both&format=wav');
        await app.waitFor('RecordingStarted');
        await first.peer.speak(octets);
        await app.ok('POST', '/recordings/live/both/stop');
        const { recording } = await app.waitFor('RecordingFinished');
        const seconds = said.length / 8000;
        assert.ok(Math.abs((recording.duration ?? 0) - seconds) <= 1, `${recording.duration} of ${seconds} s`);
        await app.ok('DELETE', '/bridges/b1');
        for (const { id, phone } of [first, second]) {
          await app.ok('DELETE', `/channels/${id}`);
          await phone.done;
        }
      },
    ),
);

calls.run();
