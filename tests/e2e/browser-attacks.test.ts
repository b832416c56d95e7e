import { createSocket } from 'node:dgram';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { identityOf } from '../../src/media/webrtc/dtls-end.ts';
import { BrowserLeg } from '../support/browser-leg.ts';
import { BrowserPages } from '../support/browser-pages.ts';
import { certifiedKey } from '../support/dtls-client.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { onServer, password, type TestServer, type TestServerOptions, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

/** Far sides of WebRTC that are not who their description says, and what is seen of the keys of others. */
const attacks = suite('attacks on calls of browsers');
const chromium = need('chromium');

const settings: TestServerOptions = {
  http: { allowed_origins: ['*'] },
  media: { webrtc: { handshake_timeout: 2 } },
  recorder: { sip_bodies: true },
  logLevel: 'trace',
};

const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const baseOf = (server: TestServer): string => server.url.replace(/\/ari$/, '/hookswitch');

/** Offers; gives the answer and the session. */
async function call(server: TestServer, offer: string) {
  const response = await fetch(`${baseOf(server)}/webrtc?app=desk`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/sdp' },
    body: offer,
  });
  assert.is(response.status, 201);
  return { answer: await response.text(), session: response.headers.get('location')!.split('/').at(-1)! };
}

attacks('a certificate with another fingerprint than that of the offer gets no keys, and its call ends', () =>
  onServer(settings, async (server) => {
    const app = await server.app('desk');
    const leg = server.closing(await BrowserLeg.open());
    const thief = server.closing(await BrowserLeg.open(identityOf(certifiedKey('thief'))));
    const { answer } = await call(server, leg.offer());
    const { channel } = await app.waitFor('StasisStart');
    // Who has read the description can answer checks, but not prove the certificate.
    thief.begin(answer);
    await thief.refused();
    assert.equal(thief.alerts[0], [2, 40]);
    await app.waitFor('ChannelDestroyed', (event) => event.channel.id === channel.id);
  }),
);

attacks('the keys of a call are in no log, record, capture or bundle, and neither are the passwords of ICE', () =>
  onServer(settings, async (server) => {
    const app = await server.app('desk');
    const leg = server.closing(await BrowserLeg.open());
    const { answer, session } = await call(server, leg.offer());
    const { channel } = await app.waitFor('StasisStart');
    leg.begin(answer);
    await leg.connected();
    await app.ok('POST', `/channels/${channel.id}/answer`);
    const held = await fetch(`${baseOf(server)}/webrtc/sessions/${session}`, {
      method: 'PATCH',
      headers: { authorization, 'content-type': 'application/sdp' },
      body: leg.offer('sendonly'),
    });
    assert.is(held.status, 200);
    await app.waitFor('ChannelHold');
    await app.ok('DELETE', `/channels/${channel.id}`);
    await app.waitFor('ChannelDestroyed');
    const paths = ['', '.mmd', '.pcap', '/bundle'].map((part) => `/calls/${channel.id}${part}`);
    const shown = new Map<string, string>([
      [
        'log',
        server
          .lines()
          .map((line) => JSON.stringify(line))
          .join('\n'),
      ],
    ]);
    for (const path of [...paths, '/server', '/usage', '/calls', '/webrtc']) {
      const response = await fetch(`${baseOf(server)}${path}`, { headers: { authorization } });
      assert.is(response.status, 200, path);
      shown.set(path, Buffer.from(await response.arrayBuffer()).toString('latin1'));
    }
    const { local, remote } = leg.keys;
    const plain = (key: string): string => Buffer.from(key, 'base64').toString('latin1');
    const secret = {
      ...{ ours: local.key, theirs: remote.key, oursPlain: plain(local.key), theirsPlain: plain(remote.key) },
      ...{ ice: /^a=ice-pwd:(\S+)/m.exec(answer)![1]!, browserIce: leg.password },
    };
    const found = [...shown].flatMap(([where, text]) =>
      Object.entries(secret).flatMap(([name, value]) => (text.includes(value) ? [`${name} in ${where}`] : [])),
    );
    assert.equal(found, []);
    // What was looked through is there.
    assert.match(shown.get(`/calls/${channel.id}/bundle`)!, /WebRTC/);
    assert.ok(server.lines().length > 10, 'the log is a long one');
  }),
);

attacks('strangers at the port of all browsers are counted, cause no alarm, and leave a call as it is', async () => {
  const port = await freePort();
  await onServer({ ...settings, media: { webrtc: { udp_port: port } } }, async (server) => {
    const app = await server.app('desk');
    const leg = server.closing(await BrowserLeg.open());
    const { answer } = await call(server, leg.offer());
    const { channel } = await app.waitFor('StasisStart');
    leg.begin(answer);
    await leg.connected();
    await app.ok('POST', `/channels/${channel.id}/answer`);
    const stranger = server.closing(createSocket('udp4'));
    const send = (octets: Uint8Array) => new Promise((done) => stranger.send(octets, port, '127.0.0.1', done));
    for (let at = 0; at < 1_000; at++) await send(Buffer.alloc(172, at));
    const get = async (path: string) =>
      (await fetch(`${server.url.replace(/\/ari$/, '')}${path}`, { headers: { authorization } })).text();
    await untilAsked(
      async () => /limit="media\.webrtc\.udp_port"\} [1-9]/.test(await get('/metrics')),
      () => 'strangers are not counted',
    );
    const alarms = JSON.parse(await get('/hookswitch/alarms')) as { kind: string }[];
    assert.equal(
      alarms.filter(({ kind }) => kind === 'limit'),
      [],
    );
    const heard = new Promise<void>((resolve) => {
      leg.heard = () => resolve();
    });
    await app.ok('POST', `/channels/${channel.id}/play?media=tone:440/10000,0/10`);
    await heard;
    await app.ok('DELETE', `/channels/${channel.id}`);
  });
});

chromium.test(attacks, 'a browser does not talk to a server with another fingerprint than that of the answer', (path) =>
  onServer(settings, async (server) => {
    const app = await server.app('desk');
    const pages = server.closing(await BrowserPages.open(path, []));
    const page = await pages.page();
    const parts = [`${baseOf(server)}/webrtc?app=desk`, authorization].map((each) => JSON.stringify(each));
    const end = page.evaluate<string>(`(async (url, authorization) => {
      const connection = new RTCPeerConnection();
      connection.addTrack(ears.tone(440));
      await connection.setLocalDescription();
      const headers = { authorization, 'content-type': 'application/sdp' };
      const response = await fetch(url, { method: 'POST', headers, body: connection.localDescription.sdp });
      const sdp = (await response.text()).replace(/(a=fingerprint:sha-256 )(..)/g, (all, name, first) =>
        name + (first === 'AA' ? 'BB' : 'AA'));
      const failed = new Promise((resolve) => {
        connection.onconnectionstatechange = () =>
          ['connected', 'failed', 'closed'].includes(connection.connectionState) && resolve(connection.connectionState);
      });
      await connection.setRemoteDescription({ type: 'answer', sdp });
      return failed;
    })(${parts.join(', ')})`);
    const { channel } = await app.waitFor('StasisStart');
    assert.is(await end, 'failed');
    await app.waitFor('ChannelDestroyed', (event) => event.channel.id === channel.id);
  }),
);

attacks.run();
