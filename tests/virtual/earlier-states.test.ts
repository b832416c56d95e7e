import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createVirtualPhone } from '../../packages/testing/src/sip-phone.ts';
import { loadConfig } from '../../src/config/load.ts';
import { validate } from '../../src/dialplan/parse.ts';
import { createLogger } from '../../src/lib/log.ts';
import { createLogChannels } from '../../src/stores/log-channels.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { type VirtualHost, VirtualNetwork } from '../../src/virtual/network.ts';
import { startVirtualServer } from '../../src/virtual/server.ts';
import { untilAsked } from '../support/waiting.ts';

/**
 * Data directories that servers of earlier versions left when they were killed, as `states/<format of the file>`.
 * `HOOKSWITCH_WRITE_STATE=<new directory>` makes one with this version.
 */
const states = fileURLToPath(new URL('states', import.meta.url));

const earlier = suite('the state that an earlier version left');

const serverAddress = '10.0.0.1';
const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;
const settings = {
  general: { validate: true, data_directory: 'data', entity_id: 'earlier' },
  http: { users: [{ name: 'tester', password: 'secret' }] },
  sip: {
    transports: [{ protocol: 'udp', bind: serverAddress, port: 5060 }],
    endpoints: {
      alice: { match: ['10.0.0.2'] },
      bob: { match: ['10.0.0.3'], aor: { contacts: ['sip:bob@10.0.0.3:5060'] } },
      carol: { match: ['10.0.0.4'], aor: { max_contacts: 1 } },
    },
  },
  media: { rtp_address: serverAddress },
  recordings: { directory: 'data/recordings' },
  state_store: { on: true },
  dialplan: {
    default: {
      hints: { 200: 'Stasis:door' },
      echo: ['Answer', 'Echo'],
      app: ['Answer', 'Stasis(desk)'],
    },
  },
};

/** When a server of these directories was killed, in ms of the simulated clock. */
const killedAt = Date.UTC(2026, 0, 1) + 3_000;

async function start(directory: string, clock: ManualClock, network: VirtualNetwork) {
  const file = join(directory, 'hookswitch.yaml');
  writeFileSync(file, JSON.stringify(settings));
  const config = loadConfig({ file, env: {}, checkDialplan: validate });
  const errors: string[] = [];
  const console = {
    write: (line: string) => void ((JSON.parse(line) as { level: number }).level >= 50 && errors.push(line)),
  };
  const logChannels = createLogChannels({ directory, console, consoleLevels: ['ERROR'], clock });
  const log = createLogger({ level: 'info', destination: logChannels.destination });
  const host = network.host(serverAddress);
  const server = await startVirtualServer({ config, clock, host, logging: { log, logChannels }, seed: 1 });
  const ask = async (method: string, path: string): Promise<unknown> => {
    const request = new Request(`http://${serverAddress}/ari${path}`, { method, headers: { authorization } });
    const response = await server.ask(request);
    const text = await response.text();
    assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const heard: { type: string; seq: number }[] = [];
  const desk = server.connect({
    ...{ names: ['desk'], describe: 'desk', acknowledges: true },
    send: (json: string) => void heard.push(JSON.parse(json) as { type: string; seq: number }),
  });
  return { server, ask, heard, desk, errors };
}

/** A phone that sends and hears SIP as text, and accepts each NOTIFY. */
async function openPhone(host: VirtualHost) {
  const heard: string[] = [];
  const send = (lines: readonly string[]): void =>
    socket.send(Buffer.from([...lines, 'Content-Length: 0', '', ''].join('\r\n')), serverAddress, 5060, () => {});
  const socket = await host.openUdp({
    listen: { protocol: 'udp', host: host.address, port: 5060 },
    onDatagram(bytes: Buffer) {
      const message = bytes.toString();
      heard.push(message);
      const kept = message.split('\r\n').filter((line) => /^(Via|From|To|Call-ID|CSeq):/.test(line));
      if (message.startsWith('NOTIFY')) send(['SIP/2.0 200 OK', ...kept]);
    },
    onError: () => {},
  });
  return { heard, send, close: () => socket.close() };
}

const request = (method: string, to: string, callId: string, more: readonly string[]): string[] => [
  `${method} sip:${to}@${serverAddress} SIP/2.0`,
  `Via: SIP/2.0/UDP 10.0.0.4:5060;branch=z9hG4bK${callId}`,
  `From: <sip:carol@${serverAddress}>;tag=${callId}`,
  `To: <sip:${to}@${serverAddress}>`,
  `Call-ID: ${callId}`,
  `CSeq: 1 ${method}`,
  'Max-Forwards: 70',
  'Contact: <sip:carol@10.0.0.4:5060>',
  'Expires: 3600',
  ...more,
];

type Channel = { id: string; name: string; state: string };

/** alice hears her echo, bob is recorded in a bridge, carol is registered and watches a door; then the process is killed. */
async function leaveState(to: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const clock = new ManualClock();
  const network = new VirtualNetwork({ clock });
  const { server, ask, heard, desk } = await start(directory, clock, network);
  const alice = await createVirtualPhone('alice', network.host('10.0.0.2'), { clock, seed: 2 });
  const bob = await createVirtualPhone('bob', network.host('10.0.0.3'), { clock, seed: 3 });
  const carol = await openPhone(network.host('10.0.0.4'));
  carol.send(request('REGISTER', 'carol', 'registers', []));
  carol.send(request('SUBSCRIBE', '200', 'watches', ['Event: dialog']));
  alice.dial(`sip:echo@${serverAddress}:5060`);
  await ask('POST', '/applications/desk/subscription?eventSource=deviceState:Stasis%3Alamp');
  await clock.run(1_000);
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=desk&channelId=bob');
  await ask('POST', '/bridges?type=mixing&bridgeId=b1');
  await clock.run(1_000);
  await ask('POST', '/bridges/b1/addChannel?channel=bob');
  await ask('PUT', '/mailboxes/m1?oldMessages=1&newMessages=2');
  await ask('POST', '/bridges/b1/record?name=r1&format=ulaw');
  await clock.run(900);
  assert.ok(desk.acknowledge('desk', heard.at(-1)!.seq));
  desk.close();
  await ask('PUT', '/deviceStates/Stasis%3Alamp?deviceState=BUSY');
  await clock.run(100);
  assert.is(clock.now(), killedAt);
  server.powerOff();
  cpSync(join(directory, 'data'), to, { recursive: true });
  rmSync(directory, { recursive: true });
  await Promise.all([alice.close(), bob.close(), carol.close()]);
}

const wanted = process.env['HOOKSWITCH_WRITE_STATE'];
if (wanted !== undefined) earlier(`is written to ${wanted}`, () => leaveState(wanted));

const firstLine = (message: string | undefined): string => message?.split('\r\n', 1)[0] ?? '';
const headerIn = (message: string | undefined, name: string): string =>
  new RegExp(`^${name}: (.*)$`, 'm').exec(message ?? '')?.[1]?.trim() ?? '';

for (const state of readdirSync(states))
  earlier(`in the file format ${state} goes on whole`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
    cpSync(join(states, state), join(directory, 'data'), { recursive: true });
    const clock = new ManualClock(killedAt + 500);
    const network = new VirtualNetwork({ clock });
    const [alice, bob, carol] = await Promise.all(
      ['10.0.0.2', '10.0.0.3', '10.0.0.4'].map((address) => openPhone(network.host(address))),
    );
    const { server, ask, heard, errors } = await start(directory, clock, network);
    await clock.run(100);

    const channels = (await ask('GET', '/channels')) as Channel[];
    assert.equal(channels.map((each) => `${each.name.split('-')[0]} ${each.state}`).sort(), [
      'PJSIP/alice Up',
      'PJSIP/bob Up',
    ]);
    assert.equal(((await ask('GET', '/bridges/b1')) as { channels: string[] }).channels, ['bob']);
    assert.is(((await ask('GET', '/mailboxes/m1')) as { new_messages: number }).new_messages, 2);
    // What the application missed comes first.
    assert.equal(heard.map(({ type }) => type).slice(0, 2), ['ResumePoint', 'DeviceStateChanged']);

    // The subscription and the registration: a NOTIFY in its dialog, and a call to the Contact.
    await ask('PUT', '/deviceStates/Stasis%3Adoor?deviceState=INUSE');
    await clock.run(100);
    const notify = carol!.heard.find((each) => each.startsWith('NOTIFY'));
    assert.equal([headerIn(notify, 'Call-ID'), notify?.includes('confirmed')], ['watches', true]);
    assert.is(((await ask('GET', '/endpoints/PJSIP/carol')) as { state: string }).state, 'online');
    await ask('POST', '/channels?endpoint=PJSIP/carol&app=desk&channelId=carol');
    await clock.run(100);
    const invite = carol!.heard.find((each) => each.startsWith('INVITE'));
    assert.is(firstLine(invite), 'INVITE sip:carol@10.0.0.4:5060 SIP/2.0');

    await ask('POST', '/recordings/live/r1/stop');
    const recording = join(directory, 'data', 'recordings', 'r1.ulaw');
    await untilAsked(
      async () => {
        await clock.run(20);
        return existsSync(recording);
      },
      () => 'the recording is not finished',
    );
    assert.ok(readFileSync(recording).length > 0);

    // Both calls end in their dialogs.
    for (const { id } of channels) await ask('DELETE', `/channels/${id}`);
    await clock.run(100);
    const byes = [alice, bob].map((phone) => phone!.heard.find((each) => each.startsWith('BYE')));
    assert.equal(
      byes.map((bye) => headerIn(bye, 'CSeq').split(' ')[1]),
      ['BYE', 'BYE'],
    );
    assert.equal(errors, []);

    server.powerOff();
    await Promise.all([alice, bob, carol].map((phone) => phone?.close()));
    rmSync(directory, { recursive: true });
  });

earlier.run();
