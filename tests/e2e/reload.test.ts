import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import type { Config } from '../../src/config/schema.ts';
import { writeBindingResponse } from '../../src/lib/stun.ts';
import type { CallDetail } from '../../src/models/call.ts';
import type { LiveOverview } from '../../src/models/live.ts';
import { anybody, createPhone, trunkTo } from '../drivers/sip/support.ts';
import { AriClient } from '../support/ari-client.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { DnsServer } from '../support/dns-server.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { registerPhone } from '../support/register.ts';
import { onServer, type TestServer } from '../support/server.ts';
import { untilAsked, untilFound } from '../support/waiting.ts';

const reloading = suite('a configuration that is read anew');

const dialplan = {
  default: { s: ['Answer', 'Stasis(app,old)', 'Stasis(app,old again)'], '1000': ['Answer', 'Wait(3600)'] },
};
const portOf = (server: TestServer) => ({ port: Number(server.sip().split(':').at(-1)) });

/** Changes a copy of the configuration in force, and has the server take it up. */
function change(server: TestServer, edit: (config: Config) => void) {
  const next = structuredClone(server.config);
  edit(next);
  return server.running.reload(next);
}

reloading('phones, users, limits and dialplan follow, and a call that is up goes on as it was', async () => {
  const endpoints = {
    alice: { auth: { username: 'alice', password: 'old' } },
    bob: { auth: { username: 'bob', password: 'secret' } },
  };
  await onServer({ dialplan, endpoints }, async (server) => {
    const app = await server.app('app', { subscribeAll: true });
    const phone = await createPhone({ config: { endpoints: [anybody] } });
    try {
      const register = (name: string, password: string) =>
        registerPhone(phone, portOf(server), { user: name, username: name, password });
      assert.is(await register('alice', 'old'), 200);
      await app.ok('POST', '/channels/c1?endpoint=Local/s@default&app=app&otherChannelId=c2');
      const entered = await app.waitFor('StasisStart', ({ channel }) => channel.id === 'c2');
      assert.equal(entered.args, ['old']);

      const report = change(server, (next) => {
        next.sip.endpoints['alice']!.auth!.password = 'new';
        delete next.sip.endpoints['bob'];
        next.sip.endpoints['carol'] = structuredClone(next.sip.endpoints['alice']!);
        next.sip.endpoints['carol'].auth = { username: 'carol', password: 'secret' };
        next.http.users.push({ name: 'second', password: 'door', read_only: true, may_register: false });
        next.http.limits.body = 2_000;
        next.sip.limits.source_rate = 7;
        next.sip.limits.connections = 17;
        next.dialplan['default']!['s'] = ['Answer', 'NoOp', 'Stasis(app,new)'];
        next.general.system_name = 'elsewhere';
        next.general.channelvars = ['SHOWN', 'CHANNEL(exten)'];
        next.http.allowed_origins = ['https://desk.example'];
      });
      assert.equal(report, {
        applied: [
          'general.channelvars',
          'http.allowed_origins',
          'http.users',
          'http.limits.body',
          'sip.limits.source_rate',
          'sip.endpoints.alice',
          'sip.endpoints.bob',
          'sip.endpoints.carol',
          'dialplan.default.s',
        ],
        needRestart: ['general.system_name', 'sip.limits.connections'],
      });

      assert.is(await register('alice', 'old'), 401);
      assert.is(await register('alice', 'new'), 200);
      assert.is(await register('bob', 'secret'), 401);
      assert.is(await register('carol', 'secret'), 200);
      const names = await app.ok<{ resource: string }[]>('GET', '/endpoints/PJSIP');
      assert.equal(
        names.map(({ resource }) => resource),
        ['alice', 'carol'],
      );
      const second = server.closing(new AriClient(server.url, 'second:door'));
      assert.is((await second.request('GET', '/channels')).status, 200);
      assert.is((await second.request('DELETE', '/channels/c1')).status, 403);
      const large = { variables: { text: 'x'.repeat(3_000) } };
      assert.is((await app.request('POST', '/channels/c1/variables', large)).status, 413);

      // What is shown of channels, and whose pages may ask.
      const { channelvars } = await app.ok<{ channelvars: unknown }>('GET', '/channels/c1');
      assert.equal(channelvars, { SHOWN: '', 'CHANNEL(exten)': 's' });
      const allowed = async (Origin: string) => {
        const asked = await fetch(`${server.url}/asterisk/ping?api_key=tester:secret`, { headers: { Origin } });
        await asked.arrayBuffer();
        return [asked.headers.get('vary'), asked.headers.get('access-control-allow-origin')];
      };
      assert.equal(await allowed('https://desk.example'), ['Origin', 'https://desk.example']);
      assert.equal(await allowed('https://other.example'), ['Origin', null]);

      // The call that was up goes on where it is; what it does next, it finds in the new dialplan.
      await app.ok('POST', '/channels/c2/continue');
      const again = await app.waitFor('StasisStart', ({ channel, args }) => channel.id === 'c2' && args[0] !== 'old');
      assert.equal(again.args, ['new']);
      await app.ok('DELETE', '/channels/c1');
      // What needs a restart is named again as long as it is not in force.
      const same = change(server, (next) => {
        next.general.system_name = 'elsewhere';
      });
      assert.equal(same.needRestart, ['general.system_name']);
    } finally {
      await phone.finish();
      await phone.close();
    }
  });
});

reloading('a phone made at run time gives way to a configured one with its user name, and comes back', () =>
  onServer({ endpoints: { other: { auth: { username: 'other', password: 'secret' } } } }, async (server) => {
    const app = server.client();
    const objects = '/asterisk/config/dynamic/res_pjsip';
    const fields = (values: Record<string, string>) => ({
      fields: Object.entries(values).map(([attribute, value]) => ({ attribute, value })),
    });
    await app.ok('PUT', `${objects}/auth/made`, fields({ username: 'desk', password: 'made' }));
    await app.ok('PUT', `${objects}/endpoint/made`, fields({ auth: 'made' }));
    const names = async () =>
      (await app.ok<{ resource: string }[]>('GET', '/endpoints/PJSIP')).map(({ resource }) => resource);
    assert.equal(await names(), ['other', 'made']);
    change(server, (next) => {
      const { other } = next.sip.endpoints;
      next.sip.endpoints = { fixed: { ...other!, auth: { username: 'desk', password: 'configured' } } };
    });
    assert.equal(await names(), ['fixed']);
    change(server, (next) => {
      next.sip.endpoints = {};
    });
    assert.equal(await names(), ['made']);
  }),
);

reloading('another certificate for browsers needs a restart, and one that cannot be used is refused', async () => {
  const files = new CertificateFiles();
  const [first, second] = [new Authority().sign('calls'), new Authority().sign('calls')];
  await onServer({ media: { webrtc: files.pair('calls', first) } }, async (server) => {
    server.closing(files);
    const none = { applied: [], needRestart: [] };
    const same = () => change(server, () => {});
    assert.equal(same(), none);
    files.pair('calls', second);
    for (const report of [same(), same()]) assert.equal(report, { ...none, needRestart: ['media.webrtc.certificate'] });
    files.pair('calls', { ...first, key: second.key });
    const { refused, ...rest } = same();
    assert.equal(rest, none);
    assert.equal(
      refused?.map(({ settings }) => settings),
      [['media.webrtc.certificate']],
    );
    assert.match(refused?.[0]?.reason ?? '', /calls\.key is no key in PEM that fits .*\(media\.webrtc\.key\)$/);
    files.pair('calls', first);
    assert.equal(same(), none);
  });
});

reloading('the audit log begins, goes on in another file and ends as the configuration says', () =>
  onServer({}, async (server) => {
    const app = server.client();
    const [first, second] = [
      join(server.config.general.data_directory, 'first'),
      join(server.config.general.data_directory, 'second'),
    ];
    const told = (name: string) => app.ok('POST', `/asterisk/variable?variable=${name}&value=1`);
    const follow = (audit: Partial<Config['audit']>, applied: string[]) =>
      assert.equal(
        change(server, (next) => Object.assign(next.audit, audit)),
        { applied, needRestart: [] },
      );
    const figures = async () => {
      const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
      const asked = await fetch(`${server.url.replace(/\/ari$/, '/hookswitch')}/server`, {
        headers: { authorization },
      });
      return ((await asked.json()) as { audit?: object }).audit;
    };
    await told('NOBODY');
    assert.is(await figures(), undefined);
    follow({ file: first }, ['audit.file']);
    await told('ONE');
    assert.equal(await figures(), { lines: 2, lost: 0 });
    follow({ file: second }, ['audit.file']);
    await told('TWO');
    // Too large for these bounds: the next line puts it aside.
    follow({ file: second, file_size: 0.001, files: 1 }, ['audit.file_size', 'audit.files']);
    for (let line = 0; line < 5; line++) await told('THREE');
    follow({}, ['audit.file', 'audit.file_size', 'audit.files']);
    await told('FIVE');
    assert.is(await figures(), undefined);
    await server.running.close();
    const variables = (file: string) =>
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { event: string; params?: { variable: string } })
        .map(({ event, params }) => params?.variable ?? event);
    assert.equal(variables(first), ['log-in', 'ONE']);
    assert.equal([...variables(`${second}.1`), ...variables(second)], ['TWO', ...Array<string>(5).fill('THREE')]);
  }),
);

reloading(
  'settings that cannot be applied are reported as unchanged: the audit log, certificates; a file of records needs a restart',
  async () => {
    const files = new CertificateFiles();
    const [before, other] = [new Authority().sign('before.test'), new Authority().sign('other.test')];
    const tls = { certificates: [files.pair('before', before)] };
    try {
      await onServer(
        { tls, sip: { transports: [{ protocol: 'tls', bind: '127.0.0.1', port: 0 }] } },
        async (server) => {
          const { data_directory: directory } = server.config.general;
          const [first, blocked] = [join(directory, 'first'), join(directory, 'first', 'within')];
          const app = server.client();
          const told = (name: string) => app.ok('POST', `/asterisk/variable?variable=${name}&value=1`);
          const shown = async () => {
            const [address = '', port] = (server.running.addresses.sip.tls?.[0] ?? '').split(':');
            const socket = connect({ host: address, port: Number(port), rejectUnauthorized: false });
            await once(socket, 'secureConnect');
            const { subject } = socket.getPeerCertificate();
            socket.destroy();
            return subject.CN;
          };
          const edited = (edit: (config: Config) => void) =>
            change(server, (next) => {
              next.audit.file = first;
              edit(next);
            });
          assert.equal(edited(() => {}).applied, ['audit.file']);
          await told('ONE');
          const fitting = files.pair('other', other);
          const report = edited((next) => {
            next.audit.file = blocked;
            next.tls.certificates = [{ certificate: fitting.certificate, key: tls.certificates[0]!.key }];
            next.cdr.file = blocked;
            next.bans.ignore_after = 7;
          });
          // What the library says of a key beside that is its own.
          const refused = report.refused?.map((each) => ({ ...each, reason: each.reason.split(': error')[0] }));
          assert.equal(
            { ...report, refused },
            {
              applied: ['bans.ignore_after'],
              needRestart: ['cdr.file'],
              refused: [
                {
                  settings: ['tls.certificates'],
                  reason: `${tls.certificates[0]!.key} is no key in PEM that fits ${fitting.certificate}`,
                },
                { settings: ['audit.file'], reason: `${blocked} has a file on its way where a directory should be` },
              ],
            },
          );
          assert.is(await shown(), 'before.test');
          await told('TWO');
          // Refused again as long as it stands there, and taken up as soon as it can be.
          const mended = edited((next) => {
            next.tls.certificates = [fitting];
            next.bans.ignore_after = 7;
          });
          assert.equal(mended, { applied: ['tls.certificates'], needRestart: [] });
          assert.is(await shown(), 'other.test');
          await server.running.close();
          const lines = readFileSync(first, 'utf8').trim().split('\n');
          assert.equal(
            lines.flatMap((line) => (JSON.parse(line) as { params?: { variable: string } }).params?.variable ?? []),
            ['ONE', 'TWO'],
          );
        },
      );
    } finally {
      files.close();
    }
  },
);

reloading(
  'what is recorded follows: bounds, and what is hidden of calls that begin; whether at all needs a restart',
  () =>
    onServer({ dialplan, recorder: { entries_per_call: 1_000 } }, async (server) => {
      const app = await server.app('app');
      const digits = async (id: string): Promise<boolean> => {
        await app.ok('POST', `/channels/${id}?endpoint=Local/1000@default&app=app&otherChannelId=${id}-other`);
        await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
        await app.ok('POST', `/channels/${id}/dtmf?dtmf=9`);
        const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
        const path = server.url.replace(/\/ari$/, `/hookswitch/calls/${id}`);
        const text = await (await fetch(path, { headers: { authorization } })).text();
        await app.ok('DELETE', `/channels/${id}`);
        for (const each of [id, `${id}-other`])
          await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === each);
        return text.includes('"digits":"9"');
      };
      assert.is(await digits('shown'), true);
      const report = change(server, ({ recorder }) => {
        recorder.mask_digits = true;
        recorder.entries_per_call = 500;
        recorder.memory = 7;
      });
      assert.equal(report, {
        applied: ['recorder.entries_per_call', 'recorder.memory', 'recorder.mask_digits'],
        needRestart: [],
      });
      assert.is(await digits('hidden'), false);
    }),
);

reloading('the recorder stops and starts again: its history is gone, and live calls are known from then on', () =>
  onServer({ dialplan: { default: { '1000': ['Answer', 'Wait(3600)'] } } }, async (server) => {
    const app = await server.app('app');
    const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
    const own = server.url.replace(/\/ari$/, '/hookswitch');
    const get = async (path: string) => {
      const answer = await fetch(`${own}${path}`, { headers: { authorization } });
      return [answer.status, await answer.json()] as [status: number, body: { message?: string }];
    };
    const watching = new WebSocket(`${own.replace('http', 'ws')}/live`, { headers: { authorization } });
    server.closing({ close: () => watching.terminate() });
    const shown: LiveOverview[] = [];
    const looks = new Set<() => void>();
    watching.on('message', (data) => {
      shown.push(JSON.parse(String(data)) as LiveOverview);
      for (const look of [...looks]) look();
    });
    const until = (wanted: (overview: LiveOverview) => boolean): Promise<LiveOverview> =>
      untilFound(
        looks,
        () => shown.find(wanted),
        () => JSON.stringify(shown.at(-1)),
      );
    await app.ok('POST', '/channels/up?endpoint=Local/1000@default&app=app&otherChannelId=other');
    await app.waitFor('StasisStart', ({ channel }) => channel.id === 'up');
    const before = await until(({ calls }) => calls.some(({ id }) => id === 'up'));
    assert.is(before.figures.recording, true);

    const off = change(server, ({ recorder }) => {
      recorder.off = true;
    });
    assert.equal(off, { applied: ['recorder.off'], needRestart: [] });
    const message = 'The flight recorder is off (recorder.off), and no records are left';
    for (const path of ['/calls', '/calls/up', '/calls/up/bundle', '/stuck'])
      assert.equal(await get(path), [409, { message }], path);
    const gone = await until(({ figures }) => !figures.recording);
    assert.equal([gone.removed, gone.figures.kept_calls], [['up'], 0]);
    await app.ok('POST', '/channels/up/variable?variable=COLOUR&value=green');

    const on = change(server, () => {});
    assert.equal(on, { applied: ['recorder.off'], needRestart: [] });
    const again = await until(({ seq, calls }) => seq > gone.seq && calls.some(({ id }) => id === 'up'));
    assert.equal(
      again.calls.map(({ id, began, channels }) => [id, began, channels.map(({ life }) => life)]),
      [['up', before.calls.at(-1)?.began, ['up', 'up']]],
    );
    await app.ok('DELETE', '/channels/up');
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === 'up');
    const [, { timeline }] = (await get('/calls/up')) as unknown as [number, CallDetail];
    const life = timeline.flatMap((entry) =>
      entry.kind === 'step' && entry.chart === 'channel' && entry.object === 'up' ? [entry.event.type] : [],
    );
    assert.equal([life[0], life.at(-1)], ['recording.begun', 'leg.ended']);
  }),
);

reloading('how often audio is measured, heads of packets and who may listen follow, while a call is up', () =>
  onServer({ dialplan: { default: { '_X.': ['Stasis(app)'] } }, recorder: { media_interval: 0 } }, async (server) => {
    const app = await server.app('app');
    const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
    const own = server.url.replace(/\/ari$/, '/hookswitch');
    const get = (path: string, method = 'GET') => fetch(`${own}${path}`, { method, headers: { authorization } });
    const listen = async (id: string) => {
      const { ticket } = (await (await get('/sessions/tickets', 'POST')).json()) as { ticket: string };
      const socket = new WebSocket(`${own.replace('http', 'ws')}/channels/${id}/listen?ticket=${ticket}`);
      server.closing({ close: () => socket.terminate() });
      socket.on('error', () => {});
      const refused = new Promise<number>((resolve) => {
        socket.on('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
      });
      return { socket, outcome: await Promise.race([once(socket, 'open').then(() => 'open' as const), refused]) };
    };
    const enter = async (from: string) => {
      const phone = server.closing(await Phone.open(from, server.sip()));
      const called = phone.call('100');
      const { channel } = await app.waitFor('StasisStart', (event) => event.channel.caller.number === from);
      await app.ok('POST', `/channels/${channel.id}/answer`);
      await called;
      return { phone, id: channel.id };
    };
    const first = await enter('4711');
    assert.is((await listen(first.id)).outcome, 404);
    assert.is((await get(`/calls/${first.id}.pcap?rtp=headers`)).status, 409);

    const report = change(server, (next) => {
      Object.assign(next.recorder, { media_interval: 0.5, rtp_headers: 20, rtp_memory: 2 });
      next.listening.on = true;
    });
    assert.equal(report, {
      applied: ['recorder.media_interval', 'recorder.rtp_headers', 'recorder.rtp_memory', 'listening.on'],
      needRestart: [],
    });
    const measured = async () => {
      const { timeline } = (await (await get(`/calls/${first.id}`)).json()) as CallDetail;
      return timeline.filter(({ kind }) => kind === 'media').length;
    };
    first.phone.audio.hum(440);
    await untilAsked(
      async () => (await measured()) >= 2,
      () => 'nothing is measured',
    );
    assert.is((await get(`/calls/${first.id}.pcap?rtp=headers`)).status, 200);
    const heard = await listen(first.id);
    assert.is(heard.outcome, 'open');

    const closed = once(heard.socket, 'close');
    change(server, (next) => {
      Object.assign(next.recorder, { media_interval: 0.5, rtp_headers: 0 });
    });
    const [code, reason] = await closed;
    assert.equal([code, String(reason)], [1000, 'listening is no longer allowed']);
    assert.is((await listen(first.id)).outcome, 404);
    assert.is((await get(`/calls/${first.id}.pcap?rtp=headers`)).status, 409);
    first.phone.hangup();
  }),
);

reloading('where others see us, and who is asked for names, follow', async () => {
  const stun = createSocket('udp4').bind(0, '127.0.0.1');
  await once(stun, 'listening');
  stun.on('message', (asked, { port }) => {
    const answer = writeBindingResponse(asked, { address: '203.0.113.9', port });
    if (answer) stun.send(answer, port, '127.0.0.1');
  });
  const dns = new DnsServer({
    '_sip._udp.provider.test': ['a', 'b'].map((host, priority) => ({
      ...{ type: 'SRV', priority, weight: 0, port: 5060, name: `${host}.provider.test` },
    })),
  });
  const names = await dns.start();
  const phone = await createPhone({ config: { endpoints: [anybody] } });
  const endpoints = {
    lobby: { match: ['127.0.0.1'] },
    far: { aor: { contacts: ['sip:provider.test'] } },
  };
  try {
    await onServer({ endpoints, dialplan }, async (server) => {
      const app = await server.app('app');
      phone.driver.setEndpoint(trunkTo(`sip:${server.sip()}`));
      /** The address that a phone is told to send its audio to. */
      const told = async (): Promise<string> => {
        const call = phone.open('1000@trunk');
        call.leg.dial();
        await call.heard('leg.answered');
        const { address } = phone.media.sessions.get(call.id)!.flows[0]!.remote;
        call.leg.hangup(16);
        return address;
      };
      assert.is(await told(), '127.0.0.1');
      const asked = change(server, (next) => {
        next.sip.stun_server = `127.0.0.1:${stun.address().port}`;
        next.sip.dns.servers = [names];
      });
      assert.equal(asked, { applied: ['sip.stun_server', 'sip.dns.servers'], needRestart: [] });
      await untilAsked(
        async () => (await told()) === '203.0.113.9',
        () => 'nothing was learned',
      );
      change(server, (next) => {
        next.sip.stun_server = `127.0.0.1:${stun.address().port}`;
        next.sip.dns.servers = [names];
        next.sip.local_networks = ['127.0.0.0/8'];
      });
      assert.is(await told(), '127.0.0.1', 'in a network of our own');
      const fixed = change(server, (next) => {
        next.sip.external_address = '203.0.113.7';
        next.sip.dns.servers = [names];
      });
      assert.equal(fixed.applied, ['sip.external_address', 'sip.stun_server', 'sip.local_networks']);
      assert.is(await told(), '203.0.113.7');

      change(server, (next) => {
        next.sip.external_address = '203.0.113.7';
        Object.assign(next.sip.dns, { servers: [names], most_records: 1 });
      });
      const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/far&app=app');
      await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
      assert.ok(dns.asked.includes('_sip._udp.provider.test SRV'), dns.asked.join());
      assert.ok(dns.asked.includes('a.provider.test A'), dns.asked.join());
      assert.not.ok(dns.asked.includes('b.provider.test A'), dns.asked.join());
    });
  } finally {
    stun.close();
    dns.close();
    await phone.finish();
    await phone.close();
  }
});

reloading('how often calls are forwarded, and how many phones may watch, follow', async () => {
  const port = await freePort();
  const carols = await freePort();
  const endpoints = {
    anonymous: { match: ['127.0.0.1'] },
    bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] }, redirect_method: 'user' },
    carol: { aor: { contacts: [`sip:carol@127.0.0.1:${carols}`] } },
  };
  const forwarding = { default: { 200: ['Dial(PJSIP/bob)'], 300: ['Dial(PJSIP/carol)'] } };
  await onServer({ endpoints, dialplan: forwarding }, async (server) => {
    const phone = async (number: string, at = 0) => server.closing(await Phone.open(number, server.sip(), at));
    const [alice, bob, carol] = [await phone('4711'), await phone('bob', port), await phone('carol', carols)];
    bob.refuses = '302 Moved Temporarily';
    bob.forwardsTo = `sip:300@${server.sip()}`;
    await alice.call('200');
    alice.hangup();
    await carol.over();
    const report = change(server, (next) => {
      next.sip.most_redirections = 0;
      next.sip.subscriptions.most = 7;
    });
    assert.equal(report, { applied: ['sip.most_redirections', 'sip.subscriptions.most'], needRestart: [] });
    const outcome = await alice.call('200').then(
      () => 'answered',
      () => 'refused',
    );
    assert.equal([outcome, carol.invites.length], ['refused', 1]);
  });
});

reloading.run();
