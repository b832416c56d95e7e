import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hangupAll, usesTarget } from '../support/conformance-cases.ts';
import type { App, Client } from '../support/conformance-client.ts';
import {
  bridgeReader,
  channelReader,
  contradictions,
  dialReader,
  playbackReader,
  recordingReader,
  stayReader,
} from '../support/event-readers.ts';
import { untilAsked } from '../support/waiting.ts';

/**
 * Arbitrary requests to calls, bridges, playbacks and recordings, some of them at once: whatever is asked in whatever
 * state, what is told afterwards is one story without a contradiction. Asked of Hookswitch alone, as arbitrary requests
 * are. A failure prints the seed and path to run it again with `HOOKSWITCH_CONFORMANCE_SEED`.
 */
const test = suite('the story that events tell');
const seed = Number(process.env['HOOKSWITCH_CONFORMANCE_SEED'] ?? 20261122);
let client: Client;
/** Two applications that calls enter, on one connection. */
let apps: App;
/** Hears everything. */
let all: App;

usesTarget(test, (own) => {
  client = own;
});

const far = ['wait', 'slow', 'ringing', 'silent', 'busy', 'hangup'];
const media = ['tone:ring', 'sound:beep', 'sound:nothing,sound:beep', 'nonsense:x', 'sound:beep,digits:1,tone:ring'];

/** Numbers that one request is made of, whatever the names of things are. */
type Picked = { kind: number; c: number; d: number; b: number; p: number; r: number; which: number };
type Names = Record<'apps' | 'channels' | 'bridges' | 'playbacks' | 'recordings', string[]>;

const picked: fc.Arbitrary<Picked> = fc.record({
  kind: fc.nat(35),
  c: fc.nat(3),
  d: fc.nat(3),
  b: fc.nat(1),
  p: fc.nat(2),
  r: fc.nat(2),
  which: fc.nat(999),
});

/** A request: `c`, `d` are channels, `b` is a bridge, `p` a playback and `r` a recording, of a few of each. */
function lineOf({ kind, c, d, b, p, r, which }: Picked, names: Names): string {
  const of = (list: readonly string[], at: number): string => encodeURIComponent(list[at % list.length] ?? '');
  const [channel, other, bridge] = [of(names.channels, c), of(names.channels, d), of(names.bridges, b)];
  const [playback, recording] = [of(names.playbacks, p), of(names.recordings, r)];
  const [app, extension, uris] = [of(names.apps, which), of(far, which), of(media, which)];
  const control = of(['pause', 'unpause', 'restart', 'forward', 'reverse'], which);
  const lines = [
    `POST /channels/${channel}?endpoint=Local/${extension}@conformance&app=${app}`,
    `POST /channels/${channel}?endpoint=Local/${of(
      names.apps.map((name) => `a*${name}`),
      which,
    )}@conformance&extension=wait&context=conformance&otherChannelId=${other}`,
    `POST /channels/create?channelId=${channel}&endpoint=Local/${extension}@conformance&app=${app}`,
    `POST /channels/${channel}/dial?timeout=${which % 3}`,
    `POST /channels/${channel}/answer`,
    `DELETE /channels/${channel}?reason=${of(['normal', 'busy', 'no_answer'], which)}`,
    `DELETE /channels/${channel}`,
    `POST /channels/${channel}/move?app=${app}`,
    `POST /channels/${channel}/continue?context=conformance&extension=${of(['s', 'over', ...names.apps.map((name) => `u*${name}`)], which)}`,
    `POST /channels/${channel}/play/${playback}?media=${uris}`,
    `POST /channels/${channel}/play/${playback}?media=${uris}`,
    `DELETE /playbacks/${playback}`,
    `POST /playbacks/${playback}/control?operation=${control}`,
    `POST /channels/${channel}/record?name=${recording}&format=wav&ifExists=overwrite`,
    `POST /channels/${channel}/record?name=${recording}&format=ulaw&ifExists=append&beep=true`,
    `POST /recordings/live/${recording}/stop`,
    `DELETE /recordings/live/${recording}`,
    `POST /recordings/live/${recording}/pause`,
    `DELETE /recordings/live/${recording}/pause`,
    `POST /bridges/${bridge}?type=${of(['mixing', 'holding', 'video_sfu'], which)}`,
    `POST /bridges/${bridge}?type=mixing`,
    `DELETE /bridges/${bridge}`,
    `POST /bridges/${bridge}/addChannel?channel=${channel},${other}`,
    `POST /bridges/${bridge}/addChannel?channel=${channel}&role=${of(['announcer', 'holding_participant', ''], which)}`,
    `POST /bridges/${bridge}/addChannel?channel=${channel}`,
    `POST /bridges/${bridge}/removeChannel?channel=${channel}`,
    `POST /bridges/${bridge}/play/${playback}?media=${uris}`,
    `POST /bridges/${bridge}/record?name=${recording}&format=wav&ifExists=overwrite`,
    `POST /bridges/${bridge}/moh`,
    `DELETE /bridges/${bridge}/moh`,
    `POST /channels/${channel}/snoop/${other}?spy=both&app=${app}`,
    `POST /channels/${channel}/hold`,
    `DELETE /channels/${channel}/hold`,
    `POST /channels/${channel}/dtmf?dtmf=12&between=1&duration=40`,
    `POST /channels/${channel}/moh`,
    `POST /channels/${channel}/ring`,
  ];
  return lines[kind] ?? '';
}

const some = (word: string, count: number): string[] => Array.from({ length: count }, () => client.unique(word));

/** Asks everything, ends everything, and gives what was told and what was answered. */
async function live(batches: readonly (readonly Picked[])[]) {
  apps = await client.connect(some('story', 2));
  all = await client.connect(client.unique('all'), '&subscribeAll=true');
  const names: Names = {
    apps: [...apps.names],
    channels: some('c', 4),
    bridges: some('b', 2),
    playbacks: some('p', 3),
    recordings: some('r', 3),
  };
  const asked: string[] = [];
  for (const id of names.bridges) await client.must(`POST /bridges/${id}`);
  for (const id of names.channels.slice(0, 2))
    await client.must(`POST /channels/${id}?endpoint=Local/wait@conformance&app=${names.apps[0]}`);
  for (const batch of batches) {
    const lines = batch.map((each) => lineOf(each, names));
    const answers = await Promise.all(lines.map((each) => client.ask(each)));
    for (const [at, { status, text }] of answers.entries()) {
      asked.push(`${lines[at]} -> ${status}`);
      assert.ok(status < 500, `${lines[at]}: ${status} ${text}`);
    }
  }
  await hangupAll(client);
  for (const id of names.bridges) await client.ask(`DELETE /bridges/${id}`);
  const count = (type: string): number => all.messages.filter((message) => message.type === type).length;
  await untilAsked(
    async () => {
      // Dialplans may have made others meanwhile.
      await hangupAll(client);
      await all.fence();
      return ['Channel', 'Bridge'].every((what) => count(`${what}Created`) === count(`${what}Destroyed`));
    },
    () => 'some channel or bridge was never destroyed',
  );
  for (const name of apps.names) await apps.fence(name);
  for (const name of names.recordings) await client.ask(`DELETE /recordings/stored/${name}`);
  const told = { all: all.messages, apps: apps.messages };
  await apps.close();
  await all.close();
  return { asked, told };
}

test('random requests about calls, bridges, playbacks and recordings cause no contradictory events', async () => {
  if (!client.target.ours) return;
  const batches = fc.array(fc.array(picked, { minLength: 1, maxLength: 3 }), { minLength: 20, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(batches, async (wanted) => {
      const { asked, told } = await live(wanted);
      const ofAll = [channelReader(), bridgeReader(), playbackReader(), recordingReader(), dialReader()];
      const wrong = [...contradictions(told.all, ofAll), ...contradictions(told.apps, [stayReader()])];
      if (wrong.length > 0) throw new Error([...wrong, '', ...asked].join('\n'));
    }),
    { seed, numRuns: 8, endOnFailure: true, includeErrorInReport: true },
  );
});

test.run();
