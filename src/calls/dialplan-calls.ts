import { type BridgeEntry, hearBridge } from '../actors/bridge-entry.ts';
import type { Bridges } from '../actors/bridges.ts';
import type { Broadcasts } from '../actors/broadcasts.ts';
import { type ChannelDialplans, stopDialplan } from '../actors/channel-effects.ts';
import { type ChannelEntry, type ChannelFacts, snapshotOf } from '../actors/channel-entry.ts';
import type { CallsOf } from '../actors/channel-views.ts';
import type { Channels } from '../actors/channels.ts';
import type { Snoops } from '../actors/snoops.ts';
import type { Runtime } from '../actors/spawn.ts';
import type { DialplanRecording, Ongoing, RecordOutcome } from '../dialplan/calls.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { isEnding } from '../machines/channel.ts';
import { countLimit } from '../models/limits.ts';
import { recordingFormats } from '../models/live-recording.ts';
import type { StoredRecordings } from '../stores/stored-recordings.ts';
import type { RecordReport } from '../telephony/media.ts';
import type { DialsOptions } from './dial-session.ts';
import type { DialSessions, RunningDials } from './dial-sessions.ts';
import { createDials } from './dials.ts';
import type { FeatureKeys } from './feature-keys.ts';
import { openPlainBridge, plainEntry, unlessLimited } from './plain-bridges.ts';
import { alone, createSpying } from './spying.ts';

type DialplanCallsOptions = {
  runtime: Runtime;
  channels: Channels;
  facts: ChannelFacts;
  views: DialsOptions['views'];
  audio: DialsOptions['audio'];
  dialplans: ChannelDialplans;
  bridges: Bridges;
  /** Sessions, to find replacements. */
  dialSessions: DialSessions;
  /** Listens to channels. */
  snoops: Pick<Snoops, 'open' | 'targetOf'>;
  stored: Pick<StoredRecordings, 'placeFor'>;
  broadcasts: Pick<Broadcasts, 'offer'>;
  ids: Ids;
  /** Lets callers hear early media; left out: they do not. */
  media?: DialsOptions['media'] | undefined;
  /** Feature keys of the parties; left out: none. */
  featureKeys?: FeatureKeys | undefined;
  /** Restored Dials; left out: Dials start again. */
  running?: RunningDials | undefined;
  clock: Clock;
  log: Logger;
  /** Counts limits that were reached. */
  hit?: LimitHit | undefined;
};

const nothing = (): void => {};

/** Runs what a limit may refuse, which is then logged. */
type Attempt = <T>(entry: ChannelEntry, what: () => T) => T | undefined;

/** Connects channels for the dialplan, in bridges of its own that clients only see, and runs the dialplan so. */
export function createDialplanCalls(options: DialplanCallsOptions): void {
  const { channels, audio, bridges, ids, clock, log, hit = uncounted } = options;
  const conferences = new Map<string, BridgeEntry>();

  const openBridge = (name = ''): BridgeEntry =>
    openPlainBridge(bridges, { id: ids.uuid(), creationTime: clock.now(), name });

  const attempt = <T>(entry: ChannelEntry, what: () => T): T | undefined =>
    unlessLimited(what, (error) => {
      countLimit(error, hit);
      log.warn({ channel: entry.id, reason: error.message }, 'cannot add a channel to a bridge');
    });

  const join = (entry: ChannelEntry, name: string): Ongoing<void> | undefined => {
    const other = channels.findByIdOrName(name);
    const isFree = other?.ownership.getSnapshot().value === 'dialplan' && !isEnding(snapshotOf(other));
    if (!other || other === entry || !isFree) return undefined;
    const bridge = attempt(entry, () => openBridge());
    if (!bridge) return undefined;
    // The channel runs no dialplan of its own: when the two separate, it ends.
    stopDialplan(other);
    for (const member of [entry, other]) bridges.enter(bridge, member, plainEntry);
    const part = (): void => {
      bridges.destroy(bridge);
      channels.tell(other, { type: 'finish', cause: 16 });
    };
    return { done: alone(bridge, bridges).then(part), stop: part };
  };

  /** The conference in which a channel is before its step begins: both were restored. */
  const restoredConference = (entry: ChannelEntry, name: string): BridgeEntry | undefined => {
    const bridge = bridges.bridgeOf(entry.id);
    const context = bridge && bridges.snapshot(bridge).context;
    return context?.class === 'basic' && context.name === name ? bridge : undefined;
  };

  const enterConference = (entry: ChannelEntry, name: string): Ongoing<void> => {
    const restored = restoredConference(entry, name);
    const known = restored ?? conferences.get(name);
    const conference = known && bridges.find(known.id) ? known : attempt(entry, () => openBridge(name));
    const isIn = conference && (restored || attempt(entry, () => bridges.enter(conference, entry, plainEntry) ?? true));
    if (!conference || !isIn) return { done: Promise.resolve(), stop: nothing };
    conferences.set(name, conference);
    const leave = (): void => {
      if (bridges.bridgeOf(entry.id) === conference) bridges.leave(entry.id);
      if (conferences.get(name) !== conference || conference.stays.size > 0) return;
      conferences.delete(name);
      bridges.destroy(conference);
    };
    const gone = new Promise<void>((resolve) => {
      const unwatch = hearBridge(bridges, conference.id, () => {
        if (bridges.bridgeOf(entry.id) === conference) return;
        unwatch();
        resolve();
      });
    });
    return { done: gone.then(leave), stop: leave };
  };

  const record = recordingFor(options.stored, attempt);
  const spy = createSpying({ channels, bridges, snoops: options.snoops, openBridge, attempt });
  const callsOf: CallsOf = (entry) => ({
    dial: (request) => dials.dial(entry, request),
    join: (name) => join(entry, name),
    spy: (request) => spy(entry, request),
    enterConference: (name) => enterConference(entry, name),
    music(musicClass) {
      audio.tell(entry, { type: 'startMoh', musicClass });
      return () => audio.tell(entry, { type: 'stopMoh' });
    },
    broadcast: (request) => options.broadcasts.offer(entry, request),
    record: (recording) => record(entry, recording),
  });
  const dials = createDials({ ...options, hit, openBridge, callsOf });
  options.dialplans.serve(options.facts, callsOf);
}

function outcomeOf(report: Exclude<RecordReport, { type: 'record.started' }>): RecordOutcome {
  if (report.type !== 'record.finished') return 'ERROR';
  // What is stopped was ended by a key in the process before; else its step is over, and nobody reads this.
  const outcomes = { stopped: 'DTMF', sourceGone: 'HANGUP', duration: 'TIMEOUT', silence: 'SILENCE', digit: 'DTMF' };
  return outcomes[report.reason] as RecordOutcome;
}

/** Makes what records a channel for the dialplan. */
function recordingFor(stored: DialplanCallsOptions['stored'], attempt: Attempt) {
  return (entry: ChannelEntry, recording: DialplanRecording): Ongoing<RecordOutcome> => {
    const { name, format, append, beep, maxDurationMs, maxSilenceMs, terminateOn } = recording;
    const isKnown = (recordingFormats as readonly string[]).includes(format);
    const path = isKnown ? attempt(entry, () => stored.placeFor(name, format)) : undefined;
    if (path === undefined) return { done: Promise.resolve('ERROR'), stop: nothing };
    let stop = nothing;
    const done = new Promise<RecordOutcome>((resolve) => {
      const { journal } = entry;
      const left = journal.takeRecording(name, format);
      const request = {
        path,
        format,
        ifExists: append ? ('append' as const) : ('overwrite' as const),
        beep: beep && !left,
        channels: 1 as const,
        maxDurationMs,
        maxSilenceMs,
        terminateOn,
        ...(left && { goOn: left }),
      };
      let hasFile = left !== undefined;
      const told = (report: RecordReport): void => {
        hasFile = report.type === 'record.started';
        journal.changed();
        if (report.type !== 'record.started') resolve(outcomeOf(report));
      };
      const handle = entry.leg.media.record(request, told);
      journal.records(() => (hasFile ? { name, format, ...handle.progress() } : undefined));
      stop = () => handle.stop();
    });
    return { done, stop: () => stop() };
  };
}
