import type { Clock } from '../lib/clock.ts';
import type { MixMember, RtpFlow } from '../telephony/media.ts';
import { MediaEngine, type MediaEngineOptions } from './engine.ts';
import { headerLength, writeHeader } from './rtp/header.ts';
import type { PacketSocket, Sockets } from './rtp/sockets.ts';
import { tickMs } from './ticker.ts';

/** Sockets for warm-up calls, on the given clock. */
export type OpenSockets = (clock: Clock) => Sockets & { close(): void };

const address = '127.0.0.1';
/** Legs that echo, as many in bridges of two, and as many in one conference. */
const legsOfEach = 8;
const legs = 3 * legsOfEach;
/** How often all calls are placed again: in real time, then faster. */
const roundsInTime = 2;
const rounds = 60;
/** Ticks of a call, and ticks until its far side is another one, whose first packets miss the fast relay. */
const ticksOfRound = 12;
const ticksOfSource = 3;
/** How long other work gets the thread in each pause, in ms. */
const restMs = 1;
/** Samples, and octets, of a packet of G.711. */
const samples = tickMs * 8;
/** A sample that is none of silence. */
const loud = 0x35;

const flow: Omit<RtpFlow, 'remote'> = { codec: 'ulaw', payloadType: 0, ptimeMs: tickMs, send: true, receive: true };
const member: MixMember = { role: 'participant', muted: false, passDigits: true };

type Stage = { engine: MediaEngine; sockets: ReturnType<OpenSockets> };
/** A far side: where it sends to, and what its last packet was. */
type Phone = {
  session: number;
  socket: PacketSocket;
  port: number;
  ssrc: number;
  sequence: number;
  timestamp: number;
};

/**
 * Plays warm-up calls through an engine of its own: echoes, bridges of two and a conference, on real sockets, whose far
 * ends are sockets of this thread as well. This compiles the code of packets and ticks before many calls come at once.
 * Without it the first packets of a thousand calls take 60 ms, and all wait (docs/decisions/0026-native-sockets.md). It
 * goes on for about two seconds, a tick at a time. Real calls hardly wait for it.
 */
export class WarmUp {
  readonly #options: MediaEngineOptions;
  readonly #openSockets: OpenSockets;
  #stage: Stage | undefined;
  #stopped = false;

  /** @param options those of the thread's engine. */
  constructor(options: MediaEngineOptions, openSockets: OpenSockets) {
    this.#options = options;
    this.#openSockets = openSockets;
  }

  /** Resolves when it is over, or was stopped. @throws Error where sockets cannot be had: then nothing is left open. */
  async run(): Promise<void> {
    const { clock } = this.#options;
    try {
      // First as it will be, so that nothing is compiled for a clock that only stands in; then quickly.
      await this.#play(clock, roundsInTime, () => rest(clock, tickMs));
      const own = new WarmUpClock(clock);
      await this.#play(own, rounds, async () => {
        await rest(clock, restMs);
        own.advance(tickMs);
      });
    } finally {
      this.stop();
    }
  }

  /** Closes all that it has opened. */
  stop(): void {
    this.#stopped = true;
    this.#strike();
  }

  /** @param tick lets one tick of the clock go by. */
  async #play(clock: Clock, times: number, tick: () => Promise<void>): Promise<void> {
    if (this.#stopped) return;
    const { config, log, loader, random32 } = this.#options;
    const sockets = this.#openSockets(clock);
    const nowhere = { ...config, address, ports: { first: 0, last: 0 }, portDrainMs: tickMs, measureMs: 0 };
    // That the machine is busy while nobody calls is nothing to warn of.
    const engine = new MediaEngine({
      config: nowhere,
      log: { ...log, warn: log.debug },
      loader,
      random32,
      clock,
      sockets,
      report: () => {},
    });
    this.#stage = { engine, sockets };
    for (let round = 0; round < times && this.#stage; round++) await this.#playRound(this.#stage, tick);
    this.#strike();
  }

  #strike(): void {
    this.#stage?.engine.close();
    this.#stage?.sockets.close();
    this.#stage = undefined;
  }

  /** Calls, talks and hangs up; what was stopped meanwhile is closed already. */
  async #playRound({ engine, sockets }: Stage, tick: () => Promise<void>): Promise<void> {
    const { clock, random32 } = this.#options;
    const phones: Phone[] = [];
    for (let leg = 0; leg < legs; leg++) {
      if (leg % legsOfEach === 0) await rest(clock, restMs);
      if (!this.#stage) return;
      phones.push(await call(engine, sockets, leg, random32));
    }
    for (let index = 0; index < ticksOfRound; index++) {
      if (!this.#stage) return;
      for (const phone of phones) {
        if (index % ticksOfSource === 0) phone.ssrc = random32();
        talk(phone);
      }
      await tick();
    }
    if (this.#stage) for (const phone of phones) hangUp(engine, phone);
  }
}

const rest = (clock: Clock, ms: number) => new Promise<void>((rested) => clock.setTimeout(rested, ms));

/** Where a leg is: in no mix, which is an echo, in one of two, or in the one of all that are left. */
const mixOf = (leg: number): number | undefined => (leg < legsOfEach ? undefined : Math.min(leg >> 1, legsOfEach));

async function call(engine: MediaEngine, sockets: Sockets, session: number, random32: () => number): Promise<Phone> {
  const socket = await sockets.bind(address, 0);
  socket.listen(() => {});
  const { port } = await engine.openRtp(session);
  engine.apply({ type: 'configure', session, flow: { ...flow, remote: { address, port: socket.port } } });
  const mix = mixOf(session);
  if (mix === undefined) engine.apply({ type: 'echo', session, on: true });
  else {
    if (mix !== mixOf(session - 1)) engine.openMix(mix, 'mixing');
    engine.applyToMix(mix, { type: 'join', session, member });
  }
  return { session, socket, port, ssrc: random32(), sequence: random32() & 0xffff, timestamp: random32() };
}

function hangUp(engine: MediaEngine, { session, socket }: Phone): void {
  const mix = mixOf(session);
  if (mix !== undefined && mix !== mixOf(session + 1)) engine.applyToMix(mix, { type: 'close' });
  engine.apply({ type: 'close', session });
  socket.close();
}

/** Says something, or a mix would not add it up. */
function talk(phone: Phone): void {
  const packet = new Uint8Array(headerLength + samples).fill(loud, headerLength);
  phone.sequence = (phone.sequence + 1) & 0xffff;
  phone.timestamp = (phone.timestamp + samples) >>> 0;
  const { sequence, timestamp, ssrc } = phone;
  writeHeader(packet, { marker: false, payloadType: flow.payloadType, sequence, timestamp, ssrc });
  phone.socket.send(packet, phone.port, address);
}

type Timer = { at: number; run: () => void };

/** Clock of the warm-up: it stands still until it is advanced. */
class WarmUpClock implements Clock {
  readonly #real: Clock;
  readonly #timers = new Set<Timer>();
  #now: number;

  /** @param real time of the thread. */
  constructor(real: Clock) {
    this.#real = real;
    this.#now = real.monotonic();
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  readonly setTimeout = (run: () => void, ms: number): Timer => {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return timer;
  };

  readonly clearTimeout = (timer: unknown): void => void this.#timers.delete(timer as Timer);

  soon(run: () => void): void {
    this.#real.soon(run);
  }

  /** Moves on by so many ms, and runs what falls due. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
  }

  #next(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= end && (!next || timer.at < next.at)) next = timer;
    return next;
  }
}
