import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import { untilAudioFlows } from '../support/audio-flow.ts';
import { freePort } from '../support/free-port.ts';
import { onServer } from '../support/server.ts';

const test = suite('servers that call each other as browsers do');

/**
 * Of two lite sides the answering one is full: it hears of the other. The calling one is the client of DTLS. `shared`: all calls
 * of a server have one UDP port.
 */
const sides = [
  ['full', 'full', '127.0.0.1'],
  ['full', 'full', '::1'],
  ['lite', 'full', '127.0.0.1'],
  ['full', 'lite', '127.0.0.1'],
  ['lite', 'lite', '127.0.0.1'],
  ['full', 'full', '127.0.0.1', 'shared'],
  ['lite', 'full', '::1', 'shared'],
] as const;

for (const [calling, called, address, ports = 'own'] of sides)
  test(`ICE ${calling} calls ICE ${called} at ${address} by ${ports} UDP ports: audio and digits pass both ways, also after hold`, async () => {
    const dialplan = { default: { 1000: ['Stasis(desk)'] } };
    const portFor = async () => (ports === 'shared' ? await freePort() : 0);
    const [theirs, ours] = [await portFor(), await portFor()];
    const here = { other: { match: ['127.0.0.1'], webrtc: true } };
    await onServer(
      { dialplan, endpoints: here, media: { rtp_address: address, webrtc: { ice: called, udp_port: theirs } } },
      async (callee) => {
        const there = { other: { webrtc: true, aor: { contacts: [`sip:1000@${callee.sip()}`] } } };
        await onServer(
          { endpoints: there, media: { rtp_address: address, webrtc: { ice: calling, udp_port: ours } } },
          async (caller) => {
            const [shop, desk] = [await caller.app('shop'), await callee.app('desk')];
            const made = await shop.ok<Channel>('POST', '/channels?endpoint=PJSIP/other&app=shop');
            const { channel } = await desk.waitFor('StasisStart');
            await desk.ok('POST', `/channels/${channel.id}/answer`);
            await shop.waitFor('StasisStart', (event) => event.channel.id === made.id);
            const ends = [
              { app: shop, id: made.id },
              { app: desk, id: channel.id },
            ] as const;
            const digitsPass = async (digit: string): Promise<void> => {
              for (const [from, to] of [ends, ends.toReversed()] as const) {
                const heard = to!.app.waitFor('ChannelDtmfReceived', (event) => event.digit === digit);
                await from!.app.ok('POST', `/channels/${from!.id}/dtmf?dtmf=${digit}`);
                assert.is((await heard).channel.id, to!.id);
              }
            };
            for (const { app, id } of ends) await app.ok('POST', `/channels/${id}/play?media=tone:ring`);
            for (const { app, id } of ends) await untilAudioFlows(app, id);
            await digitsPass('1');
            const held = desk.waitFor('ChannelHold');
            await shop.ok('POST', `/channels/${made.id}/hold`);
            await held;
            const unheld = desk.waitFor('ChannelUnhold');
            await shop.ok('DELETE', `/channels/${made.id}/hold`);
            await unheld;
            await digitsPass('2');
            await shop.ok('DELETE', `/channels/${made.id}`);
            await desk.waitFor('StasisEnd');
          },
        );
      },
    );
  });

test.run();
