import Type, { type Static } from 'typebox';
import { Dump, readDump } from '../actors/dumps.ts';
import { SavedBan } from '../models/ban.ts';
import { DeviceState, deviceStateWords } from '../models/device-state.ts';
import { endpointStates } from '../models/endpoint.ts';
import { KeptRequest } from '../models/kept-answer.ts';
import { Mailbox } from '../models/mailbox.ts';
import { count, number, optional, text } from '../models/plain-schema.ts';
import { checkOf } from '../models/validator.ts';
import { deviceUses } from '../stores/device-states.ts';

/**
 * The snapshot of a whole server: plain JSON, from which another process goes on. It is checked on the way in; a change that an
 * earlier one does not fit is a new {@link serverDataVersion}.
 */
export const serverDataVersion = 1;

const list = Type.Array;
const port = Type.Integer({ minimum: 0, maximum: 65_535 });
const base64 = Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$' });

const via = Type.Object({
  ...{ node: text, owner: text, host: text, port, listener: optional(number), connection: optional(number) },
  endpoint: optional(text),
});

const target = {
  protocol: Type.Enum(['udp', 'tcp', 'tls', 'ws', 'wss']),
  address: text,
  port,
  listener: optional(number),
  connection: optional(number),
  serverName: optional(text),
  via: optional(via),
};

const runnerIn = (...states: string[]) =>
  Type.Object({ state: Type.Enum(states), intervalMs: number, due: Type.Record(text, number) });

const Client = Type.Object({
  octets: base64,
  target: Type.Object(target),
  runner: runnerIn('calling', 'trying', 'proceeding', 'completed', 'accepted', 'terminated'),
  cancel: optional(list(Type.Tuple([text, text]))),
  held: Type.Boolean(),
});

const Server = Type.Object({
  key: text,
  mergeKey: optional(text),
  invite: Type.Boolean(),
  runner: runnerIn('trying', 'proceeding', 'completed', 'confirmed', 'accepted', 'terminated'),
  target: Type.Object(target),
  toTag: text,
  source: Type.Object({ ...target, listener: number }),
  response: optional(base64),
  pending: optional(Type.Object({ request: base64, source: Type.Object({ ...target, listener: number }) })),
});

/** Data that only its own layer reads; not checked further here. */
const opaque = Type.Object({}, { additionalProperties: true });

const Binding = Type.Object({
  id: text,
  endpoint: text,
  uri: opaque,
  target: optional(Type.Object(target)),
  callId: text,
  cseq: number,
  routes: list(opaque),
  outbound: optional(text),
  expires: number,
});

const Subscription = Type.Object({
  key: text,
  dialog: opaque,
  endpoint: text,
  ends: number,
  event: optional(Type.Enum(['message-summary', 'dialog', 'presence'])),
  mailbox: optional(text),
  context: optional(text),
  extension: optional(text),
  eventId: optional(text),
  version: optional(count),
  told: optional(list(text)),
  last: optional(text),
});

const OutsideRefer = Type.Object({
  endpoint: text,
  requests: Type.Object({ dialog: opaque, acks: list(opaque), pending: list(opaque) }),
  last: Type.Object({ state: text, fragment: text }),
});

const Departing = Type.Object({
  endpoint: text,
  outgoing: optional(Type.Object({ destination: opaque, call: opaque })),
  incoming: optional(opaque),
});

const ServerData = Type.Object({
  version: Type.Literal(serverDataVersion),
  /** Channel ids made so far. */
  channelIds: count,
  calls: Dump,
  sip: Type.Object({
    transactions: Type.Object({ clients: list(Client), servers: list(Server) }),
    driver: Type.Object({
      version: Type.Literal(1),
      bindings: list(Binding),
      subscriptions: list(Subscription),
      lines: optional(list(Type.Object({ id: text, callId: text, cseq: number, token: text }))),
      outsideRefers: optional(list(OutsideRefer)),
      departing: optional(list(Departing)),
    }),
  }),
  endpoints: list(Type.Object({ technology: text, resource: text, state: Type.Enum([...endpointStates]) })),
  globals: list(Type.Tuple([text, text])),
  deviceStates: Type.Object({
    kept: list(DeviceState),
    uses: list(
      Type.Union([
        Type.Tuple([text, text, Type.Enum([...deviceUses])]),
        // Of 0.2.0.
        Type.Tuple([text, list(Type.Tuple([text, Type.Enum([...deviceUses])]))]),
      ]),
    ),
    published: list(Type.Tuple([text, Type.Enum([...deviceStateWords])])),
  }),
  mailboxes: list(Mailbox),
  bans: optional(list(SavedBan)),
  /** To requests with an Idempotency-Key, until they are in a file of their own. */
  answers: optional(list(KeptRequest)),
  /** The certificate that browsers know, and its key. */
  browserCertificate: optional(Type.Object({ certificate: text, key: text })),
});

/** A server that was saved. */
export type ServerData = Static<typeof ServerData>;

type Shape = { type?: string; const?: unknown; required?: string[]; properties?: Record<string, Shape> };

/** The least value that a schema accepts: lists are empty, numbers 0. */
const emptyOf = ({ type, const: only, required = [], properties = {} }: Shape): unknown =>
  type === 'object'
    ? Object.fromEntries(required.map((name) => [name, emptyOf(properties[name] as Shape)]))
    : (only ?? (type === 'array' ? [] : 0));

/** Data of a server without objects. */
export const emptyServerData = (): Record<string, unknown> => emptyOf(ServerData as Shape) as Record<string, unknown>;

/** Sets what stands at a path, or adds an element to the list there. Undefined is nothing. */
export function put(data: Record<string, unknown>, path: string, value: unknown, isElement = false): void {
  if (value === undefined) return;
  const names = path.split('.');
  const last = names.pop() as string;
  let place = data;
  for (const name of names) place = (place[name] ??= {}) as Record<string, unknown>;
  if (isElement) ((place[last] ??= []) as unknown[]).push(value);
  else place[last] = value;
}

const dataCheck = checkOf(ServerData);

/**
 * Reads a saved server.
 * @throws Error that names the version, or the wrong value and its path.
 */
export function readServerData(data: unknown): ServerData {
  const version = (data as { version?: unknown } | null | undefined)?.version;
  if (version !== serverDataVersion)
    throw new Error(
      `cannot restore a snapshot of version ${String(version)}: this server reads version ${serverDataVersion}`,
    );
  readDump((data as { calls?: unknown }).calls);
  if (dataCheck.fits(data)) return data;
  throw new Error(`the snapshot is invalid: ${dataCheck.problems(data).slice(0, 5).join('; ')}`);
}
