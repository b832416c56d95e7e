import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withoutSecrets } from '../../src/recorder/bundle.ts';
import { createCalls } from '../../src/recorder/calls.ts';
import { createLive } from '../../src/recorder/live.ts';
import type { RecorderSettings } from '../../src/recorder/recorder.ts';
import { createStuck } from '../../src/recorder/stuck.ts';
import { createCallControl } from '../support/call-control.ts';
import { need } from '../support/need.ts';
import { createTestRecorder, liveSettings } from '../support/recorder.ts';

const files = suite('a call in files');

const local = { address: '192.0.2.1', port: 5060 };
const remote = { address: '192.0.2.9', port: 41_234 };
const far6 = { address: '2001:db8::9', port: 5070 };
const body = ['v=0', 'o=- 1 1 IN IP4 192.0.2.9', 's=-', 'c=IN IP4 192.0.2.9', 't=0 0', 'm=audio 4000 RTP/SAVP 0', ''];
const key = 'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:PLANTED-SRTP-KEY';

const invite = (): Buffer => {
  const sdp = [...body.slice(0, -1), key, 'a=sendrecv', ''].join('\r\n');
  return message('INVITE sip:100@192.0.2.1 SIP/2.0', 'INVITE', sdp, [
    'Authorization: Digest username="alice", realm="x",',
    ' nonce="PLANTED-NONCE", response="PLANTED-RESPONSE"',
    'Contact: <sip:alice@192.0.2.9:41234>',
  ]);
};
const message = (first: string, method: string, sdp = '', more: string[] = []): Buffer =>
  Buffer.from(
    [
      first,
      'Via: SIP/2.0/UDP 192.0.2.9:41234;branch=z9hG4bK1',
      'From: <sip:alice@192.0.2.9>;tag=1',
      'To: <sip:100@192.0.2.1>;tag=2',
      'Call-ID: call-1',
      `CSeq: 1 ${method}`,
      ...more,
      ...(sdp ? ['Content-Type: application/sdp'] : []),
      `Content-Length: ${sdp.length}`,
      '',
      sdp,
    ].join('\r\n'),
  );

/** A call that came in by SIP, was answered, and ended. */
function record(changes: Partial<RecorderSettings> = {}) {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock, changes);
  world.connect('desk');
  recorder.sip('in', invite(), local, { ...remote, protocol: 'udp' });
  const leg = world.incoming('a');
  recorder.sip('out', message('SIP/2.0 200 OK', 'INVITE'), local, { ...remote, protocol: 'udp' });
  recorder.sip(
    'in',
    message('BYE sip:100@[2001:db8::1] SIP/2.0', 'BYE'),
    { address: '2001:db8::1', port: 5060 },
    { ...far6, protocol: 'tcp' },
  );
  leg.report({ type: 'leg.hungUp', cause: 16 });
  const server = {
    versions: { hookswitch: '1' },
    config: () => ({
      http: { users: [{ name: 'a', password: 'PLANTED-PASSWORD', password_hash: 'scrypt$PLANTED-HASH' }] },
      applications: { a: { url: 'wss://me:PLANTED-IN-URL@example.org/ari', username: 'me', password: 'PLANTED-APP' } },
      sip: { endpoints: { alice: { password: 'PLANTED-SIP' } } },
    }),
  };
  return {
    world,
    recorder,
    calls: createCalls(recorder, createStuck({ recorder, lagging: () => [] }), server),
  };
}

need('tshark').test(files, 'tshark reads the capture', (tshark) => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-pcap-'));
  try {
    for (const bodies of [false, true]) {
      const { calls, recorder } = record({ bodies });
      const file = join(directory, 'call.pcap');
      writeFileSync(file, calls.pcap('a'));
      const fields = [
        'ip.src',
        'ipv6.src',
        'udp.srcport',
        'sip.Request-Line',
        'sip.Status-Line',
        'sip.Call-ID',
        'sdp.media',
      ];
      const read = execFileSync(
        tshark,
        ['-r', file, '-T', 'fields', '-E', 'separator=|', ...fields.flatMap((field) => ['-e', field])],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
      );
      assert.equal(read.trim().split('\n'), [
        `192.0.2.9||41234|INVITE sip:100@192.0.2.1 SIP/2.0||call-1|${bodies ? 'audio 4000 RTP/SAVP 0' : ''}`,
        '192.0.2.1||5060||SIP/2.0 200 OK|call-1|',
        '|2001:db8::9|5070|BYE sip:100@[2001:db8::1] SIP/2.0||call-1|',
      ]);
      recorder.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

files('a diagram shows who told whom what', () => {
  const { calls } = record();
  const diagram = calls.mermaid('a').split('\n');
  assert.is(diagram[0], 'sequenceDiagram');
  const participants = Object.fromEntries(
    diagram.flatMap((line) => {
      const [, name, label] = /^ {2}participant (\w+) as (.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[label, name]];
    }),
  );
  const [server, phone, channel] = [
    participants['Hookswitch'],
    participants['SIP 192.0.2.9#58;41234'],
    participants['channel a'],
  ];
  assert.ok(diagram.includes(`  ${phone}->>${server}: INVITE sip#58;100@192.0.2.1 SIP/2.0`));
  assert.ok(diagram.includes(`  Note over ${channel}: channel ring → hangingUp`));
});

files('no secret is in a timeline, a capture, a diagram or a bundle', () => {
  for (const bodies of [false, true]) {
    const { calls, recorder } = record({ bodies });
    const finish = recorder.requested({
      ...{
        at: 0,
        id: 'r',
        method: 'POST',
        path: '/ari/channels/a/answer',
        user: 'a',
        overWebSocket: false,
        looks: false,
      },
      query: '',
    });
    finish(204, 1);
    const written = [
      JSON.stringify(calls.get('a')),
      calls.mermaid('a'),
      calls.pcap('a').toString('latin1'),
      JSON.stringify(calls.bundle('a')),
      JSON.stringify(recorder.store.all()),
    ];
    assert.equal(
      written.map((text) => /PLANTED[\w-]*/.exec(text)?.[0]),
      written.map(() => undefined),
    );
    assert.match(written[0] ?? '', /Authorization: Digest \*\*\*/);
    assert.match(written[3] ?? '', /"password":"\*\*\*"/);
  }
});

files('settings that hold secrets are known by their names, addresses by what stands before the @', () => {
  assert.equal(withoutSecrets({ a: ['x://u:p@h/'], tls: { key: 'PEM', keys: { secret: { in: 1 } } }, password: '' }), {
    a: ['x://***@h/'],
    tls: { key: '***', keys: { secret: { in: 1 } } },
    password: '',
  });
});

files('digits and named variables are not shown where they are masked, in any form', () => {
  const mask = { digits: true, variables: new Set(['CARD']) };
  const { world, recorder, calls } = record({ mask, bodies: true });
  const { events } = world.connect('desk');
  const leg = world.incoming('b');
  leg.report({ type: 'leg.digit', digit: '7', durationMs: 100 });
  world.channels.tell(world.channels.get('b'), { type: 'variable.set', name: '__CARD', value: 'PLANTED-CARD' });
  recorder.sip('in', Buffer.from(`${message('INFO sip:b SIP/2.0', 'INFO')}Signal=7`), local, {
    ...remote,
    protocol: 'udp',
  });
  assert.equal(events, []);
  const text = `${JSON.stringify(calls.bundle('b'))}${calls.pcap('b').toString('latin1')}`;
  assert.not.match(text, /PLANTED-CARD|Signal=7|"digit":"7"/);
  assert.match(text, /"digit":"\*\*\*"/);
  assert.match(text, /"CARD":"\*\*\*"/);
  recorder.close();
});

files(
  'a call can be masked while it goes on: what was recorded before is hidden as well, and who watches is told anew',
  () => {
    const { world, recorder, calls } = record({ bodies: true });
    const live = createLive({
      ...{ recorder, calls, clock: world.clock, log: world.runtime.log, applications: () => [], stuck: () => [] },
      application: (name) => ({ name, connected: true, state: 'active', events: 0, missed: 0 }),
      settings: () => liveSettings,
    });
    world.connect('desk');
    const leg = world.incoming('b');
    leg.report({ type: 'leg.digit', digit: '7', durationMs: 100 });
    world.channels.tell(world.channels.get('b'), { type: 'variable.set', name: '__CARD', value: 'PLANTED-CARD' });
    const heard: string[] = [];
    live.watch({ kind: 'call', id: 'b' }, (json) => heard.push(json));
    assert.match(heard.join(), /"digit":"7".*PLANTED-CARD/);
    assert.equal(calls.mask('b', { variables: ['CARD'] }), { digits: false, variables: ['CARD'] });
    assert.equal(calls.mask('b', { digits: true }), { digits: true, variables: ['CARD'] });
    assert.equal(calls.mask('b', { digits: false, variables: [] }), { digits: true, variables: ['CARD'] });
    assert.equal(calls.get('b').masked, { digits: true, variables: ['CARD'] });
    assert.is(calls.get('a').masked, undefined);
    leg.report({ type: 'leg.digit', digit: '8', durationMs: 100 });
    world.clock.advance(1_000);
    const again = JSON.parse(heard.at(-1) ?? '') as { whole?: boolean };
    assert.is(again.whole, true);
    const text = `${heard.slice(1).join()}${JSON.stringify(calls.bundle('b'))}${calls.mermaid('b')}`;
    assert.not.match(text, /PLANTED-CARD|"digit":"[78]"/);
    assert.throws(() => calls.mask('nobody', { digits: true }), /has no record of this call/);
    live.close();
    recorder.close();
  },
);

files.run();
