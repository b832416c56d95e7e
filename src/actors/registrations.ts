import { isDeepStrictEqual } from 'node:util';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import {
  askedMs,
  isHeld,
  type RegistrationEvent,
  type RegistrationSnapshot,
  registrationMachine,
  registrationModel,
} from '../machines/registration.ts';
import type { Registration, RegistrationView } from '../models/registration.ts';
import type { Endpoints } from '../stores/endpoints.ts';
import type {
  RegistrationAnswer,
  RegistrationDetails,
  RegistrationDriver,
  RegistrationHost,
} from '../telephony/registrations.ts';
import { ActorTable } from './actor-table.ts';
import { listedDeadlines } from './deadlines.ts';
import type { RegistrationDump } from './dumps.ts';
import { type Actor, type Runtime, spawn } from './spawn.ts';

type RegistrationActor = Actor<typeof registrationMachine>;

/** Decides which node of a cluster holds each registration. */
export interface RegistrationHolders {
  /**
   * This node can hold a registration.
   * @param isHeld it has held it before. @returns whether it holds it now
   */
  offer(id: string, isHeld: boolean): boolean;
  /** It is no longer configured here. */
  withdraw(id: string): void;
  /** The registrar knows of it or is asked, or does not know of it any more. */
  tell(id: string, isHeld: boolean): void;
  /** The node that holds it, as far as this one knows. */
  holderOf(id: string): string | undefined;
  /**
   * Hears whether this node holds a registration, when that has changed, and once more when another node that held it as
   * well has given it up.
   */
  onChanged(listener: (id: string, isHeldHere: boolean) => void): void;
  /** Hears that another node holds a registration. */
  onMoved(listener: (id: string) => void): void;
}

type RegistrationsOptions = {
  runtime: Runtime;
  log: Logger;
  ids: Ids;
  endpoints: Endpoints;
  /** Left out: this server holds all that are configured. */
  holders?: RegistrationHolders | undefined;
};

/** Owns our registrations at providers, and shows them with their endpoints. */
export interface Registrations extends RegistrationHost {
  /** Makes the technology known that registers. */
  attach(driver: RegistrationDriver): void;
  /** Sets the wanted registrations. New ones start, changed ones start again, removed ones are unregistered. */
  follow(wanted: readonly RegistrationDetails[]): void;
  /** All registrations, in the order of their start. */
  list(): Iterable<RegistrationView>;
  readonly size: number;
  dump(): RegistrationDump[];
  /** Restores registrations; each is sent to its registrar again. */
  restore(dumps: readonly RegistrationDump[]): void;
  /** Takes all of them back; resolves when the registrars know, or have not answered in time. */
  close(): Promise<void>;
}

/** Spreads the first attempts: ms for each registration, and in total. */
const spreadMs = 20;
const longestSpreadMs = 10_000;

/** Sends REGISTER, and reports each answer to its chart. */
function createRequests({ log, ids }: RegistrationsOptions, actors: ReadonlyMap<string, RegistrationActor>) {
  let driver: RegistrationDriver | undefined;

  const chance = (): number => Number.parseInt(ids.hex(6), 16) / 2 ** 24;

  const told = (answer: RegistrationAnswer, attempt: number): RegistrationEvent =>
    answer.type === 'tooBrief'
      ? { ...answer, type: 'register.tooBrief', attempt }
      : ({ ...answer, type: `register.${answer.type}`, attempt, chance: chance() } as RegistrationEvent);

  const register = (registration: RegistrationDetails, expiresMs: number, attempt: number): void => {
    const answered =
      driver?.register(registration, expiresMs) ?? Promise.resolve({ type: 'unanswered', reason: 'no driver' });
    answered.then(
      (answer) => actors.get(registration.id)?.send(told(answer as RegistrationAnswer, attempt)),
      (error: unknown) => {
        log.error({ registration: registration.id, error }, 'a registration could not be sent');
        const answer = { type: 'unanswered', reason: 'it could not be sent' } as const;
        actors.get(registration.id)?.send(told(answer, attempt));
      },
    );
  };

  return {
    chance,
    register,
    attach(technology: RegistrationDriver): void {
      driver = technology;
    },
    ended: (registration: RegistrationDetails): void => driver?.ended(registration),
  };
}

/** Writes the line of a change. */
function logChange(log: Logger, snapshot: RegistrationSnapshot): void {
  const { registration, reason, waitMs } = snapshot.context;
  const about = { endpoint: registration.endpoint, server: registration.server, client: registration.client };
  if (snapshot.value === 'registered') log.info(about, 'registered');
  else if (snapshot.value === 'rejected') log.warn({ ...about, reason }, 'a registrar refused the registration');
  else if (snapshot.value === 'backingOff')
    log.warn({ ...about, reason, again_in_s: Math.round(waitMs / 1000) }, 'not registered');
}

/** Tells a chart whether this node holds its registration. */
const holding = (isHeldHere: boolean) => ({ type: isHeldHere ? 'holding.begun' : 'holding.ended' }) as const;

/** Runs the charts of registrations, and shows them with their endpoints. */
function createLines(
  { runtime, log, endpoints, holders }: RegistrationsOptions,
  actors: ActorTable<RegistrationActor>,
  { register, ended }: Pick<ReturnType<typeof createRequests>, 'register' | 'ended'>,
) {
  const machine = onFirstUse(() =>
    registrationMachine.provide({
      actions: {
        sendRegister: ({ context }, { attempt, expiresMs }) => register(context.registration, expiresMs, attempt),
      },
    }),
  );

  const modelOf = (snapshot: RegistrationSnapshot): Registration => {
    const node = holders?.holderOf(snapshot.context.registration.id);
    return { ...registrationModel(snapshot), ...(node !== undefined && { node }) };
  };

  /** All registrations of an endpoint as clients see them. */
  const show = ({ technology, endpoint }: RegistrationDetails): void => {
    const models = [...actors.values()]
      .map((actor) => actor.getSnapshot())
      .filter(({ context: { registration } }) => registration.endpoint === endpoint)
      .map(modelOf);
    endpoints.setRegistrations(technology, endpoint, models);
  };

  const begin = (registration: RegistrationDetails, startDelayMs: number, from?: RegistrationDump): void => {
    const { id } = registration;
    spawn(machine(), {
      id,
      ...(from ? { from } : { input: { registration, startDelayMs } }),
      runtime,
      onCreated: (actor) => actors.set(id, actor),
      onEmitted: (_fact, snapshot) => {
        logChange(log, snapshot);
        show(registration);
      },
      onChanged: (snapshot) => holders?.tell(id, isHeld(snapshot)),
      onEnded: () => {
        actors.delete(id);
        ended(registration);
        holders?.withdraw(id);
        show(registration);
      },
    });
    show(registration);
  };

  /** Tells a registration which this server has begun, restored or changed, if another node holds it, or none does. */
  const settle = (id: string): void => {
    const actor = actors.get(id);
    if (!actor) return;
    const { value } = actor.getSnapshot();
    const isKept = value !== 'standby' && value !== 'handingOver';
    const isHere = holders?.offer(id, isKept && value !== 'idle') ?? true;
    if (isHere !== isKept) actor.send(holding(isHere));
  };

  return { modelOf, show, begin, settle };
}

/** Makes the owner of all registrations. */
export function createRegistrations(options: RegistrationsOptions): Registrations {
  const { holders } = options;
  const actors = new ActorTable<RegistrationActor>();
  const requests = createRequests(options, actors);
  const { chance, register, attach } = requests;
  const { modelOf, show, begin, settle } = createLines(options, actors, requests);

  const tellHolding = (id: string, isHeldHere: boolean): void => actors.get(id)?.send(holding(isHeldHere));
  holders?.onChanged(tellHolding);
  holders?.onMoved((id) => {
    const actor = actors.get(id);
    if (actor) show(actor.getSnapshot().context.registration);
  });

  return {
    attach,

    follow(wanted) {
      const spread = Math.min(longestSpreadMs, wanted.length * spreadMs);
      const gone = new Set(actors.keys());
      for (const registration of wanted) {
        gone.delete(registration.id);
        const actor = actors.get(registration.id);
        if (!actor) begin(registration, wanted.length === 1 ? 0 : Math.round(chance() * spread));
        else if (isDeepStrictEqual(actor.getSnapshot().context.registration, registration)) continue;
        else actor.send({ type: 'registration.changed', registration });
        settle(registration.id);
      }
      for (const id of gone) actors.get(id)?.send({ type: 'registration.removed' });
    },

    connectionLost: (id) => actors.get(id)?.send({ type: 'connection.lost' }),

    list: () =>
      [...actors.values()].map((actor) => {
        const snapshot = actor.getSnapshot();
        const { technology, endpoint } = snapshot.context.registration;
        return {
          ...{ endpoint: `${technology}/${endpoint}`, ...modelOf(snapshot) },
          ...{ state: String(snapshot.value), deadlines: listedDeadlines(snapshot) },
        };
      }),

    dump: () => [...actors.values()].map((actor) => actor.dump() as RegistrationDump),

    restore(dumps) {
      for (const from of dumps) {
        const registration = from.context.registration as RegistrationDetails;
        begin(registration, 0, from);
        const actor = actors.get(registration.id);
        if (!actor) continue;
        const snapshot = actor.getSnapshot();
        const asked = askedMs(snapshot);
        // The awaited response is lost: the request is sent again.
        if (asked === undefined) actor.send({ type: 'connection.lost' });
        else register(registration, asked, snapshot.context.attempt);
        settle(registration.id);
      }
    },

    get size() {
      return actors.size;
    },

    close: () => actors.close(),
  };
}
