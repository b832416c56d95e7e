import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Alarm, HistoryFigure } from '../../src/models/alarm.ts';
import type { WaitingFor } from '../../src/models/call.ts';
import { type AlarmSources, alarmsOf } from '../../src/watch/alarms.ts';
import { inWorld } from './world.ts';

const settings = { diskFree: 0.1, certificateMs: 14 * 86_400_000, failedShare: 0.3, lostMs: 86_400_000, banned: 3 };
const now = Date.UTC(2026, 0, 10);

/** A server where all is well. */
const quiet: AlarmSources = {
  ...{ now, lines: [], stuck: [], failed: [], disk: undefined, certificates: [], limits: [], lost: [], banned: [] },
  unwritten: undefined,
  history: { grew: () => 0, lowest: () => 0 },
};

/** Alarms of a server with these figures of the last minutes, where all else is well. */
function alarms(
  sources: Partial<Omit<AlarmSources, 'history'>>,
  grew: Partial<Record<HistoryFigure, number>> = {},
): Alarm[] {
  const value = (name: HistoryFigure) => grew[name] ?? 0;
  return alarmsOf({ ...quiet, ...sources, history: { grew: value, lowest: value } }, settings);
}
const short = (list: readonly Alarm[]) => list.map(({ kind, severity, text }) => [kind, severity, text]);

test('a server where all is well has no alarm', () => {
  const lines = [{ endpoint: 'PJSIP/a', server: 'sip:p', client: 'sip:c', status: 'Registered' as const }];
  const certificates = [{ subject: 'CN=a', until: now + 15 * 86_400_000 }];
  assert.equal(
    alarms({ lines, certificates, disk: { free: 11, size: 100 } }, { new_calls: 100, failed_calls: 29 }),
    [],
  );
});

test('a line that its provider refuses is critical; one that registers for the first time is not', () => {
  const line = { endpoint: 'PJSIP/trunk', server: 'sip:provider', client: 'sip:me' };
  const found = alarms({
    lines: [
      { ...line, status: 'Rejected', reason: '401 Unauthorized' },
      { ...line, status: 'Unregistered', reason: 'no response' },
      { ...line, status: 'Unregistered' },
    ],
  });
  assert.equal(short(found), [
    ['registration', 'critical', 'PJSIP/trunk is not registered at sip:provider: 401 Unauthorized'],
    ['registration', 'critical', 'PJSIP/trunk is not registered at sip:provider: no response'],
  ]);
  assert.is(found[0]?.object, 'PJSIP/trunk');
});

test('phones that were lost are one alarm, until they are back or a day has gone', () => {
  const lost = (endpoint: string, how: 'expired' | 'silent' = 'expired', since = now - 60_000) => ({
    endpoint,
    how,
    since,
  });
  const [one] = alarms({ lost: [lost('PJSIP/alice'), lost('PJSIP/old', 'silent', now - 86_400_001)] });
  assert.equal(
    [one?.kind, one?.severity, one?.text, one?.object, one?.since],
    ['phones', 'warning', 'PJSIP/alice cannot be reached: its registration expired', 'PJSIP/alice', now - 60_000],
  );
  const names = ['a', 'b', 'c', 'd', 'e'].map((each) => lost(`PJSIP/${each}`, 'silent'));
  const [many] = alarms({ lost: names });
  assert.equal(
    [many?.text, many?.count, many?.object],
    ['5 phones or lines cannot be reached: PJSIP/a, PJSIP/b, PJSIP/c and 2 more', 5, undefined],
  );
  const [both] = alarms({ lost: [lost('PJSIP/b', 'silent')] });
  assert.is(both?.text, 'PJSIP/b cannot be reached: it does not answer');
  assert.equal(alarmsOf({ ...quiet, lost: names }, { ...settings, lostMs: 0 }), []);
});

test('many banned addresses are an attack; a few are not', () => {
  const banned = (count: number) =>
    Array.from({ length: count }, (_, place) => ({ address: `192.0.2.${place}`, users: ['100', `${place}`] }));
  assert.equal(alarms({ banned: banned(2) }), []);
  const [found] = alarms({ banned: banned(4) });
  assert.equal(
    [found?.kind, found?.count, found?.text],
    ['attack', 4, '4 addresses are ignored after wrong passwords. Tried users: 100, 0, 1 and 2 more'],
  );
  assert.equal(alarmsOf({ ...quiet, banned: banned(4) }, { ...settings, banned: 0 }), []);
});

test('an application that is away warns; once calls miss it that is critical, with the calls', () => {
  const away: WaitingFor = { kind: 'application', object: 'desk', since: 5, expected_ms: 0, waits_for: 'it' };
  assert.equal(short(alarms({ stuck: [away] })), [['application', 'warning', 'The application desk is not connected']]);
  const [found] = alarms({ stuck: [away], failed: [{ call: 'c1', at: now, application: 'desk' }] });
  assert.equal([found?.severity, found?.since, found?.calls], ['critical', 5, ['c1']]);
  assert.is(found?.text, 'The application desk was not connected: 1 call in 10 minutes');
});

test('one-way audio and other stuck objects are two alarms, each with its calls once', () => {
  const base = { kind: 'object', chart: 'channel', since: 1, expected_ms: 0 } as const;
  const unheard = { ...base, state: 'up', waits_for: "the far side's audio: no packet has come" };
  const found = alarms({
    stuck: [
      { ...unheard, object: 'a', call: 'c1' },
      { ...unheard, object: 'b', call: 'c1' },
      { ...base, state: 'ring', object: 'c', call: 'c2', waits_for: 'the application desk to answer' },
    ],
  });
  assert.equal(
    found.map(({ kind, count, calls }) => [kind, count, calls]),
    [
      ['one_way_audio', 1, ['c1']],
      ['stuck', 1, ['c2']],
    ],
  );
});

test('failed calls are an alarm from their share on, if there are some', () => {
  assert.equal(alarms({}, { failed_calls: 2, new_calls: 2 }), []);
  const [some] = alarms({}, { failed_calls: 30, new_calls: 100 });
  assert.equal([some?.severity, some?.text], ['warning', '30 of 100 calls failed or were refused in 10 minutes']);
  assert.is(alarms({}, { failed_calls: 50, new_calls: 100 })[0]?.severity, 'critical');
  // Calls that began earlier fail, too.
  assert.is(
    alarms({}, { failed_calls: 5, new_calls: 1 })[0]?.text,
    '5 of 5 calls failed or were refused in 10 minutes',
  );
});

test('late audio, a late event loop, lost records, silent SIP peers and bounds are alarms', () => {
  const figures = { skipped_ticks: 151, loop_delay_ms: 101, lost_records: 1, sip_timeouts: 61 };
  assert.equal(short(alarms({ limits: ['limits.channels'] }, figures)), [
    ['media_late', 'critical', '151 ticks of audio were skipped in 5 minutes'],
    ['lost_records', 'critical', '1 call record or audit line was lost in 15 minutes'],
    ['event_loop_late', 'warning', 'Call control has been 101 ms late for 2 minutes'],
    ['sip_unanswered', 'warning', '61 SIP requests were not answered in 5 minutes'],
    ['limit', 'warning', 'The bound limits.channels was reached'],
  ]);
  const most = { skipped_ticks: 150, loop_delay_ms: 100, lost_records: 0, sip_timeouts: 60 };
  assert.equal(alarms({}, most), []);
});

test('a state store that cannot be written is critical', () => {
  const [one] = alarms({ unwritten: { since: now - 1_000, reason: 'the disk is full' } });
  assert.equal(
    [one?.kind, one?.severity, one?.since, one?.text],
    ['state_store', 'critical', now - 1_000, 'The state store cannot be written: the disk is full'],
  );
});

test('a disk that fills and a certificate that ends warn in time, and are critical in the end', () => {
  const day = 86_400_000;
  const certificates = [
    { subject: 'CN=soon', until: now + 3.5 * day },
    { subject: 'CN=today', until: now + day / 2 },
    { subject: 'CN=over', until: now - 1 },
  ];
  assert.equal(short(alarms({ certificates, disk: { free: 9, size: 100 } })), [
    ['certificate', 'critical', 'The certificate CN=over has expired'],
    ['disk', 'warning', 'Only 9.0 % of the disk with the data directory is free'],
    ['certificate', 'warning', 'The certificate CN=soon expires in 3 days'],
    ['certificate', 'warning', 'The certificate CN=today expires today'],
  ]);
  assert.is(alarms({ disk: { free: 1, size: 100 } })[0]?.severity, 'critical');
});

test('calls that miss their application make an alarm, and are in the history of that minute', () =>
  inWorld(async ({ ask, call, clock }) => {
    for (let calls = 0; calls < 3; calls++) {
      call('desk');
      await clock.run(500);
    }
    const found = await ask<Alarm[]>('GET', '/hookswitch/alarms');
    const texts = found.filter(({ kind }) => kind !== 'disk').map(({ text }) => text);
    assert.equal(texts, [
      'The application desk was not connected: 3 calls in 10 minutes',
      '3 of 3 calls failed or were refused in 10 minutes',
    ]);
    const [{ calls = [] } = {}] = found.filter(({ kind }) => kind === 'failed_calls');
    const { outcome } = await ask<{ outcome: { result: string } }>('GET', `/hookswitch/calls/${calls[0]}`);
    assert.is(outcome.result, 'failed');
    await clock.run(60_000);
    const history = await ask<Record<string, number[]>>('GET', '/hookswitch/history');
    assert.equal(
      [history.new_calls, history.failed_calls, history.missing_applications, history.live_calls],
      [[3], [3], [3], [0]],
    );
    await clock.run(11 * 60_000);
    assert.equal(
      (await ask<Alarm[]>('GET', '/hookswitch/alarms')).filter(({ kind }) => kind !== 'disk'),
      [],
    );
  }));

test.run();
