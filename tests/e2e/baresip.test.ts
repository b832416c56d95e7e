import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { untilAudioFlows } from '../support/audio-flow.ts';
import { startBaresip, tell } from '../support/baresip.ts';
import { piecesOf, toneSettings } from '../support/baresip-audio.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { onServer } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

const phones = suite('baresip, a phone that nobody wrote for these tests');

need('baresip').test(phones, 'it registers, answers OPTIONS, is called, talks and is hung up', async (program) => {
  const endpoints = {
    alice: {
      auth: { username: 'alice', password: 'wonderland' },
      aor: { qualify_frequency: 60, qualify_timeout: 60 },
    },
  };
  await onServer({ endpoints }, async (server) => {
    const app = await server.app('desk', { subscribeAll: true });
    const { phone, ended } = await startBaresip(program, server, 'alice');

    const reachable = await app.waitFor(
      'ContactStatusChange',
      ({ contact_info }) => contact_info.contact_status === 'Reachable',
    );
    assert.is(reachable.contact_info.aor, 'alice');
    assert.ok(Number(reachable.contact_info.roundtrip_usec) > 0, 'its answer took some time');

    const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
    await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
    await app.ok('POST', `/channels/${id}/play?media=sound:hello-world`);
    await app.waitFor('PlaybackFinished', ({ playback }) => playback.state === 'done');
    await untilAudioFlows(app, id);
    await app.ok('DELETE', `/channels/${id}`);
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);

    // Told to end it unregisters, as a phone does that is switched off.
    phone.kill('SIGTERM');
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.contact_status === 'Removed');
    await ended;
  });
});

need('baresip').test(phones, 'two of them call each other by number, without any application', async (program) => {
  const phone = (name: string) => ({ auth: { username: name, password: 'wonderland' }, aor: {} });
  const dialplan = { default: { '201': ['Dial(PJSIP/alice)'], '202': ['Dial(PJSIP/bob)'] } };
  await onServer({ dialplan, endpoints: { alice: phone('alice'), bob: phone('bob') } }, async (server) => {
    const watcher = await server.app('watcher', { subscribeAll: true });
    await startBaresip(program, server, 'bob');
    await watcher.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'bob');
    await startBaresip(program, server, 'alice', { command: `/dial sip:202@${server.sip()}` });
    const { bridge, channel } = await watcher.waitFor(
      'ChannelEnteredBridge',
      (event) => event.bridge.channels.length === 2,
    );
    assert.is(bridge.bridge_class, 'basic');
    assert.match(channel?.name ?? '', /^PJSIP\/bob-/);
    // Each hears the other: what one sends goes out to the other, until enough was counted.
    const figures = (id: string) =>
      watcher.ok<{ rxcount: number; txcount: number }>('GET', `/channels/${id}/rtp_statistics`);
    const enough = async (id: string): Promise<void> => {
      for (let seen = await figures(id); seen.rxcount < 20 || seen.txcount < 20; ) seen = await figures(id);
    };
    for (const id of bridge.channels) await enough(id);
    const [alice = '', bob = ''] = bridge.channels;
    const seen = await watcher.ok<{ connected: { number: string } }>('GET', `/channels/${alice}`);
    assert.is(seen.connected.number, '202');
    await watcher.ok('DELETE', `/channels/${bob}`);
    await watcher.waitFor('BridgeDestroyed');
    await watcher.waitFor('ChannelDestroyed', ({ channel: gone }) => gone.id === alice);
  });
});

need('baresip').test(
  phones,
  'two of them talk in a bridge of an application, one in G.722, one in Opus; who is held hears music',
  async (program) => {
    const pitch = { alice: 400, bob: 700 } as const;
    const phone = (name: string, codec: string) => ({
      auth: { username: name, password: 'wonderland' },
      aor: {},
      codecs: [codec],
    });
    const endpoints = { alice: phone('alice', 'g722'), bob: phone('bob', 'opus') };
    await onServer({ endpoints, media: { codecs: ['opus', 'g722', 'ulaw'] } }, async (server) => {
      const app = await server.app('desk', { subscribeAll: true });
      const control = await freePort();
      const start = (name: 'alice' | 'bob', codec: string, shape: { rate: number; channels: number }) =>
        startBaresip(program, server, name, {
          more: (directory) => {
            return [
              ...toneSettings(directory, pitch[name], shape),
              `module ${codec}.so`,
              ...(name === 'alice' ? ['module_app ctrl_tcp.so', `ctrl_tcp_listen 127.0.0.1:${control}`] : []),
            ];
          },
        });
      const alice = await start('alice', 'g722', { rate: 16_000, channels: 1 });
      const bob = await start('bob', 'opus', { rate: 48_000, channels: 2 });
      await app.ok('POST', '/bridges/room?type=mixing');
      for (const name of ['alice', 'bob']) {
        await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === name);
        await app.ok('POST', `/channels?endpoint=PJSIP/${name}&app=desk&channelId=${name}`);
        await app.waitFor('StasisStart', ({ channel }) => channel.id === name);
        await app.ok('POST', `/bridges/room/addChannel?channel=${name}`);
      }
      const received = async (id: string) =>
        (await app.ok<{ rxcount: number }>('GET', `/channels/${id}/rtp_statistics`)).rxcount;
      const pass = async (packets: number): Promise<void> => {
        const until = (await received('bob')) + packets;
        await untilAsked(
          async () => (await received('bob')) >= until,
          () => 'bob says nothing',
        );
      };
      await pass(75);
      await tell(control, 'hold');
      await app.waitFor('ChannelHold', ({ channel }) => channel.id === 'alice');
      await pass(75);
      for (const name of ['alice', 'bob']) {
        await app.ok('DELETE', `/channels/${name}`);
        await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === name);
      }
      await app.ok('DELETE', '/bridges/room');
      for (const { phone: program, ended } of [alice, bob]) {
        program.kill('SIGTERM');
        await ended;
      }
      const tones = Object.values(pitch);
      const [byAlice, byBob] = [piecesOf(alice.directory, tones), piecesOf(bob.directory, tones)];
      assert.ok(byAlice.includes('700') && !byAlice.some((heard) => heard.includes('400')), byAlice.join());
      assert.ok(byBob.includes('400') && !byBob.some((heard) => heard.includes('700')), byBob.join());
      // When the tone has ended there is the music of the hold and nothing else, but for gaps of a machine with much to do.
      const afterwards = byBob.slice(byBob.lastIndexOf('400') + 1).filter((heard) => heard !== 'nothing');
      assert.equal([...new Set(afterwards)], ['other'], byBob.join());
    });
  },
);

need('baresip').test(phones, 'it puts whoever calls it through to somebody else', async (program) => {
  const carolsPort = await freePort();
  const endpoints = {
    anonymous: { match: ['127.0.0.1'] },
    alice: { auth: { username: 'alice', password: 'wonderland' }, aor: {} },
    carol: { aor: { contacts: [`sip:carol@127.0.0.1:${carolsPort}`] } },
  };
  const dialplan = { default: { '100': ['Dial(PJSIP/alice)'], '300': ['Dial(PJSIP/carol)'] } };
  await onServer({ endpoints, dialplan }, async (server) => {
    const app = await server.app('desk', { subscribeAll: true });
    const control = await freePort();
    await startBaresip(program, server, 'alice', {
      more: () => [...['module_app ctrl_tcp.so', `ctrl_tcp_listen 127.0.0.1:${control}`]],
    });
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'alice');
    const caller = server.closing(await Phone.open('4711', server.sip()));
    const carol = server.closing(await Phone.open('carol', server.sip(), carolsPort));
    await caller.call('100');
    await tell(control, 'transfer', `sip:300@${server.sip()}`);
    await carol.answered();
    const told = await app.waitFor('BridgeBlindTransfer');
    assert.equal([told.result, told.exten, told.channel.name.startsWith('PJSIP/alice-')], ['Success', '300', true]);
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === told.channel.id);
    caller.audio.hum(400);
    carol.audio.hum(700);
    await Promise.all([caller.audio.hears([700], [400, 700]), carol.audio.hears([400], [400, 700])]);
    carol.hangup();
    await caller.over();
  });
});

need('baresip').test(phones, 'it is called back where it hangs up because its transfer has failed', async (program) => {
  const carolsPort = await freePort();
  const endpoints = {
    anonymous: { match: ['127.0.0.1'] },
    alice: { auth: { username: 'alice', password: 'wonderland' }, aor: {} },
    carol: { aor: { contacts: [`sip:carol@127.0.0.1:${carolsPort}`] } },
  };
  const dialplan = { default: { '100': ['Dial(PJSIP/alice)'], '300': ['Dial(PJSIP/carol)'] } };
  await onServer({ endpoints, dialplan }, async (server) => {
    const app = await server.app('desk', { subscribeAll: true });
    const control = await freePort();
    await startBaresip(program, server, 'alice', {
      more: () => [...['module_app ctrl_tcp.so', `ctrl_tcp_listen 127.0.0.1:${control}`]],
    });
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'alice');
    const caller = server.closing(await Phone.open('4711', server.sip()));
    const carol = server.closing(await Phone.open('carol', server.sip(), carolsPort));
    carol.refuses = '486 Busy Here';
    await caller.call('100');
    const first = await app.waitFor('ChannelStateChange', ({ channel }) =>
      /alice.*Up/.test(channel.name + channel.state),
    );
    await tell(control, 'transfer', `sip:300@${server.sip()}`);
    // baresip answers a NOTIFY of a failure with BYE.
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === first.channel.id);
    const again = await app.waitFor(
      'ChannelEnteredBridge',
      ({ channel }) => channel?.id !== first.channel.id && channel?.name.startsWith('PJSIP/alice-') === true,
    );
    await app.waitFor('ChannelLeftBridge', ({ channel }) => channel.id === first.channel.id);
    const bridge = await app.ok<{ channels: string[] }>('GET', `/bridges/${again.bridge.id}`);
    assert.is(bridge.channels.length, 2);
    caller.audio.hum(400);
    await untilAudioFlows(app, again.channel!.id);
    caller.hangup();
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === again.channel!.id);
  });
});

phones.run();
