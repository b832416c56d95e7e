import { isDeepStrictEqual } from 'node:util';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import {
  isRegistering,
  type RegistrationEvent,
  type RegistrationSnapshot,
  registrationMachine,
  registrationModel,
} from '../machines/registration.ts';
import type { RegistrationView } from '../models/registration.ts';
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

type RegistrationsOptions = { runtime: Runtime; log: Logger; ids: Ids; endpoints: Endpoints };

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

/** Makes the owner of all registrations. */
export function createRegistrations(options: RegistrationsOptions): Registrations {
  const { runtime, log, endpoints } = options;
  const actors = new ActorTable<RegistrationActor>();
  const { chance, register, attach, ended } = createRequests(options, actors);

  const machine = onFirstUse(() =>
    registrationMachine.provide({
      actions: {
        sendRegister: ({ context }, { attempt, expiresMs }) => register(context.registration, expiresMs, attempt),
      },
    }),
  );

  /** All registrations of an endpoint as clients see them. */
  const show = ({ technology, endpoint }: RegistrationDetails): void => {
    const models = [...actors.values()]
      .map((actor) => actor.getSnapshot())
      .filter(({ context: { registration } }) => registration.endpoint === endpoint)
      .map(registrationModel);
    endpoints.setRegistrations(technology, endpoint, models);
  };

  const begin = (registration: RegistrationDetails, startDelayMs: number, from?: RegistrationDump): void => {
    spawn(machine(), {
      id: registration.id,
      ...(from ? { from } : { input: { registration, startDelayMs } }),
      runtime,
      onCreated: (actor) => actors.set(registration.id, actor),
      onEmitted: (_fact, snapshot) => {
        logChange(log, snapshot);
        show(registration);
      },
      onEnded: () => {
        actors.delete(registration.id);
        ended(registration);
        show(registration);
      },
    });
    show(registration);
  };

  return {
    attach,

    follow(wanted) {
      const spread = Math.min(longestSpreadMs, wanted.length * spreadMs);
      const gone = new Set(actors.keys());
      for (const registration of wanted) {
        gone.delete(registration.id);
        const actor = actors.get(registration.id);
        if (!actor) begin(registration, wanted.length === 1 ? 0 : Math.round(chance() * spread));
        else if (!isDeepStrictEqual(actor.getSnapshot().context.registration, registration))
          actor.send({ type: 'registration.changed', registration });
      }
      for (const id of gone) actors.get(id)?.send({ type: 'registration.removed' });
    },

    connectionLost: (id) => actors.get(id)?.send({ type: 'connection.lost' }),

    list: () =>
      [...actors.values()].map((actor) => {
        const snapshot = actor.getSnapshot();
        const { technology, endpoint } = snapshot.context.registration;
        return {
          ...{ endpoint: `${technology}/${endpoint}`, ...registrationModel(snapshot) },
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
        // The awaited response is lost: the request is sent again.
        if (isRegistering(snapshot))
          register(
            registration,
            snapshot.value === 'unregistering' ? 0 : snapshot.context.expiresMs,
            snapshot.context.attempt,
          );
        else actor.send({ type: 'connection.lost' });
      }
    },

    get size() {
      return actors.size;
    },

    close: () => actors.close(),
  };
}
