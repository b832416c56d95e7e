import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallDetail, CallPage } from '../../src/models/call.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { mediaSettings } from '../../src/settings.ts';
import { Phone } from '../support/phone.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

const recorded = suite('what is recorded of audio');

const dialplan = { default: { '_X.': ['Answer', 'Echo'] } };
const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

async function get<T>(server: TestServer, path: string): Promise<T> {
  const response = await fetch(`${server.url.replace(/\/ari$/, '/hookswitch')}${path}`, { headers: { authorization } });
  return (await response.json()) as T;
}

const reportsOf = (timeline: readonly TimelineEntry[]) =>
  timeline.flatMap((entry) => (entry.kind === 'media' ? [entry.report] : []));

recorded('codec, loss, jitter and level of a call stand in its record, also when it has ended', () =>
  onServer({ dialplan }, async (server) => {
    const phone = server.closing(await Phone.open('4711', server.sip()));
    await phone.call('100');
    phone.audio.hum(440);
    const [call] = (await get<CallPage>(server, '/calls')).calls;
    const { channels: [channel] = [] } = call ?? {};
    const look = async () => reportsOf((await get<CallDetail>(server, `/calls/${call?.id}`)).timeline);
    // A sine with its peak at a quarter of full scale: its mean amplitude is 2/π of that.
    const expected = 20 * Math.log10(((2 / Math.PI) * 8_000) / 32_768);
    let measured: ReturnType<typeof reportsOf> = [];
    await untilAsked(
      async () => {
        measured = await look();
        return measured.some(({ level_db: level, level_sent_db: back }) =>
          [level, back].every((each) => Math.abs(Number(each) - expected) < 1),
        );
      },
      () => `what is said and comes back is not measured: ${JSON.stringify(measured)}`,
    );
    phone.hangup();
    await untilAsked(
      async () => (await get<CallDetail>(server, `/calls/${call?.id}`)).state !== 'live',
      () => 'it does not end',
    );
    const { timeline } = await get<CallDetail>(server, `/calls/${call?.id}`);
    // One at the end, and one more for each report interval that the call has lasted.
    const media = timeline.flatMap((entry) => (entry.kind === 'media' ? [entry.object] : []));
    assert.equal([...new Set(media)], [channel?.id]);
    const {
      packets_heard: heard,
      packets_sent: sent,
      jitter_heard_ms: jitter,
      // The levels of the last moment: on a busy machine nothing may have come in it.
      level_db: _level,
      level_sent_db: _back,
      remote,
      ...report
    } = reportsOf(timeline).at(-1) ?? {};
    assert.ok(Number(heard) > 20 && Number(sent) > 20 && Number(jitter) >= 0, JSON.stringify({ heard, sent, jitter }));
    assert.match(String(remote), /^127\.0\.0\.1:\d+$/);
    assert.equal(report, {
      codec: 'ulaw',
      flow: 'sendrecv',
      loss_heard: 0,
      loss_sent: 0,
      jitter_sent_ms: 0,
      late: 0,
      digits: 0,
    });
  }),
);

recorded('the media plane measures only while it is recorded, and not where that is turned off', () =>
  onServer({}, async ({ config }) => {
    const { recorder } = config;
    const of = (settings: Partial<typeof recorder>) =>
      mediaSettings({ ...config, recorder: { ...recorder, ...settings } }).measureMs;
    assert.equal(
      [of({}), of({ media_interval: 0.5 }), of({ media_interval: 0 }), of({ off: true })],
      [5_000, 500, 0, 0],
    );
  }),
);

recorded.run();
