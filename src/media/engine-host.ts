import type { Clock } from '../lib/clock.ts';
import { LimitCounts, type LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import type { LoopReader } from '../lib/loop-reader.ts';
import type { PlaneLoad } from '../telephony/plane-figures.ts';
import { loadOpus } from './codec/opus.ts';
import { MediaEngine, type MediaEngineOptions } from './engine.ts';
import { noWires, type Wires } from './external/wires.ts';
import { MusicOnHold } from './file/music-on-hold.ts';
import type { OpenFiles } from './file/open-files.ts';
import { SoundLibrary } from './file/sound-library.ts';
import { ItemLoader, type OpenMusic } from './item-loader.ts';
import { LastWords } from './last-words.ts';
import { MusicReader } from './music-reader.ts';
import type { WakeUps } from './pipe/wake-up.ts';
import type { MediaCommand, MediaMessage, WorkerStart } from './protocol.ts';
import { ReportWindow } from './report-window.ts';
import type { Sockets } from './rtp/sockets.ts';
import { blockSlots, memoryIn } from './session-memory.ts';
import { type OpenSockets, WarmUp } from './warm-up.ts';

/** Time, sockets and random numbers of the engine. */
export type EngineWorld = {
  clock: Clock;
  sockets: Sockets;
  /** The sockets of the warm-up of a media thread. */
  warmUpSockets?: OpenSockets;
  /** Returns memory that is not used to the system: after the warm-up, and when nothing is under way. */
  compact?: () => void;
  /** Connections to servers; none when left out. */
  wires?: Wires;
  /** 32 random bits, unpredictable to others. */
  random32: () => number;
  /** Registry of open files; left out if they end with a thread. */
  files?: OpenFiles;
  /** How threads wake each other. */
  wakeUps: WakeUps;
  /** How late the event loop was since its reader last asked; left out where the thread is not the engine's own. */
  loopDelay?: (reader: LoopReader) => NonNullable<PlaneLoad['loopDelay']>;
};

/**
 * Hosts the engine behind its port: takes batches of commands, posts batches of messages, one for each turn. The same
 * in the media thread and in the process of a simulation.
 * @returns what to do with a batch of commands.
 */
export function hostEngine(
  { config, thread, wakeUp, heard, follows }: WorkerStart,
  { clock, sockets, warmUpSockets, compact, wires = noWires, random32, files, wakeUps, loopDelay }: EngineWorld,
  post: (messages: MediaMessage[]) => void,
): (commands: readonly MediaCommand[]) => void {
  let batch: MediaMessage[] = [];
  let lastWords: LastWords | undefined;
  const flush = (): void => {
    const full = batch;
    batch = [];
    reports.posted();
    post(full);
  };
  const reports = new ReportWindow(heard, config.reports);
  const tell = (message: MediaMessage): void => {
    if (lastWords) {
      lastWords.add(message);
      return;
    }
    if (!reports.take(message)) {
      hit('media.report_backlog');
      return;
    }
    if (batch.length === 0) clock.soon(flush);
    batch.push(message);
  };
  const hit = limitTeller(clock, (counts) => tell({ type: 'limits', counts }));
  const library = new SoundLibrary(config);
  const music = new MusicOnHold({ directories: config.musicDirectories });
  const openMusic: OpenMusic = (musicClass, codec, about) =>
    new MusicReader(music, { musicClass, codec, clock }, (error) =>
      tell({ type: 'log', level: 'warn', fields: { ...about, error, musicClass }, message: 'unknown music class' }),
    );
  const options: MediaEngineOptions = {
    config,
    clock,
    log: forwardingLogger(tell, {}),
    sockets,
    wires,
    loader: new ItemLoader(library, config.toneZone, openMusic),
    random32,
    files,
    wakeUp,
    wakeUps,
    // Threads tick at different phases, so that each one's audio is ready for the others' next tick.
    place: { at: thread, of: Math.max(1, config.threads) },
    report: tell,
    mayTell: (session) => reports.mayTell(session),
    hit,
  };
  const engine = new MediaEngine(options);
  if (follows) engine.hold();
  const warmUp = config.warmsUp && warmUpSockets ? beginWarmUp(options, warmUpSockets, compact) : undefined;
  let hasOpus = false;
  // With the first stream of Opus: it says nothing for some tens of ms.
  const needOpus = (): void => {
    hasOpus = true;
    loadOpus().catch((error: unknown) => tell({ type: 'log', level: 'error', fields: { error }, message: 'no Opus' }));
  };
  const host: Host = { engine, memory: createMemory(), tell, loopDelay };
  return (commands) => {
    for (const command of commands) {
      if (command.type === 'configure' && command.flow.codec === 'opus' && !hasOpus) needOpus();
      if (command.type === 'shutdown') warmUp?.stop();
      if (command.type === 'compact') compact?.();
      if (command.type === 'halt') {
        engine.recorders.flushNow();
        lastWords?.end();
      }
      carryOut(host, command);
      if (command.type === 'linger') lastWords = new LastWords(command.room);
    }
  };
}

/** Begins the warm-up. Without sockets there is none; the first real call reports the reason. */
function beginWarmUp(options: MediaEngineOptions, openSockets: OpenSockets, done = (): void => {}): WarmUp {
  const warmUp = new WarmUp(options, openSockets);
  const failed = (error: unknown): void => options.log.debug({ error }, 'the warm-up failed');
  warmUp.run().then(done, failed);
  return warmUp;
}

type Host = {
  readonly engine: MediaEngine;
  readonly memory: ReturnType<typeof createMemory>;
  readonly tell: (message: MediaMessage) => void;
  readonly loopDelay: EngineWorld['loopDelay'];
};

type Command<Type extends MediaCommand['type']> = Extract<MediaCommand, { type: Type }>;

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : '');

function openRtp({ engine, memory, tell }: Host, command: Command<'openRtp'>): void {
  const { request, session, slot, ...open } = command;
  engine.openRtp(session, { ...open, memory: memory.of(slot) }).then(
    (local) => tell({ type: 'opened', request, ...local }),
    (error: unknown) => tell({ type: 'refused', request, reason: reasonOf(error) }),
  );
}

function openVideo({ engine, tell }: Host, command: Command<'openVideo'>): void {
  const { request, session, stream } = command;
  engine.openVideo(session, command).then(
    (local) => tell({ type: 'opened', request, ...local }),
    (error: unknown) => {
      const reason = reasonOf(error);
      const fields = { session, stream, reason };
      tell({ type: 'log', level: 'warn', fields, message: 'no video: it cannot be opened' });
      tell({ type: 'refused', request, reason });
    },
  );
}

function tellLoad({ engine, tell, loopDelay }: Host, { request, reader }: Command<'load'>): void {
  const { late: lateTicks, skipped: skippedTicks } = engine.ticks;
  tell({ type: 'load', request, load: { lateTicks, skippedTicks, loopDelay: loopDelay?.(reader) } });
}

/** Commands that are not for one session, or that make one. All others go to `MediaEngine.apply`. */
const commands: { readonly [Type in MediaCommand['type']]?: (host: Host, command: Command<Type>) => void } = {
  memory: ({ memory }, { block }) => memory.add(block),
  openRtp,
  openVideo,
  openLocal: ({ engine, memory }, { session, slot, peer }) => engine.openLocal(session, memory.of(slot), peer),
  openSnoop: ({ engine, memory }, command) =>
    engine.openSnoop(command.session, command.target, command, memory.of(command.slot)),
  openExternal: ({ engine, memory }, { session, external, slot }) =>
    engine.openExternal(session, external, memory.of(slot)),
  relay: ({ engine }, { session, relay }) => engine.relay(session, relay),
  openPipe: ({ engine }, { session, plan }) => engine.openPipe(session, plan),
  closePipe: ({ engine }, { session, pipe }) => engine.closePipe(session, pipe),
  openPipeEnd: ({ engine }, { session, plan }) => engine.openPipeEnd(session, plan),
  openVideoPipe: ({ engine }, command) => engine.openVideoPipe(command),
  openMix: ({ engine }, { mix, kind }) => engine.openMix(mix, kind),
  mix: ({ engine }, { mix, command }) => engine.applyToMix(mix, command),
  overhear: ({ engine }, command) => engine.overhear(command),
  statistics: ({ engine, tell }, { request, session }) =>
    tell({ type: 'statistics', request, statistics: engine.statistics(session) }),
  videoStatistics: ({ engine, tell }, { request, session }) =>
    tell({ type: 'videoStatistics', request, statistics: engine.videoStatistics(session) }),
  usage: ({ engine, tell }, { request }) => tell({ type: 'usage', request, usage: engine.usage() }),
  load: tellLoad,
  measure: ({ engine }, { everyMs }) => engine.measure(everyMs),
  // The receiver of all commands does these.
  compact: () => undefined,
  halt: () => undefined,
  goOn: ({ engine }) => engine.goOn(),
  linger: ({ tell }, { request }) => tell({ type: 'linger', request }),
  ping: ({ tell }) => tell({ type: 'pong' }),
  shutdown({ engine, tell }, { request }) {
    engine.close();
    tell({ type: 'ended', request });
  },
};

function carryOut(host: Host, command: MediaCommand): void {
  const run = commands[command.type] as ((host: Host, command: MediaCommand) => void) | undefined;
  if (run) run(host, command);
  else host.engine.apply(command as Parameters<MediaEngine['apply']>[0]);
}

/** The blocks that sessions share with the main thread, in the order they came. */
function createMemory() {
  const blocks: SharedArrayBuffer[] = [];
  return {
    add: (block: SharedArrayBuffer) => void blocks.push(block),
    of: (slot: number) => memoryIn(blocks[Math.floor(slot / blockSlots)]!, slot % blockSlots),
  };
}

/** Logging is done by the main thread; errors travel as their words and stack. */
function forwardingLogger(tell: (message: MediaMessage) => void, fixed: object): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    tell({ type: 'log', level, fields: { ...fixed, ...fields }, message });
  return {
    trace: () => {},
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => forwardingLogger(tell, { ...fixed, ...fields }),
    enabled: (level) => level !== 'trace',
  };
}

/** Delay of reports about reached limits, in ms; further ones are added. */
const tellMs = 1_000;

/** Counts limits reached in a media thread and reports them in batches, because every packet may reach one. */
export function limitTeller(
  clock: Pick<Clock, 'setTimeout'>,
  tell: (counts: Readonly<Record<string, number>>) => void,
): LimitHit {
  const counts = new LimitCounts();
  let isPlanned = false;
  return (setting, times) => {
    counts.hit(setting, times);
    if (isPlanned) return;
    isPlanned = true;
    clock.setTimeout(() => {
      isPlanned = false;
      tell(counts.take());
    }, tellMs);
  };
}
