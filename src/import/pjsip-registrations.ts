import type { World } from './pjsip-objects.ts';
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

/** Whether a registration is an endpoint's: it says so, or has its credentials or its host. */
export function belongsTo(registration: Values, each: Values, { named }: World): boolean {
  const endpoint = registration.text('endpoint');
  if (endpoint !== '') return endpoint.toLowerCase() === each.name.toLowerCase();
  const [auth] = registration.list('outbound_auth');
  if (auth !== undefined && each.list('outbound_auth')[0] === auth) return true;
  const contacts = each.list('aors').flatMap((name) => named('aor', name)?.list('contact') ?? []);
  return contacts.some((contact) => hostOf(contact) === hostOf(registration.text('server_uri')));
}

export function registrationsOf(each: Values, world: World): { registrations?: object[] } {
  const own = world.of('registration').filter((registration) => belongsTo(registration, each, world));
  const registrations = own.flatMap((registration) => {
    const server = registration.text('server_uri').replace(/\\/g, '');
    const client = registration.text('client_uri').replace(/\\/g, '');
    const isUri = (text: string): boolean => /^sips?:[^\s<>"]+$/i.test(text);
    if (!isUri(server))
      world.report.missing(registration.place, `the registration at ${server}: it is no SIP URI, left out`);
    const expiration = registration.number('expiration', 30, 604_800);
    const retry = registration.number('retry_interval', 1, 86_400);
    const rejected = registration.number('forbidden_retry_interval', 0, 604_800);
    return isUri(server)
      ? [
          {
            server,
            ...(isUri(client) ? { client } : {}),
            ...(registration.text('contact_user') ? { contact_user: registration.text('contact_user') } : {}),
            ...(expiration === undefined ? {} : { expiration }),
            ...(retry === undefined ? {} : { retry }),
            ...(rejected === undefined ? {} : { rejected_retry: rejected }),
          },
        ]
      : [];
  });
  tellUnused('registration', own, world.report);
  world.report.took('registrations at providers', registrations.length);
  return registrations.length > 0 ? { registrations } : {};
}

/** Tells of registrations that no endpoint takes. */
export function tellStrayRegistrations(world: World): void {
  for (const registration of world.of('registration'))
    if (!world.of('endpoint').some((each) => belongsTo(registration, each, world)))
      world.report.missing(
        registration.place,
        `the registration at ${registration.text('server_uri')} belongs to no endpoint that was found: write it into sip.endpoints.<line>.registrations`,
      );
}
