import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import type { CallDetail, CallPage } from '../../../src/models/call.ts';
import type { Bundle } from '../../../src/recorder/bundle.ts';
import { type Act, type Line, type Played, type RecordedCall, readBundle, readCall } from './recorded-call.ts';
import { startTestServer, type TestServer, type TestServerOptions, username } from './server.ts';
import { audioOf, silence, writeWav } from './sounds.ts';
import { ExpectationError } from './world.ts';

/** Options of {@link replay}. */
export interface ReplayOptions {
  /** Starts the application, such as `(pbx) => pbx.run('node', ['app.js'])`. */
  start?(pbx: TestServer): Promise<unknown>;
  /**
   * URL of a WebSocket server that the application listens on, instead of `start`: the server connects to it, with the
   * applications of the call and a user of all rights.
   */
  connectTo?: string;
  /** As {@link TestServerOptions.config}: applied over what the bundle says. */
  config?: Record<string, unknown>;
  seed?: number;
}

/** How a call went when it was played again. */
export interface ReplayReport {
  /** Whether the application got and asked the same. */
  same: boolean;
  /** The first difference: what was recorded, and what came instead; undefined = nothing. */
  difference?: { atMs: number; object: string; recorded: string | undefined; now: string | undefined };
  /** Events and commands as recorded, and now. */
  recorded: readonly Line[];
  now: readonly Line[];
  /** Parts of the recorded call that could not be played again, in words. */
  missing: readonly string[];
  /** All of it as text. */
  text: string;
}

/** Simulated time that a call may take longer than the recorded one, in ms. */
const graceMs = 30_000;
/** Lines shown before a difference. */
const shownLines = 8;

/**
 * Plays the far sides of a recorded call again, at their times, against an application and this version of the server.
 * Prompts that are not there are silence of the recorded length; what callers said is not in a bundle.
 * @param text the bundle, as `hookswitch bundle` prints it. @throws TypeError if it is none.
 */
export async function replay(text: string, options: ReplayOptions): Promise<ReplayReport> {
  const { start = (pbx: TestServer) => pbx.connected() } = options;
  const bundle = readBundle(text);
  const { timeline, began } = bundle.call;
  const recorded = readCall(timeline, began);
  const missing = [...recorded.missing];
  if (bundle.call.gone > 0) missing.push(`${bundle.call.gone} entries of the call were not kept`);
  const sounds = mkdtempSync(join(tmpdir(), 'hookswitch-replay-'));
  try {
    fillIn(recorded.played, sounds);
    const pbx = await startTestServer(serverOf(bundle, recorded, { ...options, sounds }));
    try {
      await start(pbx);
      const player = new Player(pbx);
      missing.push(...(await player.play(recorded.acts, bundle.call.duration_ms)));
      // The last request may not have its answer yet.
      await pbx.settle();
      return reportOf(recorded, await timelineOf(pbx), missing);
    } finally {
      await pbx.close();
    }
  } finally {
    rmSync(sounds, { recursive: true, force: true });
  }
}

/** A server for the call: the dialplan and contexts of the bundle, if it has its configuration. */
function serverOf(
  bundle: Bundle,
  { phones, applications }: RecordedCall,
  { config = {}, seed = 1, sounds, connectTo }: ReplayOptions & { sounds: string },
): TestServerOptions {
  const { dialplan } = (bundle.config ?? {}) as { dialplan?: NonNullable<TestServerOptions['dialplan']> };
  const given = config['sounds'] as { directories?: string[] } | undefined;
  const directories = [...(given?.directories ?? ['builtin']), sounds];
  return {
    app: applications[0] ?? 'hello',
    ...(dialplan && { dialplan }),
    phones: [...phones.keys()],
    endpoints: Object.fromEntries(phones),
    config: {
      ...(connectTo !== undefined && {
        applications: { replayed: { url: connectTo, apps: applications, local_user: username } },
      }),
      ...{ ...config, sounds: { ...given, directories } },
    },
    seed,
  };
}

/** Writes silence for prompts, behind the directories that have the real ones. */
function fillIn(played: readonly Played[], directory: string): void {
  for (const { media, fromMs, toMs } of played) {
    const [, name = ''] = /^sound:([\w/-]+)$/.exec(media) ?? [];
    const path = join(directory, 'en', `${normalize(name)}.wav`);
    if (name === '' || !path.startsWith(join(directory, 'en/')) || existsSync(path)) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeWav(path, audioOf(silence(Math.max(20, Math.round(toMs - fromMs)))));
  }
}

/** Does what far sides did, at their times. */
class Player {
  readonly #pbx: TestServer;
  readonly #gone = new Set<string>();

  constructor(pbx: TestServer) {
    this.#pbx = pbx;
  }

  /** @returns what could not be done, in words. */
  async play(acts: readonly Act[], durationMs: number): Promise<string[]> {
    const pbx = this.#pbx;
    const began = pbx.clock.now();
    const undone: string[] = [];
    for (const phone of new Set(acts.map(({ phone }) => phone))) pbx.phone(phone).does({ when: 'silent' });
    for (const act of acts) {
      const ahead = began + act.atMs - pbx.clock.now();
      if (ahead > 0) await pbx.clock.advance(ahead);
      if (this.#gone.has(act.phone)) continue;
      try {
        await this.#do(act);
      } catch (error) {
        if (!(error instanceof ExpectationError)) throw error;
        undone.push(error.message);
        this.#gone.add(act.phone);
      }
    }
    const left = Math.max(0, began + durationMs - pbx.clock.now());
    await pbx.idle({ within: left + graceMs }).catch((error: Error) => undone.push(error.message));
    return undone;
  }

  async #do(act: Act): Promise<void> {
    const phone = this.#pbx.phone(act.phone);
    switch (act.does) {
      case 'dial':
        return phone.dial(act.extension);
      case 'transfer':
        return phone.transfer(act.extension);
      case 'press':
        return phone.press(act.digit);
      case 'hangup':
        return phone.hangup(act.cause);
      default:
        return phone[act.does]();
    }
  }
}

/** Everything that the server recorded of its calls, in order. */
async function timelineOf(pbx: TestServer): Promise<CallDetail['timeline']> {
  const { calls } = await pbx.ask<CallPage>('/hookswitch/calls?limit=1000');
  const details = await Promise.all(
    calls.map(({ id }) => pbx.ask<CallDetail>(`/hookswitch/calls/${encodeURIComponent(id)}`)),
  );
  return details.flatMap(({ timeline }) => timeline).sort((one, other) => one.seq - other.seq);
}

function reportOf(recorded: RecordedCall, timeline: CallDetail['timeline'], missing: readonly string[]): ReplayReport {
  const now = readCall(timeline, timeline[0]?.at ?? 0).lines;
  const difference = firstDifference(recorded.lines, now);
  const text = describe(recorded.lines, difference, missing);
  return { same: !difference, ...(difference && { difference }), recorded: recorded.lines, now, missing, text };
}

type Difference = NonNullable<ReplayReport['difference']>;

const byObject = (lines: readonly Line[]): Map<string, Line[]> => {
  const found = new Map<string, Line[]>();
  for (const line of lines) {
    const known = found.get(line.object);
    if (known) known.push(line);
    else found.set(line.object, [line]);
  }
  return found;
};

/** The earliest difference. Lines about one object have an order; between objects a program may ask in any. */
function firstDifference(recorded: readonly Line[], now: readonly Line[]): Difference | undefined {
  const [before, after] = [byObject(recorded), byObject(now)];
  const differences: Difference[] = [];
  for (const object of new Set([...before.keys(), ...after.keys()])) {
    const [wanted, came] = [before.get(object) ?? [], after.get(object) ?? []];
    const longer = wanted.length > came.length ? wanted : came;
    const at = longer.findIndex((_, index) => wanted[index]?.text !== came[index]?.text);
    if (at < 0) continue;
    const atMs = Math.min(wanted[at]?.atMs ?? Number.POSITIVE_INFINITY, came[at]?.atMs ?? Number.POSITIVE_INFINITY);
    differences.push({ atMs, object, recorded: wanted[at]?.text, now: came[at]?.text });
  }
  return differences.sort((one, other) => one.atMs - other.atMs)[0];
}

function describe(recorded: readonly Line[], difference: Difference | undefined, missing: readonly string[]): string {
  const notes = missing.map((each) => `Not played again: ${each}\n`).join('');
  if (!difference) return `The call went as recorded: ${recorded.length} events and commands.\n${notes}`;
  const { atMs, object } = difference;
  const at = recorded.findIndex((line) => line.object === object && line.text === difference.recorded);
  const earlier = at >= 0 ? recorded.slice(0, at) : recorded.filter((line) => line.atMs <= atMs);
  const before = earlier.slice(-shownLines);
  return `The first difference is about ${object}, ${Math.round(atMs)} ms after the call began.
  recorded: ${difference.recorded ?? 'nothing more'}
  now:      ${difference.now ?? 'nothing more'}
Recorded before it:
${before.map((line) => `  ${String(Math.round(line.atMs)).padStart(7)} ms  ${line.text}\n`).join('')}${notes}`;
}
