import { type Duration, toMs } from './duration.ts';
import type { Behaviour, Phone, Wait } from './phone.ts';
import type { TestServer, TestServerOptions } from './server.ts';
import { type Sound, silence, tone, wav } from './sounds.ts';

/** A request that cannot be carried out: `message` says what is wrong, and what is allowed. */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** Parameters of an operation, as JSON has them. `end` refuses those that nobody has read. */
class Arguments {
  readonly #given: Record<string, unknown>;
  readonly #left: Set<string>;

  constructor(given: unknown) {
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw new InputError('the body must be a JSON object');
    this.#given = given as Record<string, unknown>;
    this.#left = new Set(Object.keys(given));
  }

  /** A parameter as it is; undefined if it is left out. */
  value(name: string): unknown {
    this.#left.delete(name);
    return Object.hasOwn(this.#given, name) ? this.#given[name] : undefined;
  }

  optional<T>(name: string, read: (value: unknown, name: string) => T): T | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : read(value, name);
  }

  required<T>(name: string, read: (value: unknown, name: string) => T): T {
    const value = this.optional(name, read);
    if (value === undefined) throw new InputError(`${name} is missing`);
    return value;
  }

  /** `within`, if it is given. */
  get wait(): Wait {
    const within = this.optional('within', duration);
    return within === undefined ? {} : { within };
  }

  /** @throws InputError if a parameter was not read. */
  end(): void {
    const [unknown] = this.#left;
    if (unknown !== undefined) throw new InputError(`${unknown} is no parameter of this operation`);
  }
}

const reader =
  <T>(what: string, accepts: (value: unknown) => boolean) =>
  (value: unknown, name: string): T => {
    if (!accepts(value)) throw new InputError(`${name} must be ${what}`);
    return value as T;
  };

const text = reader<string>('a text', (value) => typeof value === 'string');
const number = reader<number>('a number', (value) => typeof value === 'number');
const flag = reader<boolean>('true or false', (value) => typeof value === 'boolean');
const share0to1 = reader<number>(
  'a number from 0 to 1',
  (value) => typeof value === 'number' && value >= 0 && value <= 1,
);
const times = reader<number>(
  'a whole number from 1 to 10',
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 10,
);
const object = reader<Record<string, unknown>>('an object', (value) => typeof value === 'object' && value !== null);

function duration(value: unknown, name: string): Duration {
  try {
    toMs(value as Duration);
    return value as Duration;
  } catch {
    throw new InputError(`${name} must be a duration: a number of ms, or a text such as "30s", "5m", "80ms"`);
  }
}

/** A prompt by its name, `{"tone": 440, "for": "1s"}`, `{"silence": "1s"}` or `{"wav": "path", "distance": 0.3}`. */
function sound(value: unknown, name: string): Sound {
  const given = new Arguments(object(value, name));
  const made = soundOf(given, name);
  given.end();
  return made;
}

function soundOf(given: Arguments, name: string): Sound {
  const hertz = given.optional('tone', number);
  if (hertz !== undefined) return tone(hertz, given.optional('for', duration));
  const quiet = given.optional('silence', duration);
  if (quiet !== undefined) return silence(quiet);
  const path = given.optional('wav', text);
  if (path === undefined) throw new InputError(`${name} must be a text, or an object with tone, silence or wav`);
  const distance = given.optional('distance', share0to1);
  try {
    return wav(path, distance === undefined ? {} : { distance });
  } catch (error) {
    throw new InputError(`${name} cannot be read: ${(error as Error).message}`);
  }
}

const textOrSound = (value: unknown, name: string): Sound | string =>
  typeof value === 'string' ? value : sound(value, name);

function behaviour(args: Arguments): Behaviour {
  const when = args.optional(
    'when',
    reader<NonNullable<Behaviour['when']>>('one of ring, answer, busy, reject, silent', (value) =>
      ['ring', 'answer', 'busy', 'reject', 'silent'].includes(value as string),
    ),
  );
  const after = args.optional('after', duration);
  const earlyMedia = args.optional('earlyMedia', sound);
  const hangsUpAfter = args.optional('hangsUpAfter', duration);
  return {
    ...(when !== undefined && { when }),
    ...(after !== undefined && { after }),
    ...(earlyMedia !== undefined && { earlyMedia }),
    ...(hangsUpAfter !== undefined && { hangsUpAfter }),
  };
}

type Operation<On> = (on: On, args: Arguments) => (() => unknown) | undefined;

/** Operations of a phone. Each reads its parameters first, and gives what is to be done. */
const ofPhone: Readonly<Record<string, Operation<Phone>>> = {
  call: (phone, args) => {
    const [extension, wait] = [args.required('extension', text), args.wait];
    return () => phone.call(extension, wait);
  },
  dial: (phone, args) => {
    const extension = args.required('extension', text);
    return () => phone.dial(extension);
  },
  rings:
    (phone, { wait }) =>
    () =>
      phone.rings(wait),
  answer:
    (phone, { wait }) =>
    () =>
      phone.answer(wait),
  hangup: (phone, args) => {
    const cause = args.optional('cause', number);
    return () => phone.hangup(cause);
  },
  hungUp: (phone, args) => {
    const [cause, wait] = [args.optional('cause', number), args.wait];
    return () => phone.hungUp({ ...(cause !== undefined && { cause }), ...wait });
  },
  press: (phone, args) => {
    const digits = args.required(
      'digits',
      reader<string>(
        'one or more of 0-9, *, #, A-D',
        (value) => typeof value === 'string' && /^[0-9*#A-D]+$/.test(value),
      ),
    );
    return () => phone.press(digits);
  },
  says: (phone, args) => {
    const what = args.required('sound', sound);
    return () => phone.says(what);
  },
  hears: (phone, args) => {
    const what = args.required('sound', textOrSound);
    const [begins, wait] = [args.optional('begins', flag) ?? false, args.wait];
    return () => phone.hears(what, { begins, ...wait });
  },
  heard: (phone) => () => phone.heard,
  inCall: (phone) => () => phone.inCall,
  hold: (phone) => () => phone.hold(),
  unhold: (phone) => () => phone.unhold(),
  transfer: (phone, args) => {
    const extension = args.required('extension', text);
    return () => phone.transfer(extension);
  },
  does: (phone, args) => {
    const what = behaviour(args);
    return () => void phone.does(what);
  },
};

const phoneOf = (pbx: TestServer, args: Arguments): Phone => {
  const name = args.required('phone', text);
  try {
    return pbx.phone(name);
  } catch (error) {
    throw new InputError((error as Error).message);
  }
};

const ofFaults: Readonly<Record<string, Operation<TestServer>>> = {
  loss: (pbx, args) => {
    const [phone, share] = [phoneOf(pbx, args), args.required('share', share0to1)];
    return () => pbx.faults.loss(phone, share);
  },
  latency: (pbx, args) => {
    const phone = phoneOf(pbx, args);
    const [delay, jitter] = [args.required('delay', duration), args.optional('jitter', duration)];
    return () => pbx.faults.latency(phone, delay, jitter);
  },
  partition: (pbx, args) => {
    const [phone, on] = [phoneOf(pbx, args), args.optional('on', flag)];
    return () => pbx.faults.partition(phone, on);
  },
  killMediaThread: (pbx, args) => {
    const losses = args.optional('times', times);
    return () => pbx.faults.killMediaThread(losses);
  },
  diskFull: (pbx, args) => {
    const on = args.optional('on', flag);
    return () => pbx.faults.diskFull(on);
  },
  dropWebSocket: (pbx, args) => {
    const app = args.required('app', text);
    return () => pbx.faults.dropWebSocket(app);
  },
  restart: (pbx) => () => pbx.faults.restart(),
  kill: (pbx) => () => pbx.faults.kill(),
};

/** Whether every member of `wanted` is in `found` with that value, at any depth. */
function contains(found: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return found === wanted;
  if (typeof found !== 'object' || found === null) return false;
  return Object.entries(wanted).every(([name, value]) => contains((found as Record<string, unknown>)[name], value));
}

const ofServer: Readonly<Record<string, Operation<TestServer>>> = {
  advance: (pbx, args) => {
    const time = args.required('duration', duration);
    return () => pbx.clock.advance(time);
  },
  settle: (pbx) => () => pbx.settle(),
  connected: (pbx) => () => pbx.connected(),
  idle:
    (pbx, { wait }) =>
    () =>
      pbx.idle(wait),
  event: (pbx, args) => {
    const type = args.required('type', text);
    const [where, wait] = [args.optional('where', object) ?? {}, args.wait];
    return () => pbx.event(type as 'StasisStart', (event) => contains(event, where), wait);
  },
  inState: (pbx, args) => {
    const [chart, state, id] = [
      args.required('chart', text),
      args.required('state', text),
      args.optional('object', text),
    ];
    const { wait } = args;
    return () =>
      pbx.inState(chart, state, { ...(id !== undefined && { object: id }), ...wait }).catch((error: unknown) => {
        throw error instanceof TypeError ? new InputError(error.message) : error;
      });
  },
  events: (pbx) => () => pbx.events,
  channels: (pbx) => () => pbx.channels(),
  objects: (pbx) => () => pbx.objects(),
  log: (pbx) => () => pbx.log,
  together: (pbx, args) => {
    const steps = args.required('steps', reader<unknown[]>('a list', Array.isArray));
    const acts = steps.map((step) => {
      const { operation, ...rest } = object(step, 'steps') as Record<string, unknown>;
      return prepare(pbx, text(operation, 'operation').split('/'), rest);
    });
    return () => Promise.all(acts.map((act) => act()));
  },
};

/**
 * Reads the parameters of an operation of a server.
 * @param path such as `phones/alice/call`, `faults/loss`, `advance`.
 * @returns what carries it out; undefined if there is no such operation. @throws InputError
 */
export function prepare(pbx: TestServer, path: readonly string[], body: unknown): () => unknown {
  const args = new Arguments(body);
  const act = find(pbx, path, args);
  if (!act) throw new InputError(`there is no operation '${path.join('/')}'`);
  args.end();
  return act;
}

function find(pbx: TestServer, path: readonly string[], args: Arguments): (() => unknown) | undefined {
  const [first = '', second = '', third = ''] = path;
  const own = <On>(table: Readonly<Record<string, Operation<On>>>, name: string, on: () => On) =>
    Object.hasOwn(table, name) ? table[name]?.(on(), args) : undefined;
  if (path.length === 1) return own(ofServer, first, () => pbx);
  if (path.length === 2 && first === 'faults') return own(ofFaults, second, () => pbx);
  if (path.length === 3 && first === 'phones')
    return own(ofPhone, third, () => phoneOf(pbx, new Arguments({ phone: second })));
  return undefined;
}

/** Options of a new server, as JSON. @throws InputError */
export function optionsOf(body: unknown): TestServerOptions {
  const args = new Arguments(body);
  const [app, dialplan, config] = [
    args.optional('app', text),
    args.optional('dialplan', object),
    args.optional('config', object),
  ];
  const phones = args.optional(
    'phones',
    reader<string[]>(
      'a list of names',
      (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
    ),
  );
  const [seed, quietMs] = [args.optional('seed', number), args.optional('quietMs', number)];
  args.end();
  return {
    ...(app !== undefined && { app }),
    ...(dialplan !== undefined && { dialplan: dialplan as NonNullable<TestServerOptions['dialplan']> }),
    ...(config !== undefined && { config }),
    ...(phones !== undefined && { phones }),
    ...(seed !== undefined && { seed }),
    ...(quietMs !== undefined && { quietMs }),
  };
}
