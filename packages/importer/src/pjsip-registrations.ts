import { registrationAttributes } from '../../../src/models/endpoint-attributes.ts';
import { settingsIn } from './attributes.ts';
import { add, aorsOf, type World } from './pjsip-objects.ts';
import type { Values } from './source.ts';
import { tellUnused } from './unused.ts';

/** Registrations at providers, of `pjsip.conf`. */

/** The host of a SIP URI, in small letters. */
const hostOf = (uri: string): string =>
  uri
    .replace(/^sips?:/i, '')
    .replace(/^[^@]*@/, '')
    .replace(/[:;>].*$/s, '')
    .toLowerCase();

/** Keys that match a registration with endpoints: a named endpoint, or else credentials and host. */
function keysOf(registration: Values): string[] {
  const endpoint = registration.text('endpoint');
  if (endpoint !== '') return [`endpoint ${endpoint.toLowerCase()}`];
  const [auth] = registration.list('outbound_auth');
  return [...(auth === undefined ? [] : [`auth ${auth}`]), `host ${hostOf(registration.text('server_uri'))}`];
}

/** The same of an endpoint. */
function keysOfEndpoint(each: Values, world: World): Set<string> {
  const [auth] = each.list('outbound_auth');
  return new Set([
    `endpoint ${each.name.toLowerCase()}`,
    ...(auth === undefined ? [] : [`auth ${auth}`]),
    ...aorsOf(each, world).flatMap((aor) => hostKeysOf(aor, world)),
  ]);
}

const hostKeys = new WeakMap<Values, readonly string[]>();

/** The hosts of an AOR that are registered at, each once: many endpoints may share it. */
function hostKeysOf(aor: Values, world: World): readonly string[] {
  const known = hostKeys.get(aor);
  if (known) return known;
  const byKey = byKeyOf(world);
  const all = new Set(aor.list('contact').map((contact) => `host ${hostOf(contact)}`));
  const keys = [...all].filter((key) => byKey.has(key));
  hostKeys.set(aor, keys);
  return keys;
}

/** The registrations of an endpoint: they name it, or have its credentials or its host; in the order of the file. */
export function registrationsAt(each: Values, world: World): Values[] {
  const byKey = byKeyOf(world);
  const found = new Set([...keysOfEndpoint(each, world)].flatMap((key) => byKey.get(key) ?? []));
  return [...found].sort((one, other) => one - other).map((index) => world.of('registration')[index]!);
}

const indexes = new WeakMap<object, Map<string, number[]>>();

/** Positions of registrations in the file, by key; computed once. */
function byKeyOf({ of }: World): Map<string, number[]> {
  const registrations = of('registration');
  let byKey = indexes.get(registrations);
  if (byKey) return byKey;
  byKey = new Map();
  for (const [index, registration] of registrations.entries())
    for (const key of keysOf(registration)) add(byKey, key, index);
  indexes.set(registrations, byKey);
  return byKey;
}

export function registrationsOf(each: Values, world: World): { registrations?: object[] } {
  const own = registrationsAt(each, world);
  const registrations = own.flatMap((registration) => {
    const server = registration.text('server_uri').replace(/\\/g, '');
    const client = registration.text('client_uri').replace(/\\/g, '');
    const isUri = (text: string): boolean => /^sips?:[^\s<>"]+$/i.test(text);
    if (!isUri(server))
      world.report.missing(registration.place, `the registration at ${server} is dropped: not a SIP URI`);
    return isUri(server)
      ? [
          {
            server,
            ...(isUri(client) ? { client } : {}),
            ...settingsIn(registration, registrationAttributes, ['client']),
          },
        ]
      : [];
  });
  tellUnused('registration', own, world.report);
  world.report.took('registrations at providers', registrations.length);
  return registrations.length > 0 ? { registrations } : {};
}

/** Reports registrations without endpoint. */
export function tellStrayRegistrations(world: World): void {
  const taken = new Set(world.of('endpoint').flatMap((each) => registrationsAt(each, world)));
  for (const registration of world.of('registration'))
    if (!taken.has(registration))
      world.report.missing(
        registration.place,
        `the registration at ${registration.text('server_uri')} belongs to no known endpoint: add it to sip.endpoints.<line>.registrations`,
      );
}
