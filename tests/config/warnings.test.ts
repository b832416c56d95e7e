import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../src/config/load.ts';
import { callable, echoUri, warningsOf } from '../../src/config/warnings.ts';

const machine = {
  addresses: ['192.168.1.5', 'fe80::1', '2001:db8::5'],
  hasDirectory: (path: string) => path === '/there' || path.endsWith('/sounds'),
};

function load(yaml: string) {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-warnings-'));
  try {
    writeFileSync(join(directory, 'hookswitch.yaml'), yaml);
    return loadConfig({ file: join(directory, 'hookswitch.yaml'), env: {}, secret: () => 'made up' });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

for (const { what, yaml, told } of [
  { what: 'nothing', yaml: '{}', told: [] },
  {
    what: 'HTTP and SIP on one port',
    yaml: 'http: { port: 5060, bind: 0.0.0.0 }',
    told: ['http.port: SIP over tcp uses port 5060 too; change one of them'],
  },
  {
    what: 'directories that are not there',
    yaml: 'sounds: { directories: [builtin, /gone, /there], music: [/silent] }',
    told: ['sounds.directories: there is no directory /gone', 'sounds.music: there is no directory /silent'],
  },
  {
    what: 'addresses of others',
    yaml: 'http: { bind: 192.0.2.1 }\nmedia: { rtp_address: 192.0.2.2 }\nsip: { transports: [{ protocol: udp, bind: 192.0.2.3 }] }',
    told: [
      'sip.transports: 192.0.2.3 is not an address of this machine',
      'http.bind: 192.0.2.1 is not an address of this machine',
      'media.rtp_address: 192.0.2.2 is not an address of this machine',
    ],
  },
  {
    what: 'audio that nobody hears',
    yaml: 'media: { rtp_address: 127.0.0.1 }\nsip: { transports: [{ protocol: udp, bind: 0.0.0.0 }] }',
    told: [
      'media.rtp_address: 127.0.0.1 reaches only this machine, but SIP listens for others: calls will have no audio',
    ],
  },
  {
    what: 'one user name twice, and everybody without a password',
    yaml: 'sip: { endpoints: { a: { auth: { username: x, password: p } }, b: { auth: { username: x, password: q } }, anonymous: { match: [0.0.0.0/0] } } }',
    told: [
      'sip.endpoints.b: a has the same user name x; only one of them can be identified by it',
      'sip.endpoints.anonymous: 0.0.0.0/0 lets any address call as anonymous without a password; see docs/security.md',
    ],
  },
])
  test(`warned of: ${what}`, () => assert.equal(warningsOf(load(yaml), machine), told));

for (const { binds, address } of [
  { binds: ['127.0.0.1'], address: '127.0.0.1' },
  { binds: ['192.168.1.5', '192.168.1.5'], address: '192.168.1.5' },
  { binds: ['0.0.0.0'], address: '0.0.0.0' },
  { binds: ['192.168.1.5', '10.0.0.1'], address: '0.0.0.0' },
  { binds: ['::', '::1'], address: '::' },
  { binds: ['127.0.0.1', '::1'], address: '::' },
  { binds: ['0.0.0.0', '::'], address: '::' },
  { binds: [], address: '127.0.0.1' },
])
  test(`audio follows SIP on ${binds.join(' and ') || 'no address'}`, () => {
    const transports = binds.map((bind, index) => ({ protocol: 'udp', bind, port: 5060 + index }));
    assert.is(load(JSON.stringify({ sip: { transports } })).media.rtp_address, address);
    const own = load(JSON.stringify({ sip: { transports }, media: { rtp_address: '10.9.9.9' } }));
    assert.is(own.media.rtp_address, '10.9.9.9');
  });

for (const [what, yaml, listening, expected] of [
  ['the defaults', '{}', { udp: ['127.0.0.1:5060'] }, 'sip:echo@127.0.0.1:5060'],
  ['all addresses', '{}', { udp: ['[::]:5060', '0.0.0.0:5080'] }, 'sip:echo@127.0.0.1:5080'],
  ['TCP alone', '{}', { tcp: ['127.0.0.1:5060'] }, 'sip:echo@127.0.0.1:5060'],
  ['another address', '{}', { udp: ['192.168.1.5:5060'] }, undefined],
  ['TLS alone', '{}', { tls: ['127.0.0.1:5061'] }, undefined],
  ['no SIP', '{}', {}, undefined],
  ['accounts alone', 'sip: { endpoints: { a: { auth: { username: a } } } }', { udp: ['127.0.0.1:5060'] }, undefined],
  ['a dialplan without it', 'dialplan: { default: { s: [Hangup] } }', { udp: ['127.0.0.1:5060'] }, undefined],
] as const)
  test(`where a phone of this machine hears itself: ${what}`, () =>
    assert.is(echoUri(load(yaml), listening), expected));

test('an address that can be called stands for all of them', () => {
  const shown = ['0.0.0.0:5060', '[::]:5060', 'http://0.0.0.0:8088/ari', '10.0.0.1:5060', '127.0.0.1:5060'];
  assert.equal(
    shown.map((each) => callable(each, machine)),
    ['192.168.1.5:5060', '[2001:db8::5]:5060', 'http://192.168.1.5:8088/ari', '10.0.0.1:5060', '127.0.0.1:5060'],
  );
  assert.is(callable('0.0.0.0:5060', { ...machine, addresses: [] }), '127.0.0.1:5060');
});

test.run();
