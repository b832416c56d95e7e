import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import { keepCompiledCode } from '../lib/heap.ts';
import { createLogging } from '../logging.ts';
import { ManualClock } from './manual-clock.ts';
import { type VirtualHost, VirtualNetwork } from './network.ts';
import { startVirtualServer, type VirtualServer } from './server.ts';

/**
 * Runs the code that reads and restores the state of a server before there is one to restore: the first run of code takes several
 * times as long as later ones, and calls are silent meanwhile. A server on a simulated network takes calls, loses its
 * power, and goes on from its state store, several times. Nothing of the real server is touched.
 * @param isWanted false: it ends soon. @returns the channels that went on at last.
 */
export async function warmUpRestore(isWanted: () => boolean = () => true, rounds = standardRounds): Promise<number> {
  keepCompiledCode();
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-warm-up-'));
  try {
    return await playIn(directory, rounds, isWanted);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const standardRounds = 3;
const callsOfRound = 20;
/** Simulated time after each start, in ms: sockets open, and audio flows. */
const roundMs = 60;

const [serverAddress, phoneAddress] = ['10.0.0.1', '10.0.0.2'];
const sipPort = 5060;
const application = 'warm-up';
const extensions = ['echo', 'room', 'desk'] as const;

const settings = (directory: string): Record<string, unknown> => ({
  general: { data_directory: directory, log_level: 'error', entity_id: application },
  http: { users: [{ name: application, password: application }] },
  sip: {
    transports: [{ protocol: 'udp', bind: serverAddress, port: sipPort }],
    endpoints: { anonymous: { match: [phoneAddress] } },
  },
  media: { rtp_address: serverAddress, threads: 1, warm_up: false },
  dialplan: {
    default: { echo: ['Answer', 'Echo'], room: ['Answer', 'ConfBridge(1)'], desk: [`Stasis(${application})`] },
  },
  state_store: { on: true },
});

async function playIn(directory: string, rounds: number, isWanted: () => boolean): Promise<number> {
  const clock = new ManualClock();
  const network = new VirtualNetwork({ clock });
  const [host, phone] = [network.host(serverAddress), network.host(phoneAddress)];
  const dataOf = (round: number): string => join(directory, String(round));
  const start = async (round: number): Promise<VirtualServer> => {
    const config = loadConfig({ settings: { values: settings(dataOf(round)), directory }, env: {} });
    const logging = createLogging(config, { write: () => {} }, clock);
    const server = await startVirtualServer({ config, clock, host, logging });
    server.connect({ names: [application], send: () => {}, describe: application });
    await clock.run(roundMs);
    return server;
  };
  const callers = await openCallers(phone);
  let server = await start(0);
  for (let call = 0; call < callsOfRound; call++) callers.call(extensions[call % extensions.length]!, call);
  await clock.run(roundMs);
  let restored = 0;
  for (let round = 1; round <= rounds && isWanted(); round++) {
    // The next server goes on from a copy: the end of this one in order takes its calls out of its own file.
    cpSync(dataOf(round - 1), dataOf(round), { recursive: true });
    await close(server, clock);
    server = await start(round);
    restored = server.channels();
  }
  await close(server, clock);
  await callers.close();
  return restored;
}

/** Closes a server, while simulated time goes on. */
async function close(server: VirtualServer, clock: ManualClock): Promise<void> {
  const closing = { isOver: false };
  const closed = server.close().finally(() => {
    closing.isOver = true;
  });
  while (!closing.isOver) await clock.run(roundMs);
  await closed;
}

/** Phones of one address that call, acknowledge the answer, and take the end. */
async function openCallers(host: VirtualHost) {
  const socket = await host.openUdp({
    listen: { protocol: 'udp', host: phoneAddress, port: sipPort },
    onDatagram(bytes) {
      const text = String(bytes);
      if (text.startsWith('BYE '))
        send(text.replace(/^BYE .*$/m, 'SIP/2.0 200 OK').replace(/^(?:Contact|User-Agent|Reason): .*\r\n/gm, ''));
      if (!text.startsWith('SIP/2.0 200') || !/^CSeq: 1 INVITE/m.test(text)) return;
      const line = (name: string): string => new RegExp(`^${name}: .*$`, 'm').exec(text)?.[0] ?? '';
      const [callId, from, to] = [line('Call-ID'), line('From'), line('To')];
      send(request('ACK', to.slice(4), { callId, from, to }));
    },
    onError: () => {},
  });
  const send = (text: string): void => socket.send(Buffer.from(text), serverAddress, sipPort, () => {});
  return {
    call(extension: string, nth: number): void {
      const uri = `sip:${extension}@${serverAddress}`;
      const lines = {
        callId: `Call-ID: ${nth}@warm`,
        from: `From: <sip:${nth}@${phoneAddress}>;tag=${nth}`,
        to: `To: <${uri}>`,
      };
      send(request('INVITE', uri, lines, offer(20_000 + 2 * nth)));
    },
    close: () => socket.close(),
  };
}

type Lines = { callId: string; from: string; to: string };

const request = (method: string, uri: string, { callId, from, to }: Lines, body = ''): string =>
  [
    `${method} ${/<([^<>]*)>/.exec(uri)?.[1] ?? uri} SIP/2.0`,
    `Via: SIP/2.0/UDP ${phoneAddress}:${sipPort};branch=z9hG4bK${method}${callId.slice(9)}`,
    ...['Max-Forwards: 70', from, to, callId, `CSeq: 1 ${method}`, `Contact: <sip:${phoneAddress}:${sipPort}>`],
    ...(body === '' ? [] : ['Content-Type: application/sdp']),
    ...[`Content-Length: ${body.length}`, '', body],
  ].join('\r\n');

const offer = (port: number): string =>
  [
    ...['v=0', `o=- 1 1 IN IP4 ${phoneAddress}`, 's=-', `c=IN IP4 ${phoneAddress}`, 't=0 0'],
    ...[`m=audio ${port} RTP/AVP 0 8 101`, 'a=rtpmap:101 telephone-event/8000', 'a=ptime:20', ''],
  ].join('\r\n');
