import type { LiveActor } from '../../../src/actors/spawn.ts';
import type { BridgeContext } from '../../../src/machines/bridge.ts';
import type { ChannelContext } from '../../../src/machines/channel.ts';
import { type Disturbance, disturbancesNow } from './disturbances.ts';
import type { TestServer } from './server.ts';

/** A moment of a call: a command before it is carried out, or the quiet after an event. The `nth` of that name. */
export type Moment = { kind: 'event' | 'command'; name: string; nth: number };

/** A moment with what can happen in it, and the states of the objects that there are. */
export type SeenMoment = Moment & { states: string; disturbances: Disturbance[] };

const sameMoment = (one: Moment, other: Moment): boolean =>
  one.kind === other.kind && one.name === other.name && one.nth === other.nth;

export const momentInWords = ({ kind, name, nth }: Moment): string =>
  `${kind === 'event' ? 'after' : 'before'} ${name} #${nth}`;

/** Events that tell of no turn in a call. */
const besides = new Set(['ChannelVarset', 'ChannelDialplan', 'ChannelConnectedLine', 'ChannelCallerId', 'Dial']);
export const isTurn = (type: string): boolean => !besides.has(type) && !/^(Contact|Peer|Endpoint|Device)/.test(type);

const words = new Set(['create', 'externalMedia', 'live', 'stored']);

/** A command without ids: `POST /channels/{id}/play`. Undefined for what changes nothing. */
function commandName(method: string, url: string): string | undefined {
  const [, , resource = '', id, operation] = new URL(url).pathname.split('/');
  if (method === 'GET' || method === 'HEAD' || resource === '') return undefined;
  const place = [resource, id === undefined || words.has(id) ? id : '{id}', operation];
  return `${method} /${place.filter((part) => part !== undefined).join('/')}`;
}

/** The states of what calls are made of, without ids; '' without any. */
export const statesOf = (actors: readonly LiveActor[]): string =>
  actors
    .flatMap((actor) => stateOf(actor) ?? [])
    .sort()
    .join(', ');

const origins = { incoming: 'caller', originated: 'callee', created: 'callee', attached: 'snoop' } as const;
const endings = new Set(['hangingUp', 'lingering', 'destroyed']);

function stateOf(actor: LiveActor): string | undefined {
  const { value, context } = actor.getSnapshot();
  if (actor.chart === 'channel')
    return endings.has(value as string) ? undefined : `${origins[(context as ChannelContext).origin]} ${value}`;
  if (actor.chart === 'bridge') return `bridge of ${(context as BridgeContext).members.length}`;
  if (actor.chart === 'playback') return `playback ${value}`;
  return actor.chart === 'liveRecording' ? `recording ${value}` : undefined;
}

/** An object that calls are made of, in words. */
export function objectInWords(actor: LiveActor): string {
  const { value, context } = actor.getSnapshot();
  const { name } = context as { name?: string };
  const what = actor.chart === 'liveRecording' ? 'recording' : actor.chart;
  return `${what} ${actor.chart === 'channel' ? name : actor.id} (${value})`;
}

const kinds = new Set(['channel', 'bridge', 'playback', 'liveRecording']);

/** What calls are made of: channels, bridges, playbacks and recordings. */
export const objectsOf = (pbx: TestServer): LiveActor[] => pbx.inside.actors().filter(({ chart }) => kinds.has(chart));

/** What ends a script at a moment. */
export class Reached extends Error {
  override readonly name = 'Reached';
}

/** A command that was refused. */
type Refused = { request: string; status: number };

/** Follows a call: notes its moments, or stops it at one of them. */
export class Follower {
  readonly moments: SeenMoment[] = [];
  /** States in which a normal call has rested. */
  readonly rests: Set<string>;
  readonly refused: Refused[] = [];
  commands = 0;
  reached = false;
  /** The events so far when the last command came. */
  answeredEvents = 0;
  readonly #pbx: TestServer;
  readonly #stopAt: Moment | undefined;
  readonly #counts = new Map<string, number>();
  #events = 0;
  #release: (() => void) | undefined;
  #released: Promise<void> | undefined;
  #change: Disturbance['change'];

  constructor(pbx: TestServer, rests: Set<string>, stopAt?: Moment) {
    this.#pbx = pbx;
    this.rests = rests;
    this.#stopAt = stopAt;
    const { world } = pbx.inside;
    world.quiet = () => this.#quiet();
    world.http.hook = {
      before: (request) => this.#before(request),
      after: ({ method, url }, status) => {
        const request = commandName(method, url);
        if (status >= 400) this.refused.push({ request: request ?? `${method} ${new URL(url).pathname}`, status });
      },
    };
  }

  /** Carries out what was held back, changed if a disturbance does so. */
  release(change?: Disturbance['change']): void {
    this.#pbx.inside.world.http.held = false;
    this.#change = change;
    this.#release?.();
  }

  /** Follows no longer. */
  end(): void {
    const { world } = this.#pbx.inside;
    this.release();
    world.quiet = () => {};
    world.http.hook = undefined;
  }

  #quiet(): void {
    const { events } = this.#pbx;
    if (events.length === this.#events || this.reached) return;
    const fresh = events.slice(this.#events).map(({ type }) => type as string);
    this.#events = events.length;
    for (const type of fresh) this.#count(`event ${type}`);
    const name = fresh.findLast(isTurn);
    if (name !== undefined) this.#at({ kind: 'event', name, nth: this.#counts.get(`event ${name}`) ?? 0 });
    const stop = this.#stopAt;
    if (stop?.kind === 'event' && (this.#counts.get(`event ${stop.name}`) ?? 0) >= stop.nth) this.#stop();
  }

  async #before(request: Request): Promise<Request> {
    const name = commandName(request.method, request.url);
    if (name === undefined) return request;
    this.commands++;
    this.answeredEvents = this.#pbx.events.length;
    const moment: Moment = { kind: 'command', name, nth: this.#count(`command ${name}`) };
    if (!this.reached) this.#at(moment);
    const stops = this.#stopAt !== undefined && !this.reached && sameMoment(moment, this.#stopAt);
    if (stops) {
      this.#released = new Promise((resolve) => {
        this.#release = resolve;
      });
      this.#pbx.inside.world.http.held = true;
      this.#stop();
    }
    await this.#released;
    if (!stops || !this.#change) return request;
    return changed(request, this.#change);
  }

  #count(name: string): number {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count;
  }

  #at(moment: Moment): void {
    if (this.#stopAt) return;
    const { inside } = this.#pbx;
    const states = statesOf(inside.actors());
    if (moment.kind === 'event') this.rests.add(states);
    if (states === '') return;
    const command = moment.kind === 'command' ? moment.name : undefined;
    this.moments.push({ ...moment, states, disturbances: disturbancesNow(inside, command) });
  }

  #stop(): void {
    this.reached = true;
    this.#pbx.inside.world.interrupt(new Reached());
  }
}

/** The same request with other parameters, in its query and its body. */
async function changed(request: Request, change: NonNullable<Disturbance['change']>): Promise<Request> {
  const url = new URL(request.url);
  const text = await request.text();
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  const before = new Map<string, unknown>(url.searchParams);
  const after = new Map(before);
  change(after);
  for (const [name, value] of after)
    if (Object.hasOwn(body, name)) body[name] = Array.isArray(body[name]) ? [value] : value;
    else url.searchParams.set(name, String(value));
  const headers = new Headers(request.headers);
  headers.delete('content-length');
  const hasBody = text !== '';
  return new Request(url, { method: request.method, headers, ...(hasBody && { body: JSON.stringify(body) }) });
}
