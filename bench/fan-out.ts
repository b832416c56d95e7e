/**
 * What it costs to publish an event and bring it to applications, without sockets:
 * `npx tsx bench/fan-out.ts` prints events per second to one application among many, and to 1,000 at once.
 */
import { createApplications } from '../src/actors/applications.ts';
import { createRuntime } from '../src/actors/spawn.ts';
import { createBus } from '../src/bus/bus.ts';
import { channelTopic, channelTopics } from '../src/bus/topics.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createLogger } from '../src/lib/log.ts';
import type { AriEventBody } from '../src/models/events.ts';

const log = createLogger({ level: 'error' });

const eventOf = (id: string): AriEventBody => ({
  type: 'ChannelStateChange',
  channel: {
    id,
    name: 'PJSIP/alice-0a1b2c3d',
    state: 'Up',
    protocol_id: '3c26700857a87f84@10.0.0.9',
    caller: { name: 'Alice', number: '1001' },
    connected: { name: '', number: '' },
    accountcode: '',
    dialplan: { context: 'default', exten: '1000', priority: 1, app_name: 'Stasis', app_data: 'hello,1000' },
    creationtime: '2026-01-31T12:00:00.123+0000',
    language: 'en',
  },
});

function world(applications: number, channels: number) {
  const bus = createBus({ log });
  const owner = createApplications({
    bus,
    clock: systemClock,
    log,
    runtime: createRuntime(systemClock, log),
    entityId: '00:11:22:33:44:55',
    resolve: {
      channel: () => undefined,
      bridge: () => undefined,
      endpoint: () => undefined,
      technology: () => undefined,
    },
  });
  let messages = 0;
  let characters = 0;
  for (let n = 0; n < applications; n++)
    owner.connect({
      names: [`app-${n}`],
      describe: 'bench',
      send: (json) => {
        messages++;
        // As a socket would, makes one flat piece of memory of the parts that the text was put together from.
        characters += Buffer.byteLength(json);
      },
    });
  const ids = Array.from({ length: channels }, (_, n) => `1700000000.${n}`);
  return { bus, owner, ids, told: () => ({ messages, characters }) };
}

function report(what: string, events: number, run: () => void, told: () => { messages: number; characters: number }) {
  run();
  const before = told();
  const start = performance.now();
  run();
  const ms = performance.now() - start;
  const messages = told().messages - before.messages;
  console.log(
    `${what.padEnd(58)} ${((1000 * ms) / events).toFixed(2).padStart(8)} µs/event ` +
      `${Math.round((1000 * events) / ms)
        .toLocaleString('en')
        .padStart(
          10,
        )} events/s${messages > events ? ` ${((1000 * ms) / messages).toFixed(2).padStart(7)} µs/message` : ''}`,
  );
}

{
  const { bus, owner, ids, told } = world(1, 1_000);
  for (const id of ids) owner.addInterest('app-0', channelTopic(id));
  const events = 300_000;
  const publications = ids.map((id) => ({ event: eventOf(id), topics: channelTopics(id, ['PJSIP', 'alice']) }));
  const run = () => {
    for (let n = 0; n < events; n++) bus.publish(publications[n % publications.length]!);
  };
  report('one application, 1,000 channels, each event to it', events, run, told);
  const cycle = () => {
    for (let n = 0; n < 100_000; n++) {
      const topic = channelTopic(`new-${n}`);
      owner.addInterest('app-0', topic);
      owner.addInterest('app-0', topic);
      owner.removeInterest('app-0', topic);
      owner.forget(topic);
    }
  };
  report('a channel comes and goes: four calls to subscriptions', 100_000, cycle, told);
}

{
  const { bus, owner, ids, told } = world(1_000, 1_000);
  ids.forEach((id, n) => {
    owner.addInterest(`app-${n}`, channelTopic(id));
  });
  const events = 300_000;
  const publications = ids.map((id) => ({ event: eventOf(id), topics: channelTopics(id, ['PJSIP', 'alice']) }));
  const run = () => {
    for (let n = 0; n < events; n++) bus.publish(publications[n % publications.length]!);
  };
  report('1,000 applications, each event to one of them', events, run, told);
  const quiet = { event: eventOf('quiet'), topics: channelTopics('quiet', ['PJSIP', 'alice']) };
  const silence = () => {
    for (let n = 0; n < 1_000_000; n++) bus.publish(quiet);
  };
  report('1,000 applications, nobody interested', 1_000_000, silence, told);
}

{
  const { bus, owner, told } = world(1_000, 1);
  for (let n = 0; n < 1_000; n++) owner.addInterest(`app-${n}`, channelTopic('c'));
  const publication = { event: eventOf('c'), topics: channelTopics('c', ['PJSIP', 'alice']) };
  const run = () => {
    for (let n = 0; n < 300; n++) bus.publish(publication);
  };
  report('1,000 applications, each event to all of them', 300, run, told);
}
