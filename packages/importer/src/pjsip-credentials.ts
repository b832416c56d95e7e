import { asNetwork, splitPort } from './access.ts';
import type { World } from './pjsip-objects.ts';
import { registrationsAt } from './pjsip-registrations.ts';
import type { Report } from './report.ts';
import type { Values } from './source.ts';
import { tellUnused } from './unused.ts';

/** Credentials of endpoints in `pjsip.conf`, inbound and outbound. */

/** Inbound identification, and outbound credentials. */
export function credentialsOf(each: Values, world: World): Record<string, unknown> | 'left' {
  const { named, having, report } = world;
  const found: Record<string, unknown> = {};
  const [name, ...others] = each.list('auth');
  for (const other of others)
    report.missing(each.place, `auth ${other} is dropped: an endpoint has one user name, ${name}`);
  const identifies = having('identify', 'endpoint', each.name);
  const addresses = identifies.flatMap((identify) => addressesOf(identify, report));
  if (name !== undefined) {
    const auth = named('auth', name);
    const isByAddress = /^ip$/i.test(each.text('identify_by').trim());
    if (isByAddress) return 'left';
    if (!auth)
      report.missing(each.place, `auth ${name} does not exist: the endpoint has a random password and admits no calls`);
    found['auth'] = { username: auth?.text('username') || auth?.name || name, ...passwordOf(auth, report) };
    if (addresses.length > 0)
      report.approximated(each.place, 'callers are identified by password only; the addresses of identify are dropped');
    else if (identifies.length === 0) report.took('passwords of endpoints');
    tellUnused('auth', auth ? [auth] : [], report);
  } else if (addresses.length > 0) {
    found['match'] = addresses;
    report.took('endpoints identified by address');
  } else
    report.approximated(
      each.place,
      'without password and address the endpoint admits no calls here (in Asterisk it admits any caller by name); add auth or match',
    );
  tellUnused('identify', identifies, report);
  return { ...found, ...outboundOf(each, world) };
}

/** Outbound credentials: the endpoint's own, or its registration's. */
function outboundOf(each: Values, world: World): { outbound_auth?: object } {
  const { named, report } = world;
  const [registration] = registrationsAt(each, world);
  const names = new Set([each, ...(registration ? [registration] : [])].flatMap((one) => one.list('outbound_auth')));
  const [outbound, ...others] = names;
  for (const other of others)
    report.missing(each.place, `outbound_auth ${other} is dropped: an endpoint has one, ${outbound}`);
  const ours = outbound === undefined ? undefined : named('auth', outbound);
  ours?.text('realm');
  tellUnused('auth', ours ? [ours] : [], report);
  if (ours && ours.text('password') !== '')
    return {
      outbound_auth: {
        username: ours.text('username') || ours.name,
        password: ours.text('password'),
        ...(ours.text('realm') && !ours.text('realm').includes('*') ? { realm: ours.text('realm') } : {}),
      },
    };
  if (outbound !== undefined)
    report.missing(each.place, `outbound_auth ${outbound} has no usable password: fill in outbound_auth`);
  return {};
}

function passwordOf(auth: Values | undefined, report: Report): { password?: string } {
  if (!auth) return {};
  const password = auth.text('password');
  if (password !== '') return { password };
  report.missing(
    auth.place,
    'hashed passwords (md5_cred, password_digest) are not supported: set `password`; until then it is random',
  );
  return {};
}

/** Addresses of an `identify`: in Asterisk a request has to match one criterion, not all. */
function addressesOf(identify: Values, report: Report): string[] {
  if (identify.text('match_header') !== '' || identify.text('match_request_uri') !== '')
    report.missing(
      identify.place,
      'match_header and match_request_uri are dropped: callers are identified by address only',
    );
  return identify.list('match').flatMap((match) => {
    const { host, hasPort } = splitPort(match);
    const network = asNetwork(host);
    if (network === undefined)
      report.missing(identify.place, `match ${match} is dropped: host names are not resolved; use addresses`);
    else if (hasPort) report.approximated(identify.place, `match ${match}: calls from any port of ${host} are let in`);
    return network ?? [];
  });
}
