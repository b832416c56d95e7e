import { CalledChannels } from '../src/actors/calls.ts';
import { createChannelAudio } from '../src/actors/channel-audio.ts';
import { createChannelDialplans } from '../src/actors/channel-effects.ts';
import { createChannelFacts } from '../src/actors/channel-entry.ts';
import { createChannelOperations } from '../src/actors/channel-operations.ts';
import { createChannelViews } from '../src/actors/channel-views.ts';
import { createChannels } from '../src/actors/channels.ts';
import { createDialplanSystem } from '../src/actors/dialplan-system.ts';
import { createPlaybacks } from '../src/actors/playbacks.ts';
import { createRuntime } from '../src/actors/spawn.ts';
import { createBus } from '../src/bus/bus.ts';
import { createDialplan } from '../src/dialplan/dialplan.ts';
import { createLocalDriver } from '../src/drivers/local/local.ts';
import { systemClock as clock } from '../src/lib/clock.ts';
import { createIds } from '../src/lib/ids.ts';
import { createLogger } from '../src/lib/log.ts';
import { createEndpoints } from '../src/stores/endpoints.ts';
import type { MediaPlane, MediaSession } from '../src/telephony/media.ts';

/**
 * What a call costs call control alone, without HTTP and sockets: `Local/echo@default` originated into an application,
 * a variable set on StasisStart, hung up. CPU time of this process per call, all its threads (garbage collection too).
 *
 *   node --import tsx bench/call-control.ts [calls per round] [rounds]
 */
const [perRound = 10_000, rounds = 4] = process.argv.slice(2).map(Number);

const log = createLogger({ level: 'error' });
const bus = createBus({ log });
const ids = createIds(clock);
const runtime = createRuntime(clock, log);
const dialplan = createDialplan({ contexts: { default: { echo: ['Answer', 'Echo'] } }, clock, log });
const nothing = (): void => {};
const session: MediaSession = {
  id: '',
  play: () => ({ stop: nothing, pause: nothing, resume: nothing, restart: nothing, seek: nothing }),
  sendDigits: nothing,
  hearDigit: nothing,
  indicate: nothing,
  echo: nothing,
  mute: nothing,
  music: nothing,
  silence: nothing,
  record: () => ({
    stop: nothing,
    discard: nothing,
    pause: nothing,
    resume: nothing,
    mute: nothing,
    unmute: nothing,
    progress: () => ({ durationMs: 0, talkingMs: 0 }),
  }),
  detectTalking: nothing,
  detectTone: nothing,
  dump: () => ({ version: 1, id: '', standing: [] }),
  statistics: () => Promise.resolve(undefined),
  close: nothing,
};
const media = { openPair: () => [session, session] } as unknown as MediaPlane;
const playbacks = createPlaybacks({ bus, runtime, ids, log });
const applications = { isActive: () => true, addInterest: nothing, removeInterest: nothing, forget: nothing };
const facts = createChannelFacts(log);
const views = createChannelViews({
  ...{ facts, playbacks, system: createDialplanSystem(), channelvars: [] },
  now: () => clock.now(),
  changed: nothing,
});
const audio = createChannelAudio(runtime);
const calls = new CalledChannels(facts);
const channels = createChannels({
  ...{ bus, runtime, ids, facts, views, audio, calls, applications, playbacks },
  endpoints: createEndpoints({ bus }),
  defaultLanguage: 'en',
});
createChannelDialplans({ dialplan, views }).serve(facts);
channels.addDriver(createLocalDriver({ media, freshId: () => channels.freshId(), hasContext: () => true }));
const operations = createChannelOperations({
  ...{ channels, facts, views, audio, calls, log },
  playbacks,
  applications,
  dialplan,
  formats: new Set(['ulaw']),
  clock,
});

let events = 0;
let bytes = 0;
let ended = nothing;
bus.subscribe(({ event }) => {
  events++;
  bytes += JSON.stringify(event).length;
  if (event.type === 'StasisStart') {
    const { id } = event.channel;
    clock.soon(() => {
      operations.setVariable(id, { variable: 'BENCH', value: '1' });
      operations.hangup(id, {});
    });
  } else if (event.type === 'ChannelDestroyed' && event.channel.name.endsWith(';1')) clock.soon(ended);
});

async function round(calls: number): Promise<void> {
  let left = calls;
  await new Promise<void>((resolve) => {
    ended = () => {
      left--;
      if (left === 0) resolve();
      else operations.originate({ endpoint: 'Local/echo@default', app: 'bench' });
    };
    operations.originate({ endpoint: 'Local/echo@default', app: 'bench' });
  });
}

await round(perRound);
for (let index = 0; index < rounds; index++) {
  events = 0;
  bytes = 0;
  const before = process.cpuUsage();
  await round(perRound);
  const { user, system } = process.cpuUsage(before);
  const each = (user + system) / perRound;
  console.log(
    `${each.toFixed(0)} µs CPU per call, ${(events / perRound).toFixed(1)} events of ${(bytes / events).toFixed(0)} bytes`,
  );
}
