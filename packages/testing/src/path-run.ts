import { type Disturbance, elsewhere, isCaller, phoneOf } from './disturbances.ts';
import {
  Follower,
  isTurn,
  type Moment,
  objectInWords,
  objectsOf,
  Reached,
  type SeenMoment,
  statesOf,
} from './moments.ts';
import type { PathFinding, PathsOptions } from './path-findings.ts';
import { startTestServer, type TestServer, withPhone } from './server.ts';

/** Simulated time that a disturbance has before held commands go on, in ms. */
const effectMs = 100;
/** How long a call is left alone after a disturbance, in ms of simulated time. */
const aloneMs = 10_000;
/** How long everything may take to end after the callers have gone, in ms of simulated time. */
const endMs = 60_000;
/** How long an application may take to connect again, in ms of real time. */
const reconnectMs = 5_000;
const lookMs = 10;

const failures = ['unhandledRejection', 'uncaughtException'] as const;

/** What a path has shown. */
type Outcome = Pick<PathFinding, 'kind' | 'stayed' | 'unhandled' | 'refused' | 'details'>;

/** A server with the application under test. */
export class Rig {
  readonly #options: PathsOptions;
  readonly #pbx: TestServer;
  #stop: (() => unknown) | undefined;
  #failure: string | undefined;
  readonly #failed = (error: unknown): void => {
    if (!(error instanceof Reached)) this.#failure ??= String((error as Error)?.stack ?? error);
  };
  /** Who else hears of errors that nobody catches: a test runner. */
  readonly #others = failures.map((name) => ({ name, listeners: process.rawListeners(name) }));

  private constructor(options: PathsOptions, pbx: TestServer) {
    this.#options = options;
    this.#pbx = pbx;
  }

  static async start(options: PathsOptions): Promise<Rig> {
    const { seed } = options;
    const server = withPhone({ ...(seed !== undefined && { seed }), ...options.server }, elsewhere);
    const rig = new Rig(options, await startTestServer(server));
    rig.#pbx.phone(elsewhere).does({ when: 'answer', hangsUpAfter: '3s' });
    // An application in this process: what would end a program of its own is told here, and nowhere else.
    for (const { name } of rig.#others) process.removeAllListeners(name).on(name, rig.#failed);
    try {
      const stop = await options.start(rig.#pbx);
      if (typeof stop === 'function') rig.#stop = stop as () => unknown;
      await rig.#pbx.settle();
      return rig;
    } catch (error) {
      await rig.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#stop?.();
    await this.#pbx.close();
    // What has just failed is told before this.
    await later(0);
    for (const { name, listeners } of this.#others) {
      process.removeAllListeners(name);
      for (const listener of listeners) process.on(name, listener as () => void);
    }
  }

  /** A normal call. @throws what the script throws; Error if something is left. */
  async normal(rests: Set<string>): Promise<SeenMoment[]> {
    const before = this.#before();
    const follower = this.#follow(rests);
    try {
      await this.#options.call(this.#pbx);
      await this.#pbx.settle();
      const { moments } = follower;
      await this.#leave();
      if (!(await this.#isClear(before)))
        throw new Error(`the normal call has left ${this.#since(before.ids).map(objectInWords).join(', ')}`);
      return moments;
    } finally {
      follower.end();
    }
  }

  /** A call that is disturbed at a moment. @returns what is wrong then; `missed` when the moment did not come. */
  async disturb(moment: Moment, { act, end, change, waitMs }: Disturbance, rests: Set<string>) {
    const before = this.#before();
    const apps = this.#apps();
    const follower = this.#follow(rests, moment);
    try {
      await this.#reach(follower);
      if (!follower.reached) return 'missed' as const;
      const { length } = this.#pbx.events;
      const { commands } = follower;
      const { world } = this.#pbx.inside;
      // A phone that cannot do it any more does not.
      await Promise.resolve(act?.(this.#pbx)).catch(() => {});
      if (moment.kind === 'command') await world.clock.run(effectMs);
      follower.release(change);
      const since = { before, events: length, commands };
      const found =
        (await this.#lost(follower, since, apps)) ??
        (await this.#alone(follower, since, waitMs)) ??
        (await this.#afterwards(follower, since));
      await end?.(this.#pbx);
      return found ?? (await this.#again());
    } finally {
      follower.end();
    }
  }

  #follow(rests: Set<string>, stopAt?: Moment): Follower {
    this.#pbx.events.length = 0;
    return new Follower(this.#pbx, rests, stopAt);
  }

  async #reach(follower: Follower): Promise<void> {
    // What it expects does not come true any more.
    await this.#options.call(this.#pbx).catch(() => {});
    if (!follower.reached) await this.#pbx.settle().catch(() => {});
    this.#pbx.inside.world.resume();
  }

  /** Leaves the call alone. @returns what is wrong with where it comes to rest. */
  async #alone(follower: Follower, since: Since, waitMs = aloneMs): Promise<Outcome | undefined> {
    const end = this.#pbx.clock.now() + waitMs;
    const isOver = () => this.#end() !== undefined || this.#since(since.before.ids).length === 0;
    while (!isOver() && this.#pbx.clock.now() < end) await this.#pbx.clock.advance('1s');
    if (this.#end() !== undefined) return this.#outcome('ended', follower, since, this.#end());
    const stayed = this.#since(since.before.ids).filter(({ chart }) => chart === 'channel');
    if (stayed.length === 0 || follower.rests.has(statesOf(this.#pbx.inside.actors()))) return undefined;
    await this.#patience();
    if (follower.rests.has(statesOf(this.#pbx.inside.actors()))) return undefined;
    const idle = follower.commands === since.commands || follower.answeredEvents <= since.events;
    return this.#outcome(idle ? 'unhandled' : 'stranded', follower, since);
  }

  /** The application connects again, if it is not connected. @returns what is wrong if it does not. */
  async #lost(follower: Follower, since: Since, apps: readonly string[]): Promise<Outcome | undefined> {
    if (await this.#areConnected(apps)) return undefined;
    return this.#outcome(this.#end() === undefined ? 'disconnected' : 'ended', follower, since, this.#end());
  }

  /** The callers go. @returns what is wrong then. */
  async #afterwards(follower: Follower, since: Since): Promise<Outcome | undefined> {
    await this.#leave();
    const clear = await this.#isClear(since.before);
    if (this.#end() !== undefined) return this.#outcome('ended', follower, since, this.#end());
    if (!clear) return this.#outcome('left', follower, since);
    if (follower.refused.some(({ status }) => status >= 500)) return this.#outcome('serverError', follower, since);
    return undefined;
  }

  async #again(): Promise<Outcome | undefined> {
    try {
      await this.normal(new Set());
      if (this.#end() === undefined) return undefined;
      return { kind: 'ended', stayed: [], unhandled: [], refused: [], details: this.#end() ?? '' };
    } catch (error) {
      const details = this.#end() ?? (error as Error).message;
      const kind = this.#end() === undefined ? 'nextCall' : 'ended';
      return { kind, stayed: [], unhandled: [], refused: [], details };
    }
  }

  #outcome(kind: Outcome['kind'], follower: Follower, since: Since, details?: string): Outcome {
    const types = this.#pbx.events.slice(Math.max(since.events, follower.answeredEvents)).map(({ type }) => type);
    return {
      kind,
      stayed: this.#since(since.before.ids).map(objectInWords),
      unhandled: [...new Set(types.filter(isTurn))],
      refused: follower.refused.map(({ request, status }) => `${request}: ${status}`),
      ...(details !== undefined && { details }),
    };
  }

  /** Callers hang up; called phones do when nobody calls. */
  async #leave(): Promise<void> {
    const { phones, actors } = this.#pbx.inside;
    const channels = actors().filter(({ chart }) => chart === 'channel');
    const callers = channels.filter(isCaller);
    const isCalled = [...phones.values()].length > 0 && callers.length === 0;
    for (const channel of isCalled && this.#options.calledHangUp ? channels : callers)
      await phoneOf(channel, phones)?.hangup();
    await this.#pbx.settle();
  }

  /** Nothing new is there; or only what replaces something lasting, such as a waiting room, in the same state. */
  #isAsBefore({ ids, states }: Before): boolean {
    return this.#since(ids).length === 0 || statesOf(this.#pbx.inside.actors()) === states;
  }

  async #isClear(before: Before): Promise<boolean> {
    const isClear = () => this.#isAsBefore(before);
    const left = this.#pbx.inside.world.until(
      () => isClear() || this.#end() !== undefined,
      endMs,
      () => 'left',
    );
    return left.then(isClear, () => false);
  }

  /** Why the application has ended; undefined while it runs. */
  #end(): string | undefined {
    return this.#failure ?? this.#pbx.inside.ended();
  }

  #apps(): string[] {
    const { actors, world } = this.#pbx.inside;
    const names = actors().filter(({ chart }) => chart === 'application');
    return names.map(({ id }) => id).filter((id) => world.http.isConnected(id));
  }

  async #areConnected(apps: readonly string[]): Promise<boolean> {
    const { http } = this.#pbx.inside.world;
    for (let waited = 0; !apps.every((app) => http.isConnected(app)); waited += lookMs) {
      if (waited >= reconnectMs || this.#end() !== undefined) return false;
      await later(lookMs);
      if (!(await http.programs.atRest())) return false;
    }
    await this.#pbx.settle();
    return true;
  }

  /** Real time for a slow program. */
  async #patience(): Promise<void> {
    const { http } = this.#pbx.inside.world;
    for (let waited = 0; waited < 500; waited += lookMs) {
      await later(lookMs);
      await http.programs.atRest();
      if (await http.settle()) await this.#pbx.settle();
    }
  }

  #before(): Before {
    const ids = new Set(objectsOf(this.#pbx).map(({ chart, id }) => `${chart} ${id}`));
    return { ids, states: statesOf(this.#pbx.inside.actors()) };
  }

  #since(ids: ReadonlySet<string>) {
    return objectsOf(this.#pbx).filter(({ chart, id }) => !ids.has(`${chart} ${id}`));
  }
}

/** The objects that there were before a call, and their states. */
type Before = { ids: ReadonlySet<string>; states: string };
type Since = { before: Before; events: number; commands: number };

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
