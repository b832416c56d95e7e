import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Compile } from 'typebox/compile';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallPage } from '../../src/models/call.ts';
import { CallDetailRecord } from '../../src/models/call-detail-record.ts';
import { inWorld, type World } from './world.ts';

const records = suite('call detail records');
const seconds = 1_000;
const model = Compile(CallDetailRecord);
const desk = 'the application desk is not connected';
const toFile = { watch: { cdr: { file: 'cdr/calls.jsonl', variables: ['ORDER', 'NOTHING'] } } };

/** Ids and names by the order in which they appear; times as seconds since the first. */
function readable(lines: readonly Record<string, unknown>[]): object[] {
  const names = new Map<string, string>();
  const nameOf = (text: string) => {
    if (!names.has(text)) names.set(text, `#${names.size + 1}`);
    return names.get(text);
  };
  const first = Date.parse(String(lines[0]?.['start']));
  const shown = (key: string, value: unknown): unknown => {
    if (['uniqueid', 'linkedid', 'protocol_id'].includes(key)) return nameOf(String(value));
    if (['start', 'answer', 'end'].includes(key)) return (Date.parse(String(value)) - first) / 1000;
    const text = JSON.stringify(value).replaceAll(/-[0-9a-f]{8}(?=["&,])/g, '-x');
    return JSON.parse(text) as unknown;
  };
  return lines.map(({ id: _id, system: _system, ...fields }) =>
    Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, shown(key, value)])),
  );
}

/** What was written; the server is closed for it. */
async function written(world: World): Promise<Record<string, unknown>[]> {
  await world.server.close();
  const file = join(world.directory, 'cdr', 'calls.jsonl');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const made = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const record of made) assert.ok(model.Check(record), JSON.stringify(model.Errors(record)));
  assert.is(new Set(made.map(({ id }) => id)).size, made.length);
  return made;
}

records('both legs of a call have one, with the words of Asterisk and ours', () =>
  inWorld(
    async (world) => {
      const { clock, call } = world;
      await clock.run(1 * seconds);
      const out = call('201');
      await clock.run(2 * seconds);
      await clock.run(8 * seconds);
      out.leg.hangup(16);
      await clock.run(1 * seconds);
      const quality = { rx_lost: 0, rx_late: 0, rx_jitter_ms: 0, tx_lost: 0, tx_jitter_ms: 0 };
      const common = {
        ...{ accountcode: '', clid: '"Alice" <100>', src: '100', lastapp: 'Dial', lastdata: 'PJSIP/bob,30' },
        ...{ codec: 'ulaw', disposition: 'ANSWERED', dcontext: 'default', technology: 'PJSIP', applications: [] },
        ...{ start: 0, answer: 0, end: 10, duration: 10, billsec: 10, duration_ms: 10_000, billable_ms: 10_000 },
        ...{ cause: 16, cause_text: 'Normal Clearing' },
      };
      const made = readable(await written(world));
      assert.equal(
        made.map((record) => ({ ...record, quality: undefined })),
        [
          {
            ...common,
            ...{ dst: 'bob', channel: 'PJSIP/bob-x', dstchannel: 'PJSIP/alice-x', uniqueid: '#1', linkedid: '#2' },
            ...{ lastapp: '', lastdata: '' },
            ...{ direction: 'out', endpoint: 'bob', peers: ['PJSIP/alice-x'], protocol_id: '#3', by: 'dialplan' },
            ...{ outcome: 'answered', outcome_reason: 'answered' },
            ...{ recordings: [], variables: {}, quality: undefined },
          },
          {
            ...common,
            ...{ dst: '201', channel: 'PJSIP/alice-x', dstchannel: 'PJSIP/bob-x', uniqueid: '#2', linkedid: '#2' },
            ...{
              direction: 'in',
              endpoint: 'alice',
              source: '10.0.0.2:5060',
              peers: ['PJSIP/bob-x'],
              protocol_id: '#4',
              ...{ outcome: 'answered', outcome_reason: 'answered', by: 'farSide' },
            },
            ...{ recordings: [], variables: { ORDER: '4711', 'CDR(company)': 'acme' }, quality: undefined },
          },
        ],
      );
      assert.equal(
        made.map((record) => (record as { quality: object }).quality),
        [
          { rx: 500, tx: 500, ...quality, rtt_ms: 0 },
          { rx: 500, tx: 500, ...quality, rtt_ms: 0 },
        ],
      );
    },
    { ...toFile, alice: { variables: { ORDER: '4711', 'CDR(company)': 'acme', OTHER: '1' } } },
  ),
);

records('a recording of a bridge belongs to its members, one of a snoop to the channel that it listens to', () =>
  inWorld(async (world) => {
    const { clock, ask, server, alice } = world;
    server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
    await clock.run(1 * seconds);
    const early = world.call('desk');
    await clock.run(1 * seconds);
    const late = alice.dial('sip:desk@10.0.0.1:5060');
    await clock.run(1 * seconds);
    const [first, second] = await ask<{ id: string }[]>('GET', '/ari/channels');
    for (const each of [first, second]) await ask('POST', `/ari/channels/${each?.id}/answer`);
    const { id } = await ask<{ id: string }>('POST', '/ari/bridges');
    await ask('POST', `/ari/bridges/${id}/addChannel?channel=${first?.id}`);
    await ask('POST', `/ari/bridges/${id}/record?name=room&format=wav`);
    await ask('POST', `/ari/channels/${first?.id}/snoop?spy=both&app=desk&snoopId=ear`);
    await clock.run(1 * seconds);
    await ask('POST', '/ari/channels/ear/record?name=heard&format=wav');
    // Files are opened in the time of the system.
    const stateOf = async (name: string) => (await ask<{ state: string }>('GET', `/ari/recordings/live/${name}`)).state;
    for (const name of ['room', 'heard']) while ((await stateOf(name)) !== 'recording') await clock.run(20);
    await ask('POST', `/ari/bridges/${id}/addChannel?channel=${second?.id}`);
    await clock.run(1 * seconds);
    const legs = server.dump().calls.legs ?? [];
    assert.equal(
      legs.map(({ recordings }) => recordings),
      [['room', 'heard'], ['room']],
    );
    early.leg.hangup(16);
    late.leg.hangup(16);
    // Files are completed in the time of the system.
    while (server.channels() > 0) await clock.run(100);
    const made = await written(world);
    assert.equal(
      made.map(({ uniqueid, recordings, applications }) => [uniqueid, recordings, applications]),
      [
        [first?.id, ['room', 'heard'], ['desk']],
        [second?.id, ['room'], ['desk']],
      ],
    );
  }, toFile),
);

records('what became of a call that was not taken is said in the words of Asterisk', () =>
  inWorld(async (world) => {
    const { clock, call, server, ask } = world;
    server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
    for (const reason of ['busy', 'congestion', 'no_answer', 'unallocated', 'normal']) {
      call('desk');
      await clock.run(1 * seconds);
      const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
      await ask('DELETE', `/ari/channels/${channel?.id}?reason=${reason}`);
      await clock.run(1 * seconds);
    }
    const made = await written(world);
    assert.equal(
      made.map(({ disposition, cause, billsec, billable_ms, duration, by, answer }) => [
        ...[disposition, cause, billsec, billable_ms, duration, by, answer],
      ]),
      [
        ['BUSY', 17, 0, 0, 1, 'application', undefined],
        ['CONGESTION', 34, 0, 0, 1, 'application', undefined],
        ['NO ANSWER', 19, 0, 0, 1, 'application', undefined],
        ['FAILED', 1, 0, 0, 1, 'application', undefined],
        ['NO ANSWER', 16, 0, 0, 1, 'application', undefined],
      ],
    );
  }, toFile),
);

records('a call whose application is not connected has failed, and its record and its call say why', () =>
  inWorld(async (world) => {
    const { clock, call, ask } = world;
    call('desk');
    call('answered');
    await clock.run(1 * seconds);
    await ask('POST', '/ari/channels?endpoint=PJSIP/bob&app=sales');
    await clock.run(1 * seconds);
    const { calls } = await ask<CallPage>('GET', '/hookswitch/calls');
    assert.equal(
      calls.map(({ channels }) => channels.map(({ failure }) => failure)).toReversed(),
      [desk, desk, 'the application sales is not connected'].map((each) => [each]),
    );
    const made = await written(world);
    assert.equal(
      made.map(({ disposition, reason }) => [disposition, reason]),
      [
        ['FAILED', desk],
        ['ANSWERED', desk],
        ['ANSWERED', 'the application sales is not connected'],
      ],
    );
  }, toFile),
);

records('a call that is hung up because its application stays away has failed, too', () =>
  inWorld(
    async (world) => {
      const { clock, call, server } = world;
      const application = server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
      call('desk');
      await clock.run(1 * seconds);
      application.close();
      await clock.run(6 * seconds);
      const made = await written(world);
      assert.equal(
        made.map(({ disposition, reason, by }) => [disposition, reason, by]),
        [['FAILED', desk, 'application']],
      );
    },
    { watch: { ...toFile.watch, away_policies: { desk: { after: 5, action: 'hangup' } } } },
  ),
);

records('a call that another application takes after all has not failed', () =>
  inWorld(async (world) => {
    const { clock, call, ask, server } = world;
    server.connect({ names: ['backup'], send: () => {}, describe: 'the test' });
    const out = call('either');
    await clock.run(1 * seconds);
    out.leg.hangup(16);
    await clock.run(1 * seconds);
    const { calls } = await ask<CallPage>('GET', '/hookswitch/calls');
    assert.equal(
      calls.map(({ channels }) => channels.map(({ failure }) => failure)),
      [[undefined]],
    );
    const made = await written(world);
    assert.equal(
      made.map(({ disposition, reason }) => [disposition, reason]),
      [['NO ANSWER', undefined]],
    );
  }, toFile),
);

records('an answered call that dies with the process has its record after the restart, once', () =>
  inWorld(async (world) => {
    const { clock, call, directory, lines } = world;
    const journal = join(directory, 'data', 'answered-calls.jsonl');
    /** When the process that writes the journal was last known to run. */
    const aliveAt = (): number => {
      const last = readFileSync(journal, 'utf8').trimEnd().split('\n').at(-1) ?? '';
      return last === '' ? 0 : (JSON.parse(last) as { at: number }).at;
    };
    const ended = call('echo');
    await clock.run(1 * seconds);
    ended.leg.hangup(16);
    await clock.run(1 * seconds);
    call('echo');
    await clock.run(25 * seconds);
    while (aliveAt() < clock.now()) await clock.run(0);
    await world.crash();
    assert.ok(lines.some(({ msg }) => msg === 'wrote the call detail records of calls that a crash ended'));
    await clock.run(1 * seconds);
    await world.server.close();
    await world.crash();
    const made = await written(world);
    assert.equal(
      made.map(({ disposition, by, cause, reason, billable_ms, duration }) => [
        ...[disposition, by, cause, reason, billable_ms, duration],
      ]),
      [
        ['ANSWERED', 'farSide', 16, undefined, 1_000, 1],
        ['ANSWERED', 'fault', 41, 'the server ended while the call was up', 25_000, 25],
      ],
    );
  }, toFile),
);

records('a call that another process goes on with has one record, though the journal has it as answered', () =>
  inWorld(async (world) => {
    const { clock, call, directory } = world;
    const journal = join(directory, 'data', 'answered-calls.jsonl');
    const out = call('echo');
    await clock.run(1 * seconds);
    while (!readFileSync(journal, 'utf8').endsWith('\n')) await clock.run(0);
    await world.restoreSnapshot();
    await clock.run(1 * seconds);
    out.leg.hangup(16);
    await clock.run(1 * seconds);
    const made = await written(world);
    assert.equal(
      made.map(({ dst, reason }) => [dst, reason]),
      [['echo', undefined]],
    );
  }, toFile),
);

records('a file that was renamed is begun anew when asked to, and so are the audit log and log files', () =>
  inWorld(
    async (world) => {
      const { clock, call, server, directory, ask, lines } = world;
      await ask('POST', '/ari/asterisk/logging/app.log?configuration=notice');
      const files = ['cdr/calls.jsonl', 'audit.jsonl', 'app.log'].map((name) => join(directory, name));
      for (const round of ['before', 'after']) {
        const out = call('echo');
        await clock.run(1 * seconds);
        out.leg.hangup(16);
        await clock.run(1 * seconds);
        await ask('PUT', `/ari/deviceStates/Stasis:${round}?deviceState=INUSE`);
        if (round === 'after') continue;
        for (const file of files) renameSync(file, `${file}.renamed`);
        server.reopenFiles();
      }
      await server.close();
      const count = (file: string) => readFileSync(file, 'utf8').split('\n').length - 1;
      assert.equal(
        files.slice(0, 2).map((file) => [count(`${file}.renamed`), count(file)]),
        [
          [1, 1],
          [2, 1],
        ],
      );
      assert.ok(count(files[2] ?? '') > 0, JSON.stringify(lines));
    },
    { watch: { ...toFile.watch, audit: { file: 'audit.jsonl' } } },
  ),
);

records('a call that another process goes on with is told as one, in the log and in its record', () =>
  inWorld(async (world) => {
    const { clock, ask, call, lines } = world;
    world.server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });
    const out = call('desk');
    await clock.run(2 * seconds);
    const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
    await ask('POST', `/ari/channels/${channel?.id}/answer`);
    await clock.run(3 * seconds);
    await world.restoreSnapshot();
    await clock.run(4 * seconds);
    out.leg.hangup(16);
    await clock.run(1 * seconds);
    const ended = lines.filter(({ msg }) => msg === 'a call has ended');
    assert.equal(
      ended.map(({ duration_s, talk_s, applications }) => [duration_s, talk_s, applications]),
      [[9, 7, ['desk']]],
    );
    const made = await written(world);
    assert.equal(
      made.map(({ duration_ms, billable_ms, applications, recordings }) => [
        ...[duration_ms, billable_ms, applications, recordings],
      ]),
      [[9_000, 7_000, ['desk'], []]],
    );
  }, toFile),
);

records(
  'a webhook is told each at least once: what it did not take waits on the disk, and is told by the next process',
  async () => {
    const heard: string[][] = [];
    const answers = [503, 200];
    let told = (): void => {};
    const listener = async (request: IncomingMessage, response: ServerResponse) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      heard.push((JSON.parse(text) as { records: { linkedid: string }[] }).records.map(({ linkedid }) => linkedid));
      response.writeHead(answers.shift() ?? 200).end(() => told());
    };
    const server = createServer((request, response) => void listener(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/calls`;
    const nextPost = () =>
      new Promise<void>((resolve) => {
        told = resolve;
      });
    try {
      await inWorld(
        async (world) => {
          const { clock, call, lines, directory } = world;
          const spool = join(directory, 'data', 'cdr-spool');
          const out = call('echo');
          await clock.run(1 * seconds);
          const refused = nextPost();
          out.leg.hangup(16);
          await clock.run(1 * seconds);
          await refused;
          const taken = nextPost();
          await world.restoreSnapshot();
          await taken;
          while (readdirSync(spool).length > 0) await clock.run(0);
          await world.server.close();
          const [first] = lines.filter(({ msg }) => msg === 'a call comes in');
          assert.equal(heard, [[first?.['call']], [first?.['call']]]);
          assert.equal(readdirSync(spool), []);
        },
        { watch: { cdr: { webhook: { url, retry: 100 } } } },
      );
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },
);

records('the page about them shows one that is as the model says', () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/call-detail-records.md', import.meta.url)), 'utf8');
  const [, example = ''] = /```json\n(\{[^`]*\})\n```/.exec(page) ?? [];
  const record: unknown = JSON.parse(example);
  assert.ok(model.Check(record), JSON.stringify(model.Errors(record)));
});

records('calls without a common codec have records with the reason, a limited number in a minute', () =>
  inWorld(
    async (world) => {
      const { clock, call, lines } = world;
      await clock.run(1 * seconds);
      for (let index = 0; index < 5; index++) {
        call('echo');
        await clock.run(1 * seconds);
      }
      await clock.run(60 * seconds);
      call('echo');
      await clock.run(1 * seconds);
      const refused = lines.filter(({ msg }) => msg === 'a call is refused');
      assert.equal(
        refused.map(({ status }) => status),
        new Array(6).fill(488),
      );
      const made = readable(await written(world));
      const reason = refused[0]?.['reason'];
      const common = {
        ...{ accountcode: '', src: '100', dst: 'echo', dcontext: 'default', clid: '100', channel: '', dstchannel: '' },
        ...{ lastapp: '', lastdata: '', duration: 0, billsec: 0, duration_ms: 0, billable_ms: 0 },
        ...{ disposition: 'FAILED', uniqueid: '#1', linkedid: '#1', direction: 'in', technology: 'PJSIP' },
        ...{ endpoint: 'alice', peers: [], source: '10.0.0.2:5060', applications: [], recordings: [], variables: {} },
        ...{ outcome: 'refused', outcome_reason: reason, reason, by: 'server', sip_status: 488 },
        ...{ cause: 58, cause_text: 'Bearer capability not available' },
      };
      assert.equal(made, [
        { ...common, protocol_id: '#2', start: 0, end: 0 },
        { ...common, protocol_id: '#3', start: 1, end: 1 },
        { ...common, protocol_id: '#4', start: 65, end: 65, left_out: 3 },
      ]);
    },
    { watch: { cdr: { file: 'cdr/calls.jsonl', refused_calls: 2 } }, alice: { codecs: ['slin48'] } },
  ),
);

records.run();
