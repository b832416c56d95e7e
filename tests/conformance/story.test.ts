import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hangupAll } from '../support/conformance-cases.ts';
import { type App, Client, inShort, type Message } from '../support/conformance-client.ts';
import { openTarget } from '../support/conformance-target.ts';
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

test.before(async () => {
  client = new Client(await openTarget());
});
test.after(async () => {
  await client.close();
  await client.target.close();
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

/** What events are about. */
type About = Message & {
  application: string;
  channel?: { id: string; state: string };
  bridge?: { id: string; channels: string[] };
  playback?: { id: string; state: string };
  recording?: { name: string; state: string };
  peer?: { id: string };
  dialstatus?: string;
};
/** Reads a story: says what contradicts what came before, and at its end what is missing. */
type Reader = { read(message: About): string | undefined; missing(): string[] };

/** A channel is made, changed and destroyed, and never goes back to an earlier state. */
function channelReader(): Reader {
  const order = ['Down', 'Ring', 'Ringing', 'Busy', 'Up'];
  const states = new Map<string, number>();
  return {
    read({ type, channel }) {
      // Applications hear of these two beside what is told of the channel.
      if (!channel || type === 'StasisEnd' || type === 'ChannelUserevent') return undefined;
      const [before, now] = [states.get(channel.id), order.indexOf(channel.state)];
      if (type === 'ChannelDestroyed') states.delete(channel.id);
      else states.set(channel.id, now);
      if (type === 'ChannelCreated') return before === undefined ? undefined : 'made twice';
      if (before === undefined) return 'of a channel that is not there';
      return now < before ? 'a state before the last' : undefined;
    },
    missing: () => [...states.keys()].map((id) => `${id} was never destroyed`),
  };
}

/** A bridge has the members that entered and have not left; a channel is in one at most, and in none when it ends. */
function bridgeReader(): Reader {
  const bridges = new Map<string, string[]>();
  const places = new Map<string, string>();
  const move = (type: string, bridge: string, members: string[], channel: string): string | undefined => {
    const place = places.get(channel);
    if (type === 'ChannelEnteredBridge') {
      bridges.set(bridge, [...members, channel]);
      places.set(channel, bridge);
      return place === undefined ? undefined : `it is in ${place}`;
    }
    bridges.set(
      bridge,
      members.filter((id) => id !== channel),
    );
    places.delete(channel);
    return place === bridge ? undefined : 'it is not there';
  };
  return {
    read({ type, channel, bridge }) {
      if (type === 'ChannelDestroyed' && channel && places.has(channel.id)) return 'it is in a bridge';
      if (!bridge) return undefined;
      const members = bridges.get(bridge.id);
      if (type === 'BridgeCreated') {
        bridges.set(bridge.id, []);
        return members ? 'made twice' : undefined;
      }
      if (!members) return 'of a bridge that is not there';
      const wrong = channel && move(type, bridge.id, members, channel.id);
      if (wrong) return wrong;
      const now = bridges.get(bridge.id) ?? [];
      if (type === 'BridgeDestroyed') bridges.delete(bridge.id);
      return [...now].sort().join() === [...bridge.channels].sort().join() ? undefined : `its members are ${now}`;
    },
    missing: () => [...bridges.keys()].map((id) => `${id} was never destroyed`),
  };
}

/** A playback that has begun ends once, and nothing is told of it otherwise but that it was stopped while it waited. */
function playbackReader(): Reader {
  const begun = new Set<string>();
  return {
    read({ type, playback }) {
      if (!playback) return undefined;
      const before = begun.has(playback.id);
      if (type === 'PlaybackFinished') begun.delete(playback.id);
      if (type === 'PlaybackStarted') begun.add(playback.id);
      else if (!before && !(type === 'PlaybackFinished' && playback.state === 'done')) return 'never begun';
      return undefined;
    },
    missing: () => [...begun].map((id) => `${id} never finished`),
  };
}

/** A recording begins once and ends once; without having begun it is cancelled, or fails. */
function recordingReader(): Reader {
  const begun = new Set<string>();
  return {
    read({ type, recording }) {
      if (!recording) return undefined;
      const { name, state } = recording;
      if (type === 'RecordingStarted') {
        const before = begun.has(name);
        begun.add(name);
        return before || state !== 'recording' ? 'begun twice, or not recording' : undefined;
      }
      return begun.delete(name) || type === 'RecordingFailed' || state === 'canceled' ? undefined : 'never begun';
    },
    missing: () => [...begun].map((name) => `${name} never finished`),
  };
}

/** A Dial is opened, goes on, and ends once; who hangs up while it rings may leave it open. */
function dialReader(): Reader {
  const open = new Set<string>();
  return {
    read({ peer, dialstatus }) {
      if (!peer || dialstatus === undefined) return undefined;
      if (dialstatus === '') open.add(peer.id);
      else if (!open.has(peer.id)) return 'a Dial that is not open';
      else if (!['RINGING', 'PROCEEDING', 'PROGRESS'].includes(dialstatus)) open.delete(peer.id);
      return undefined;
    },
    missing: () => [],
  };
}

/** A channel is in one application at a time, and leaves the one that it is in. */
function stayReader(): Reader {
  const where = new Map<string, string>();
  return {
    read({ type, application, channel }) {
      if (!channel || (type !== 'StasisStart' && type !== 'StasisEnd')) return undefined;
      const now = where.get(channel.id);
      if (type === 'StasisEnd') where.delete(channel.id);
      else where.set(channel.id, application);
      return now === (type === 'StasisEnd' ? application : undefined) ? undefined : `it is in ${now}`;
    },
    missing: () => [...where].map(([id, application]) => `${id} never left ${application}`),
  };
}

/** Everything that contradicts itself. */
function contradictions(messages: readonly Message[], readers: readonly Reader[]): string[] {
  const found = messages.flatMap((message) =>
    readers.flatMap((reader) => {
      const wrong = reader.read(message as About);
      return wrong === undefined ? [] : [`${wrong}: ${inShort(message)} ${JSON.stringify(message)}`];
    }),
  );
  return [...found, ...readers.flatMap((reader) => reader.missing())];
}

test('whatever is asked of calls, bridges, playbacks and recordings, what is told is without a contradiction', async () => {
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
