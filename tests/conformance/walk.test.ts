import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callIn, callUp, create, usesTarget } from '../support/conformance-cases.ts';
import type { App, AskOptions, Client } from '../support/conformance-client.ts';
import { surface } from '../support/conformance-surface.ts';

/**
 * Every operation with every parameter, and every row of the specification in its own words: all are there. Every event is heard in
 * `e2e/every-event.test.ts`.
 */
const test = suite('the whole interface, walked through');
let client: Client;
let app: App;

usesTarget(test, async (own) => {
  client = own;
  app = await client.connect(client.unique('walker'));
});

const differences = readFileSync(new URL('../../docs/differences.md', import.meta.url), 'utf8');
const notThere = differences.slice(differences.indexOf('## Not there'));

/* ---- Operations ------------------------------------------------------------------------------------------------------ */

/** Values that make sense for parameters that must be of a kind; any other gets a word. */
const values: Readonly<Record<string, string>> = {
  encapsulation: 'rtp',
  transport: 'udp',
  endpoint: 'Local/wait@conformance',
  tech: 'PJSIP',
  resource: 'alice',
  media: 'sound:beep',
  format: 'wav',
  spy: 'in',
  whisper: 'none',
  direction: 'in',
  dtmf: '1',
  timeout: '1',
  operation: 'pause',
  deviceName: 'Stasis:walked',
  deviceState: 'BUSY',
  configuration: 'NOTICE',
  to: 'pjsip:nobody',
  from: 'sip:walker@127.0.0.1',
  refer_to: 'sip:nobody@127.0.0.1',
  eventSource: 'channel:nobody',
  source: 'channel:nobody',
  only: 'status',
  ifExists: 'fail',
  terminateOn: 'none',
  type: 'mixing',
  reason: 'normal',
  reason_code: '16',
  states: 'channel_progress',
};

/** What is no plain answer, but a WebSocket. */
const upgrades = ['GET /events'];

test('every operation is carried out, whatever parameters it is asked with', async () => {
  const missing: string[] = [];
  for (const [line, { params }] of Object.entries(surface.operations)) {
    if (upgrades.includes(line)) continue;
    const query = new URLSearchParams();
    let path = line;
    for (const [name, facts] of Object.entries(params)) {
      const [where = '', type = ''] = facts.split(' ');
      const value = values[name] ?? (/int|long/.test(type) ? '1' : type === 'boolean' ? 'true' : 'nobody');
      if (where === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
      else if (where === 'query') query.append(name, value);
    }
    const answer = await client.ask(`${path}${query.size > 0 ? `?${query}` : ''}`, { json: {} });
    const unserved = answer.status === 405 || answer.status === 501 || /Resource not found|<html/i.test(answer.text);
    const words = /[^/]+$/.exec(line)?.[0] ?? line;
    if (unserved ? !notThere.includes(`\`${words}\``) : answer.status >= 500 && answer.status !== 503)
      missing.push(`${line}: ${answer.status} ${answer.text}`);
  }
  assert.equal(missing, []);
});

/* ---- The specification's rows, in its own words ---------------------------------------------------------------------- */

type Row = [ask: string, status: number, options?: AskOptions];

/** Asks row by row; all that are not as expected are told together. */
async function walk(rows: readonly Row[]): Promise<void> {
  const faults: string[] = [];
  for (const [ask, status, options] of rows) {
    const answer = await client.ask(ask, options);
    if (answer.status !== status) faults.push(`${ask}: ${answer.status} instead of ${status}: ${answer.text}`);
  }
  assert.equal(faults, []);
}

const local = 'endpoint=Local/wait@conformance';

test('channels are listed, made, dialed, controlled and hung up', async () => {
  if (!client.target.ours) return;
  const [made, created, named] = ['made', 'created', 'named'].map((word) => client.unique(word)) as [
    string,
    string,
    string,
  ];
  await walk([
    ['GET /channels', 200],
    [`POST /channels/originate?${local}&app=${app.name}&channelId=${made}`, 200, { json: { variables: { A: '1' } } }],
    [`POST /channels/originate?${local}&app=${app.name}&channelId=${made}`, 409],
    [`POST /channels/originate?${local}&app=${app.name}&formats=ulaw&originator=${made}`, 400],
    [`POST /channels/originate?${local}&extension=wait&context=conformance&priority=1&channelId=${named}`, 200],
    [`POST /channels/create?${local}&app=${app.name}&channelId=${created}&originator=${made}`, 200],
    [`POST /channels/create?${local}&app=${app.name}&channelId=${created}`, 409],
    [`POST /channels/create?${local}&app=${app.name}&formats=ulaw&originator=${made}`, 400],
  ]);
  await app.about(made, 'StasisStart');
  await app.about(created, 'StasisStart');
  const at = `/channels/${made}`;
  await walk([
    [`POST /channels/${created}/play?media=sound:beep`, 412],
    [`POST /channels/${created}/continue`, 412],
    [`POST /channels/${created}/dial?timeout=30`, 204],
    ...(['ring', 'hold', 'moh', 'mute', 'silence'] as const).flatMap((what): Row[] => [
      [`POST ${at}/${what}`, 204],
      [`DELETE ${at}/${what}`, 204],
    ]),
    [`POST ${at}/dtmf?dtmf=12&duration=50&between=50`, 204],
    [`GET ${at}/variable`, 400],
    [`POST ${at}/variable?variable=A&value=1`, 204],
    [`GET ${at}/variable?variable=A`, 200],
    [`POST ${at}/variable?variable=CHANNEL(language)&value=de`, 204],
    [`GET ${at}/variable?variable=CHANNEL(language)`, 200],
    [`POST ${at}/play?media=sound:beep,sound:beep&offset=100`, 201],
    [`POST ${at}/record?name=${made}&format=nothing`, 422],
    [`POST ${at}/record?name=${made}&format=wav`, 201],
    [`POST ${at}/record?name=..%2F${made}&format=wav`, 400],
    [`GET ${at}/rtp_statistics`, 403],
    [`POST ${at}/snoop/${made}-snoop?spy=both&app=${app.name}`, 200],
    [`POST /channels/${made}-snoop/record?name=${made}-snoop&format=wav`, 201],
    [`POST /channels/externalMedia?app=${app.name}&external_host=127.0.0.1:9&format=ulaw&channelId=${made}-media`, 200],
  ]);
  for (const name of [made, `${made}-snoop`]) {
    await walk([[`DELETE /recordings/live/${name}`, 204]]);
    await app.wait('RecordingFinished', ({ recording }) => (recording as { name: string }).name === name);
  }
  // A move waits until nothing plays on the channel or records it, as in Asterisk.
  await walk([[`POST ${at}/move?app=nowhere`, 204]]);
  await app.wait('ApplicationMoveFailed', ({ destination }) => destination === 'nowhere');
  await walk([
    [`POST ${at}/continue?context=conformance&extension=s&priority=1`, 204],
    [`DELETE ${at}?reason=answered_elsewhere`, 204],
    [`DELETE /channels/${created}?reason_code=34`, 204],
    [`DELETE /channels/${named}?reason=busy`, 204],
    [`DELETE /channels/${made}-media`, 204],
    ['DELETE /channels/nobody', 404],
  ]);
});

test('bridges are listed, made, filled, played to, recorded and destroyed, with the errors of each cause', async () => {
  if (!client.target.ours) return;
  const [up, free, bridge] = [client.unique('up'), client.unique('free'), client.unique('bridge')];
  await callUp(client, app, up);
  await create(client, app, free);
  const outside = await callIn(client, app, client.unique('outside'));
  await client.must(`POST /channels/${outside}/answer`);
  await client.must(`POST /channels/${outside}/continue?context=conformance&extension=wait`);
  const at = `/bridges/${bridge}`;
  await walk([
    [`POST /bridges?bridgeId=${bridge}&type=mixing,sdp_label,video_sfu`, 200],
    [`POST /bridges?bridgeId=${bridge}-single&type=video_single`, 200, { json: { features: { mute: true } } }],
    ['GET /bridges', 200],
    [`GET ${at}`, 200],
    [`POST ${at}/addChannel?channel=${up},${free}&roles=participant&inhibitConnectedLineUpdates=true`, 204],
    ['POST /bridges/nowhere/addChannel?channel=x', 404],
    [`POST ${at}/addChannel?channel=nobody`, 400],
    [`POST ${at}/addChannel?channel=${up};2`, 422],
    [`POST ${at}/removeChannel?channel=${free}`, 204],
    [`POST ${at}/removeChannel?channel=${free}`, 422],
    [`POST ${at}/videoSource/${up}`, 204],
    [`DELETE ${at}/videoSource`, 204],
    [`POST ${at}/moh`, 204],
    [`DELETE ${at}/moh`, 204],
    [`POST ${at}/play?media=sound:beep&offset=10`, 201],
    [`POST ${at}/record?name=${bridge}&format=nothing`, 422],
    [`POST ${at}/record?name=${bridge}&format=wav`, 201],
  ]);
  await app.wait('RecordingStarted', ({ recording }) => (recording as { name: string }).name === bridge);
  await walk([
    [`POST ${at}/record?name=${bridge}&format=wav`, 422],
    ...(['pause', 'unpause', 'mute', 'unmute', 'pause', 'pause', 'stop'] as const).map(
      (what): Row => [`POST /recordings/live/${bridge}/${what}`, 204],
    ),
  ]);
  await app.wait('RecordingFinished', ({ recording }) => (recording as { name: string }).name === bridge);
  await walk([
    ['GET /recordings/stored', 200],
    [`GET /recordings/stored/${bridge}`, 200],
    [`GET /recordings/stored/${bridge}/file`, 200],
    [`POST /channels/${up}/record?name=${bridge}&format=wav`, 422],
    [`DELETE /recordings/stored/${bridge}`, 204],
    [`GET /recordings/stored/${bridge}`, 404],
    [`DELETE ${at}`, 204],
    [`DELETE ${at}-single`, 204],
    [`DELETE /channels/${up}`, 204],
    [`DELETE /channels/${free}`, 204],
    [`DELETE /channels/${outside}`, 204],
  ]);
});

test('endpoints, applications, sounds, playbacks and the system answer in the words of the specification', async () => {
  if (!client.target.ours) return;
  const id = client.unique('up');
  await callUp(client, app, id);
  const subscription = `/applications/${app.name}/subscription?eventSource`;
  const log = client.unique('log');
  await walk([
    ['GET /endpoints/PJSIP', 200],
    ['GET /endpoints/nothing', 404],
    ['POST /endpoints/refer?to=pjsip:alice&from=sip:a@b&refer_to=sip:c@d', 404],
    ['GET /applications', 200],
    [`GET /applications/${app.name}`, 200],
    [`POST ${subscription}=channel:${id}`, 200],
    [`POST ${subscription}=channels:`, 200],
    [`DELETE ${subscription}=channels:`, 200],
    [`DELETE ${subscription}=channel:${id}`, 200],
    [`PUT /applications/${app.name}/eventFilter`, 200, { json: { allowed: [], disallowed: [{ type: 'Dial' }] } }],
    [`PUT /applications/${app.name}/eventFilter`, 200, { json: {} }],
    ['GET /sounds', 200],
    ['GET /sounds/beep', 200],
    [`POST /channels/${id}/play?media=tone:ring&playbackId=${id}`, 201],
    [`GET /playbacks/${id}`, 200],
    [`POST /playbacks/${id}/control?operation=reverse`, 204],
    [`DELETE /playbacks/${id}`, 204],
    ['GET /playbacks/nothing', 404],
    ['DELETE /playbacks/nothing', 404],
    ['GET /system/ping', 200],
    ['GET /system/info?only=build,system,config,status', 200],
    ['GET /system/variable', 400],
    ['POST /system/variable?variable=WALKED&value=1', 204],
    ['GET /system/variable?variable=WALKED', 200],
    ['POST /system/variable?variable=WALKED', 204],
    ['GET /system/logging', 200],
    [`POST /system/logging/${log}?configuration=notice,warning`, 204],
    [`PUT /system/logging/${log}/rotate`, 204],
    [`DELETE /system/logging/${log}`, 204],
    [`PUT /system/logging/${log}/rotate`, 404],
    [`DELETE /channels/${id}`, 204],
  ]);
  const { ping, timestamp, asterisk_id } = await client.must<Record<string, string>>('GET /system/ping');
  assert.equal([ping, typeof timestamp, typeof asterisk_id], ['pong', 'string', 'string']);
});

test.run();
