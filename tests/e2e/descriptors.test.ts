import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../support/free-port.ts';
import { untilAsked } from '../support/waiting.ts';

const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
/** Descriptors of the server, calls that are tried, and connections to its SIP port. */
const descriptors = 256;
const calls = 150;
const connections = 300;

const invite = (call: number, to: number, from: number): string => {
  const body = [
    ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'],
    ...[`m=audio ${30_000 + 2 * call} RTP/AVP 0`, ''],
  ].join('\r\n');
  return [
    `INVITE sip:echo@127.0.0.1:${to} SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.1:${from};branch=z9hG4bK-${call}`,
    `From: <sip:flood@127.0.0.1>;tag=${call}`,
    ...[`To: <sip:echo@127.0.0.1:${to}>`, `Call-ID: flood-${call}`, 'CSeq: 1 INVITE', 'Max-Forwards: 70'],
    ...[`Contact: <sip:flood@127.0.0.1:${from}>`, 'Content-Type: application/sdp'],
    ...[`Content-Length: ${body.length}`, '', body],
  ].join('\r\n');
};

/** Sends calls one by one. @returns the final status of each. */
async function flood(port: number): Promise<number[]> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const final = new Map<string, number>();
  socket.on('message', (message) => {
    const text = message.toString();
    const [, status = '0'] = /^SIP\/2.0 (\d+)/.exec(text) ?? [];
    const [, call = ''] = /^Call-ID: (\S+)/im.exec(text) ?? [];
    if (Number(status) >= 200 && !final.has(call)) final.set(call, Number(status));
  });
  for (let call = 0; call < calls; call++) {
    socket.send(invite(call, port, socket.address().port), port, '127.0.0.1');
    await untilAsked(
      () => final.has(`flood-${call}`),
      () => `call ${call} got no final response`,
    );
  }
  socket.close();
  return [...final.values()];
}

test('HTTP is answered while calls and SIP connections use up the file descriptors', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-descriptors-'));
  const sip = await freePort();
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOOKSWITCH_'));
  const env = {
    ...Object.fromEntries(inherited),
    ...{ HOOKSWITCH_HTTP_PORT: '0', HOOKSWITCH_SIP_PORT: `${sip}`, HOOKSWITCH_RTP_PORTS: '0-0' },
    ...{ HOOKSWITCH_DATA: join(directory, 'data'), HOOKSWITCH_LOG_LEVEL: 'silent' },
  };
  const limited = `ulimit -n ${descriptors} && exec "$0" "$@"`;
  const child: ChildProcess = spawn('sh', ['-c', limited, process.execPath, program, 'serve'], { cwd: directory, env });
  const sockets: Socket[] = [];
  let written = '';
  child.stdout!.on('data', (chunk) => (written += chunk));
  child.stderr!.on('data', (chunk) => (written += chunk));
  try {
    const address = () => /(http:\/\/\S+)\/ari/.exec(written)?.[1];
    const health = async () => {
      const answer = await fetch(`${address()}/health/ready`, { headers: { connection: 'close' } });
      await answer.text();
      return answer.status;
    };
    await untilAsked(
      async () => address() !== undefined && (await health()) === 200,
      () => `it takes no calls: ${written}`,
    );
    for (let each = 0; each < connections; each++)
      sockets.push(connect(sip, '127.0.0.1').on('error', () => {}) as Socket);
    const statuses = await flood(sip);
    const [answered, refused] = [
      statuses.filter((status) => status === 200),
      statuses.filter((status) => status >= 400),
    ];
    assert.is(answered.length + refused.length, calls);
    assert.ok(answered.length > 10, `${answered.length} calls were answered`);
    assert.ok(refused.length > 10, `${refused.length} calls were refused`);
    for (let each = 0; each < 20; each++) assert.is(await health(), 200);
  } finally {
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  }
});

test.run();
