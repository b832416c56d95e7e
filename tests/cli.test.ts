import { type ChildProcess, spawn } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocketServer } from 'ws';
import { freePort } from './support/free-port.ts';

const cli = [fileURLToPath(new URL('../dist/cli.js', import.meta.url))];
const directory = mkdtempSync(join(tmpdir(), 'hookswitch-cli-'));
const running = new Set<ChildProcess>();

type Ended = { code: number | null; out: string; err: string };
type Started = {
  process: ChildProcess;
  ended: Promise<Ended>;
  /** Resolves with what was written to standard output once it matches; rejects when the program ends before. */
  said(pattern: RegExp): Promise<string>;
};

/** Starts the command line on ports of the system's choice, without anything of this environment's settings. */
function start(args: readonly string[], env: Record<string, string> = {}, cwd = process.cwd()): Started {
  const settings = { HOOKSWITCH_HTTP_PORT: '0', HOOKSWITCH_SIP_PORT: '0', HOOKSWITCH_RTP_PORTS: '0-0' };
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOOKSWITCH_'));
  const child = spawn(process.execPath, [...cli, ...args], {
    env: { ...Object.fromEntries(inherited), ...settings, HOOKSWITCH_DATA: join(directory, 'data'), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd,
  });
  running.add(child);
  let out = '';
  let err = '';
  const listeners = new Set<() => void>();
  child.stdout.on('data', (chunk) => {
    out += chunk;
    for (const listener of listeners) listener();
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code) => {
      running.delete(child);
      resolve({ code, out, err });
    }),
  );
  const said = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (pattern.test(out)) resolve(out);
      };
      listeners.add(look);
      look();
      void ended.then(() => reject(new Error(`ended without saying ${pattern}:\n${out}${err}`)));
    });
  return { process: child, ended, said };
}

const run = (args: readonly string[], env?: Record<string, string>) => start(args, env).ended;

/** Starts a server that is expected not to come up. */
async function serveInVain(env: Record<string, string>, ...more: string[]): Promise<Ended> {
  const server = start(['serve', ...more], { HOOKSWITCH_LOG_LEVEL: 'silent', ...env });
  const cameUp = server.said(/is ready/).then(
    (banner) => {
      server.process.kill('SIGKILL');
      throw new Error(`the server came up:\n${banner}`);
    },
    () => server.ended,
  );
  return Promise.race([server.ended, cameUp]);
}

/** What the banner says of one thing. */
const told = (banner: string, name: string) => new RegExp(`^ +${name} +(\\S+)`, 'm').exec(banner)?.[1] ?? '';

const ping = (banner: string, password: string) =>
  fetch(`${told(banner, 'HTTP')}/asterisk/ping`, {
    headers: { authorization: `Basic ${Buffer.from(`hookswitch:${password}`).toString('base64')}` },
  });

test.after(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

test('--help tells commands, options and every environment variable', async () => {
  const { code, out, err } = await run(['--help']);
  assert.is(code, 0);
  assert.is(err, '');
  for (const word of ['serve', 'check', 'hash', '--config', 'HOOKSWITCH_PASSWORD', 'HOOKSWITCH_SIP_PORT'])
    assert.ok(out.includes(word), word);
});

test('--version is the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  assert.equal(await run(['--version']), { code: 0, out: `${version}\n`, err: '' });
});

for (const [args, reason] of [
  [[], 'no command given'],
  [['sevre'], 'unknown command: sevre'],
  [['serve', '--prot', '1'], "Unknown option '--prot'"],
  [['check', 'one', 'two'], 'unexpected argument: one'],
] as const)
  test(`wrong usage (${args.join(' ') || 'nothing'}) ends with 2, the reason and where the help is`, async () => {
    const { code, out, err } = await run(args);
    assert.is(code, 2);
    assert.is(out, '');
    assert.ok(err.startsWith(`hookswitch: ${reason}`), err);
    assert.ok(err.includes('Usage: hookswitch'));
  });

test('check accepts the example and the defaults', async () => {
  const example = fileURLToPath(new URL('../hookswitch.example.yaml', import.meta.url));
  const valid = { code: 0, out: 'configuration is valid\n', err: '' };
  assert.equal(await run(['check', '--config', example]), valid);
  assert.equal(await run(['check']), valid);
});

test('serve --inspect streams actors with their charts to a relay of inspectors', async () => {
  const relay = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(relay, 'listening');
  const told = new Promise<Record<string, unknown>>((resolve) =>
    relay.on('connection', (socket) =>
      socket.on('message', (data) => {
        const event = JSON.parse(String(data));
        const { type, name, definition } = event.json ?? event;
        const chart = type === '@xstate.actor' && definition ? JSON.parse(definition) : {};
        if (chart.states) resolve({ name, ...chart });
      }),
    ),
  );
  const config = join(directory, 'inspected.yaml');
  writeFileSync(config, 'sip: { endpoints: { bob: { aor: { contacts: ["sip:bob@127.0.0.1:9"] } } } }\n');
  const url = `ws://127.0.0.1:${(relay.address() as AddressInfo).port}`;
  const server = start(['serve', '--config', config, '--inspect', '--inspect-url', url], {
    HOOKSWITCH_LOG_LEVEL: 'silent',
  });
  const { id, initial, states } = await told;
  assert.equal([id, initial, Object.keys(states as object).includes('reachable')], ['contact', 'created', true]);
  await server.said(/is ready/);
  server.process.kill('SIGTERM');
  assert.is((await server.ended).code, 0);
  for (const client of relay.clients) client.terminate();
  await new Promise((resolve) => relay.close(resolve));
});

test('serve says what is wrong with the URL of an inspector', async () => {
  const { code, err } = await start(['serve', '--inspect-url', 'http://nowhere']).ended;
  assert.equal([code, err], [1, 'hookswitch: --inspect-url must be a WebSocket URL, like ws://localhost:8080\n']);
});

test('check and serve tell every problem of a bad file and end with 1', async () => {
  const file = join(directory, 'bad.yaml');
  writeFileSync(file, 'http: { prot: 1 }\ndialplan: { default: { s: [Anser] } }\n');
  const problems = [
    `${file}:1:9: http.prot: unknown key; did you mean \`port\`?`,
    `${file}:2:28: dialplan.default.s[0]: unknown application "Anser"`,
    '',
  ].join('\n');
  for (const command of ['check', 'serve'])
    assert.equal(await run([command, '-c', file]), { code: 1, out: '', err: problems });
});

test('hash reads a password and writes what password_hash takes', async () => {
  const hashing = start(['hash']);
  hashing.process.stdin?.end('secret\n');
  const { code, out } = await hashing.ended;
  assert.is(code, 0);
  const file = join(directory, 'hashed.yaml');
  writeFileSync(file, `http: { users: [{ name: hookswitch, password_hash: '${out.trim()}' }] }\n`);
  const server = start(['serve', '-c', file]);
  const banner = await server.said(/is ready[\s\S]*try it.*\n/);
  assert.is((await ping(banner, 'secret')).status, 200);
  assert.is((await ping(banner, 'guess')).status, 401);
  server.process.kill('SIGTERM');
  assert.is((await server.ended).code, 0);
});

test('hash without a password is wrong usage', async () => {
  const hashing = start(['hash']);
  hashing.process.stdin?.end('\n');
  assert.is((await hashing.ended).code, 2);
});

test('serve tells where it is and a password that works, and SIGTERM ends it with 0', async () => {
  const server = start(['serve']);
  const banner = await server.said(/is ready[\s\S]*try it.*\n/);
  assert.match(told(banner, 'HTTP'), /^http:\/\/127\.0\.0\.1:\d+\/ari$/);
  assert.match(told(banner, 'SIP'), /^127\.0\.0\.1:\d+$/);
  assert.is(told(banner, 'user'), 'hookswitch');
  assert.is((await ping(banner, told(banner, 'password'))).status, 200);
  assert.is((await ping(banner, 'guess')).status, 401);
  server.process.kill('SIGTERM');
  assert.match(banner, new RegExp(`call sip:echo@${told(banner, 'SIP')} from a phone on this machine`));
  const { code, out, err } = await server.ended;
  assert.is(code, 0, err);
  assert.is(out.split('is ready').length, 2);
  for (const line of err.trim().split('\n')) assert.type(JSON.parse(line).msg, 'string');
});

test('the banner names every address of SIP, and an echo only where there is one', async () => {
  const settings = {
    sip: {
      transports: [
        { protocol: 'udp', bind: '127.0.0.1', port: 0 },
        { protocol: 'udp', bind: '127.0.0.2', port: 0 },
      ],
      endpoints: { gate: { match: ['127.0.0.0/8'], context: 'in' } },
    },
    dialplan: { in: { s: ['Hangup'] } },
  };
  const { server, banner } = await startWithFile('silent.yaml', settings);
  assert.match(banner, /SIP +127\.0\.0\.1:\d+ \(udp\), 127\.0\.0\.2:\d+ \(udp\)\n/);
  assert.not.match(banner, /echo/);
  server.process.kill('SIGTERM');
  await server.ended;
});

test('a password of the environment is used and not told', async () => {
  const server = start(['serve'], { HOOKSWITCH_PASSWORD: 'opensesame' });
  const banner = await server.said(/is ready[\s\S]*try it.*\n/);
  assert.not.match(banner, /opensesame/);
  assert.is((await ping(banner, 'opensesame')).status, 200);
  server.process.kill('SIGINT');
  assert.is((await server.ended).code, 0);
});

for (const command of ['ready', 'calls', 'stuck'])
  test(`${command} refuses a wrong URL of the server without showing its password`, async () => {
    for (const url of ['http://me:se/cret@h', 'http://me:se?cret@h', 'ws://me:secret@h', 'me:secret@h']) {
      const { code, out, err } = await run([command], { HOOKSWITCH_URL: url, HOOKSWITCH_USER: 'a:b' });
      assert.is.not(code, 0);
      assert.match(out + err, /is not an HTTP URL; expected one such as/);
      assert.not.match(out + err, /secret|se\/cret|se\?cret|cret@/);
    }
  });

test('ready says whether a server takes calls, and waits for one that does not yet', async () => {
  const { server, banner } = await startWithFile('ready.yaml', { general: { ready_timeout: 60 } });
  const { port } = new URL(told(banner, 'HTTP'));
  const of = { HOOKSWITCH_HTTP_PORT: port };
  assert.equal(await run(['ready'], of), { code: 0, out: 'ready\n', err: '' });
  const url = { HOOKSWITCH_URL: `http://127.0.0.1:${port}`, HOOKSWITCH_HTTP_PORT: '1' };
  assert.equal(await run(['ready', '--wait', '60'], url), { code: 0, out: 'ready\n', err: '' });
  server.process.kill('SIGTERM');
  await server.ended;
  const { code, out, err } = await run(['ready', '--wait', '0.3'], of);
  assert.equal([code, out], [1, '']);
  assert.match(err, new RegExp(`^hookswitch: http://127.0.0.1:${port}: .*ECONNREFUSED`));
  for (const [args, reason] of [
    [['ready', '--wait', 'long'], '--wait needs a number of seconds'],
    [['ready', '--wait', '-1'], "Option '--wait' argument is ambiguous"],
  ] as const) {
    const wrong = await run(args, of);
    assert.is(wrong.code, 2);
    assert.ok(wrong.err.includes(reason), wrong.err);
  }
  assert.is((await run(['ready'], { HOOKSWITCH_URL: 'nowhere' })).code, 2);
});

/** A server of a configuration file, and what its log says. */
async function startWithFile(name: string, settings: object) {
  const file = join(directory, name);
  const put = (text: string) => writeFileSync(file, text);
  put(JSON.stringify(settings));
  const server = start(['serve', '-c', file], { HOOKSWITCH_PASSWORD: 'opensesame' });
  let log = '';
  const waiting = new Set<() => void>();
  server.process.stderr?.on('data', (chunk) => {
    log += chunk;
    for (const look of waiting) look();
  });
  /** Resolves with the line of the log that says so. */
  const logged = (sentence: string) =>
    new Promise<Record<string, unknown>>((resolve) => {
      const look = () => {
        const line = log.split('\n').find((each) => each.includes(sentence) && each.endsWith('}'));
        if (line === undefined) return;
        waiting.delete(look);
        resolve(JSON.parse(line));
      };
      waiting.add(look);
      look();
    });
  const banner = await server.said(/is ready[\s\S]*try it.*\n/);
  const headers = { authorization: `Basic ${Buffer.from('hookswitch:opensesame').toString('base64')}` };
  const ask = (method: string, path: string) => fetch(`${told(banner, 'HTTP')}${path}`, { method, headers });
  return { server, file, put, logged, ask, banner };
}

const echoCall = '/channels?endpoint=Local/echo@default&extension=1000&context=default';

/** Longer than any of these tests takes. */
const patient = { general: { drain_timeout: 600 } };

test('a live call holds the end back until a second signal', async () => {
  const { server, ask, logged } = await startWithFile('held.yaml', patient);
  assert.is((await ask('POST', echoCall)).status, 200);
  server.process.kill('SIGTERM');
  await logged('no new calls');
  assert.is((await ask('POST', echoCall)).status >= 400, true);
  assert.is(((await (await ask('GET', '/channels')).json()) as unknown[]).length, 2);
  await server.said(/no new calls; waiting at most 600 s for 2 channels/);
  // Signals that follow closely are one: this one counts when a second has passed.
  for (let ended = false; !ended; ) {
    server.process.kill('SIGTERM');
    const looked = ask('GET', '/channels').then(
      () => false,
      () => true,
    );
    ended = await looked;
  }
  const { code, err } = await server.ended;
  assert.is(code, 0, err);
  assert.match(err, /stopping now/);
});

test('one Ctrl-C that arrives twice lets calls end in time', async () => {
  const { server, ask } = await startWithFile('drain.yaml', patient);
  assert.is((await ask('POST', echoCall)).status, 200);
  server.process.kill('SIGINT');
  server.process.kill('SIGINT');
  await server.said(/no new calls; waiting at most 600 s for 2 channels/);
  const channels = (await (await ask('GET', '/channels')).json()) as { id: string }[];
  assert.is(channels.length, 2);
  await ask('DELETE', `/channels/${channels[0]?.id}`);
  const { code, out, err } = await server.ended;
  assert.is(code, 0, err);
  assert.not.match(out + err, /at once/);
});

test('SIGHUP reads the configuration anew; a bad one changes nothing and is told with its lines', async () => {
  const { server, file, put, logged, ask } = await startWithFile('anew.yaml', {});
  assert.is((await ask('POST', echoCall)).status, 200);
  put('sip: { endpoints: { carol: { auth: { username: carol } } } }\ngeneral: { log_level: debug, pretty: true }\n');
  server.process.kill('SIGHUP');
  assert.equal((await logged('reloaded the configuration'))['applied'], [
    'general.log_level',
    'sip.endpoints.alice',
    'sip.endpoints.bob',
    'sip.endpoints.anonymous',
    'sip.endpoints.carol',
  ]);
  assert.equal((await logged('need a restart'))['needRestart'], ['general.pretty']);
  const names = async () =>
    ((await (await ask('GET', '/endpoints')).json()) as { resource: string }[]).map(({ resource }) => resource);
  assert.equal(await names(), ['carol']);
  const blocked = join(file, 'audit.jsonl');
  const before =
    'sip: { endpoints: { carol: { auth: { username: carol } } } }\ngeneral: { log_level: debug, pretty: true }\n';
  put(`${before}audit: { file: '${blocked}' }\n`);
  server.process.kill('SIGHUP');
  const { settings, reason } = await logged('could not be applied');
  assert.equal([settings, reason], [['audit.file'], `${blocked} has a file on its way where a directory should be`]);
  put('sip: { endpoints: { dave: {} } }\nhttp: { prot: 1 }\n');
  server.process.kill('SIGHUP');
  assert.equal((await logged('nothing changed'))['problems'], [
    `${file}:2:9: http.prot: unknown key; did you mean \`port\`?`,
  ]);
  assert.equal(await names(), ['carol']);
  assert.is(((await (await ask('GET', '/channels')).json()) as unknown[]).length, 2);
  server.process.kill('SIGKILL');
  await server.ended;
});

test('SIGHUP begins files anew that were renamed, also when the configuration is wrong', async () => {
  const command = '/deviceStates/Stasis:x?deviceState=INUSE';
  const audit = join(directory, 'rotated.jsonl');
  const { server, put, logged, ask } = await startWithFile('rotated.yaml', { audit: { file: audit } });
  assert.is((await ask('PUT', command)).status, 204);
  renameSync(audit, `${audit}.old`);
  put('sip: 1\n');
  server.process.kill('SIGHUP');
  await logged('nothing changed');
  assert.is((await ask('PUT', command)).status, 204);
  server.process.kill('SIGTERM');
  await server.ended;
  const operations = (file: string) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { event: string }).event);
  assert.equal([operations(`${audit}.old`), operations(audit)], [['log-in', 'command'], ['command']]);
});

test('a reader of the log or the banner that goes away does not end the server', async () => {
  const { server, ask } = await startWithFile('unread.yaml', { general: { log_level: 'debug', drain_timeout: 0 } });
  server.process.stderr?.destroy();
  server.process.stdout?.destroy();
  for (let n = 0; n < 3; n++) assert.is((await ask('POST', echoCall)).status, 200);
  assert.is((await ask('GET', '/asterisk/ping')).status, 200);
  server.process.kill('SIGTERM');
  assert.is((await server.ended).code, 0);
});

test('an audio address that this machine does not have is told at start', async () => {
  const { code, err } = await serveInVain({ HOOKSWITCH_RTP_ADDRESS: '192.0.2.1' });
  assert.is(code, 1);
  assert.is(
    err,
    'hookswitch: audio address 192.0.2.1 is not an address of this machine; choose another with HOOKSWITCH_RTP_ADDRESS or `media.rtp_address` in the configuration\n',
  );
});

test('a taken HTTP port is told in one line with the setting that changes it', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const { code, out, err } = await serveInVain({ HOOKSWITCH_HTTP_PORT: String(port) }).finally(() => taken.close());
  assert.is(code, 1);
  assert.is(out, '');
  assert.is(
    err,
    `hookswitch: HTTP 127.0.0.1:${port} is in use by another program; choose another with HOOKSWITCH_HTTP_PORT or \`http.port\` in the configuration\n`,
  );
});

test('so is a taken SIP port', async () => {
  const taken = createSocket('udp4').bind(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address();
  const { code, err } = await serveInVain({ HOOKSWITCH_SIP_PORT: String(port) }).finally(() => taken.close());
  assert.is(code, 1);
  assert.match(
    err,
    new RegExp(`^hookswitch: SIP udp 127\\.0\\.0\\.1:${port} is in use by another program; .*HOOKSWITCH_SIP_PORT`),
  );
});

for (const [when, isRestart] of [
  ['', false],
  [', also at a start that goes on from a state', true],
] as const)
  test(`so is a taken port of all browsers${when}`, async () => {
    const port = await freePort();
    const file = join(directory, 'browsers.yaml');
    const media = { rtp_ports: [0, 0], rtp_address: '127.0.0.1', webrtc: { udp_port: port } };
    writeFileSync(file, JSON.stringify({ media, state_store: { on: isRestart } }));
    const env = { HOOKSWITCH_DATA: join(directory, `browsers${when.length}`) };
    if (isRestart) {
      const before = start(['serve', '--config', file], env);
      await before.said(/is ready/);
      before.process.kill('SIGKILL');
      await before.ended;
    }
    const taken = createSocket('udp4').bind(port, '127.0.0.1');
    await once(taken, 'listening');
    const { code, err } = await serveInVain(env, '--config', file).finally(() => taken.close());
    assert.is(code, 1);
    assert.is(
      err,
      `hookswitch: UDP 127.0.0.1:${port} is in use by another program; choose another with \`media.webrtc.udp_port\` in the configuration\n`,
    );
  });

const blocked = join(directory, 'a-file');
for (const [what, data, reason] of [
  ['a file where it should be', blocked, `${blocked} is a file where a directory should be`],
  [
    'a file on the way to it',
    join(blocked, 'data'),
    `${join(blocked, 'data')} has a file on its way where a directory should be`,
  ],
  [
    'a file system without room for it',
    '/proc/hookswitch',
    '/proc/hookswitch cannot be made: its file system takes no new entries',
  ],
] as const)
  test(`a data directory that cannot be used is told in one line: ${what}`, async () => {
    writeFileSync(blocked, '');
    const { code, out, err } = await serveInVain({ HOOKSWITCH_DATA: data });
    assert.equal(
      { code, out, err },
      {
        code: 1,
        out: '',
        err: `hookswitch: the data directory cannot be used: ${reason}; choose another with HOOKSWITCH_DATA or \`general.data_directory\` in the configuration\n`,
      },
    );
  });

test('a file of the data directory that cannot be read ends the start, and is left as it is', async () => {
  const data = mkdtempSync(join(directory, 'unreadable-'));
  mkdirSync(join(data, 'dynamic-config.json'));
  const { code, err } = await serveInVain({ HOOKSWITCH_DATA: data });
  assert.is(code, 1);
  assert.match(
    err,
    /^hookswitch: the data directory cannot be used: .*dynamic-config\.json is a directory where a file/,
  );
});

test('an address that this machine does not have is told so', async () => {
  const { code, err } = await serveInVain({ HOOKSWITCH_HTTP_BIND: '192.0.2.1' });
  assert.is(code, 1);
  assert.match(
    err,
    /^hookswitch: HTTP 192\.0\.2\.1:0 is not an address of this machine; .*HOOKSWITCH_HTTP_BIND or `http\.bind`/,
  );
});

test('a certificate for a first try is made beside its key, and never over one that is there', async () => {
  const own = mkdtempSync(join(directory, 'tls-'));
  const made = await start(['certificate', 'sip.example.com', '192.0.2.1', '2001:db8::1'], {}, own).ended;
  assert.is(made.code, 0, made.err);
  const certificate = new X509Certificate(readFileSync(join(own, 'hookswitch.pem')));
  assert.is(certificate.subjectAltName, 'DNS:sip.example.com, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1');
  assert.ok(certificate.checkPrivateKey(createPrivateKey(readFileSync(join(own, 'hookswitch.key')))));
  assert.is(statSync(join(own, 'hookswitch.key')).mode & 0o777, 0o600);
  const again = await start(['certificate'], {}, own).ended;
  assert.equal([again.code, again.out], [1, '']);
  assert.ok(again.err.startsWith('hookswitch: cannot write the certificate: EEXIST'));
});

test.run();
