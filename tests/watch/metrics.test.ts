import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inWorld, type World } from './world.ts';

const metrics = suite('metrics');
const seconds = 1_000;

/** Of the process that runs the tests; all others follow from what happens. */
const ofTheProcess = /^hookswitch_(memory|cpu|uptime|event_loop)/;

async function lines({ request }: World): Promise<string[]> {
  const response = await request('GET', '/metrics');
  assert.is(response.status, 200);
  const all = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return all.filter((line) => !ofTheProcess.test(line));
}

const isBucket = (line: string): boolean => line.includes('_bucket{');
const samples = async (world: World): Promise<string[]> => (await lines(world)).filter((line) => !isBucket(line));

/** The buckets of all histograms: how many values are at most what each bound says, by histogram and its labels. */
async function buckets(world: World): Promise<Record<string, Record<string, number>>> {
  const told: Record<string, Record<string, number>> = {};
  for (const line of (await lines(world)).filter(isBucket)) {
    const [, name = '', labels = '', count] = /^hookswitch_(\w+)_bucket\{(.*)\} (\d+)$/.exec(line) ?? [];
    const bound = /le="([^"]+)"/.exec(labels)?.[1] ?? '';
    const rest = labels.replace(/,?le="[^"]+",?/, '');
    const key = rest === '' ? name : `${name}{${rest}}`;
    told[key] = { ...told[key], [bound]: Number(count) };
  }
  return told;
}

/** Buckets with these bounds, of values of which the first `below` bounds have none and all others have all. */
const filled = (bounds: readonly (number | string)[], below: number, values: number): Record<string, number> =>
  Object.fromEntries([...bounds, '+Inf'].map((bound, index) => [String(bound), index < below ? 0 : values]));

const durations = [1, 5, 15, 30, 60, 180, 300, 600, 1800, 3600];
const setups = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];
const jitters = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1];
const losses = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];

metrics('of one call are told number by number', () =>
  inWorld(async (world) => {
    const { clock, call } = world;
    await clock.run(1 * seconds);
    const before = await samples(world);
    const changed = async () => {
      const now = await samples(world);
      return now.filter((line) => !before.includes(line)).map((line) => line.replace(/^hookswitch_/, ''));
    };
    assert.ok(before.includes('hookswitch_sip_registrations 1'));
    const unused = { rtp_jitter_seconds: filled(jitters, 0, 0), rtp_loss_ratio: filled(losses, 0, 0) };
    assert.equal(await buckets(world), unused);
    const out = call('201');
    await clock.run(10 * seconds);
    const begun = [
      'calls_total{direction="in",technology="PJSIP"} 1',
      'calls_total{direction="out",technology="PJSIP"} 1',
      'calls_answered_total{direction="out",technology="PJSIP"} 1',
      'calls_answered_total{direction="in",technology="PJSIP"} 1',
    ];
    const setup = [
      'call_setup_seconds_sum{direction="out"} 0',
      'call_setup_seconds_count{direction="out"} 1',
      'call_setup_seconds_sum{direction="in"} 0',
      'call_setup_seconds_count{direction="in"} 1',
    ];
    assert.equal(await changed(), [
      ...begun,
      ...setup,
      'channels{state="Up",technology="PJSIP"} 2',
      'actors{chart="leg",state="up"} 2',
      'actors{chart="pendingMediaSession",state="open"} 2',
      'actors{chart="ownership",state="dialplan"} 1',
      'actors{chart="channel",state="up"} 2',
      'actors{chart="dial",state="together"} 1',
      'actors{chart="ownership",state="nobody"} 1',
      'actors{chart="bridge",state="occupied"} 1',
      'sip_requests_total{method="INVITE",direction="received"} 1',
      'sip_requests_total{method="ACK",direction="received"} 1',
      'sip_requests_total{method="INVITE",direction="sent"} 1',
      'sip_requests_total{method="ACK",direction="sent"} 1',
      'sip_responses_total{status="200",direction="received"} 1',
      'sip_responses_total{status="200",direction="sent"} 1',
      'sip_transactions 2',
      'sip_dialogs 2',
      'media_sessions 2',
      'media_ports 2',
    ]);
    const setUp = {
      'call_setup_seconds{direction="out"}': filled(setups, 0, 1),
      'call_setup_seconds{direction="in"}': filled(setups, 0, 1),
    };
    assert.equal(await buckets(world), { ...setUp, ...unused });

    out.leg.hangup(16);
    await clock.run(60 * seconds);
    assert.equal(await changed(), [
      ...begun,
      'calls_ended_total{direction="out",technology="PJSIP",outcome="answered",by="dialplan",cause="16"} 1',
      'calls_ended_total{direction="in",technology="PJSIP",outcome="answered",by="farSide",cause="16"} 1',
      'call_duration_seconds_sum{direction="out"} 10',
      'call_duration_seconds_count{direction="out"} 1',
      'call_duration_seconds_sum{direction="in"} 10',
      'call_duration_seconds_count{direction="in"} 1',
      ...setup,
      'rtp_packets_total{direction="received",fate="arrived"} 1000',
      'rtp_packets_total{direction="received",fate="lost"} 0',
      'rtp_packets_total{direction="received",fate="late"} 0',
      'rtp_packets_total{direction="sent",fate="sent"} 1000',
      'rtp_packets_total{direction="sent",fate="lost"} 0',
      'rtp_jitter_seconds_count 2',
      'rtp_loss_ratio_count 2',
      'sip_requests_total{method="INVITE",direction="received"} 1',
      'sip_requests_total{method="ACK",direction="received"} 1',
      'sip_requests_total{method="BYE",direction="received"} 1',
      'sip_requests_total{method="INVITE",direction="sent"} 1',
      'sip_requests_total{method="ACK",direction="sent"} 1',
      'sip_requests_total{method="BYE",direction="sent"} 1',
      'sip_responses_total{status="200",direction="received"} 2',
      'sip_responses_total{status="200",direction="sent"} 2',
    ]);
    assert.equal(await buckets(world), {
      // Ten seconds: more than the bounds of 1 and 5.
      'call_duration_seconds{direction="out"}': filled(durations, 2, 1),
      'call_duration_seconds{direction="in"}': filled(durations, 2, 1),
      ...setUp,
      rtp_jitter_seconds: filled(jitters, 0, 2),
      rtp_loss_ratio: filled(losses, 0, 2),
    });
  }),
);

metrics('tell of applications, and of the interface', () =>
  inWorld(async (world) => {
    const { clock, server, request, ask, call } = world;
    call('desk');
    await clock.run(5 * seconds);
    const desk = server.connect({ names: ['desk'], send: () => {}, describe: 'the test', unread: () => 7 });
    const { id } = await ask<{ id: string }>('POST', '/ari/channels?endpoint=Local/echo@default&app=desk');
    await clock.run(1 * seconds);
    await request('GET', '/ari/channels/nobody');
    const shown = await samples(world);
    const about = (name: string) => shown.filter((line) => line.startsWith(`hookswitch_${name}`));
    assert.equal(about('applications_'), [
      'hookswitch_applications_missing_total 1',
      'hookswitch_applications_connected{application="desk"} 1',
    ]);
    assert.equal(about('application_'), [
      'hookswitch_application_orphans{application="desk"} 0',
      `hookswitch_application_events_total{application="desk"} ${server.dump().calls.applications[0]?.seq}`,
      'hookswitch_application_events_missed{application="desk"} 0',
      'hookswitch_application_unread_bytes{application="desk"} 7',
    ]);
    assert.equal(about('http_'), [
      'hookswitch_http_responses_total{status="200"} 1',
      'hookswitch_http_responses_total{status="404"} 1',
      'hookswitch_http_refusals_total{reason="channelNotFound"} 1',
    ]);
    desk.close();
    const orphans = (await samples(world)).filter((line) => line.startsWith('hookswitch_application_orphans'));
    assert.equal(orphans, ['hookswitch_application_orphans{application="desk"} 1']);
    await ask('DELETE', `/ari/channels/${id}`);
  }),
);

metrics.run();
