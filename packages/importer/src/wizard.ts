import { splitPort } from './access.ts';
import type { Report } from './report.ts';
import { type Entry, type Section, Values } from './source.ts';

/** `pjsip_wizard.conf`: one section that stands for an endpoint with everything that belongs to it. */

/** The object of each prefix (`endpoint/context`). */
const prefixes: Readonly<Record<string, string>> = {
  endpoint: 'endpoint',
  aor: 'aor',
  inbound_auth: 'auth',
  outbound_auth: 'auth',
  identify: 'identify',
  registration: 'registration',
};

/** The sections of pjsip.conf that wizards stand for. */
export function wizardSections(wizards: readonly Section[], report: Report): Section[] {
  return wizards.flatMap((section) => {
    const values = new Values(section);
    if (!isWizard(values)) {
      report.missing(section.place, `[${section.name}] is not a wizard and is dropped`);
      return [];
    }
    report.took('wizards');
    return sectionsOf(values, report);
  });
}

const isWizard = (values: Values): boolean => values.text('type').toLowerCase() === 'wizard';

/** The sections of extensions.conf that wizards stand for: hints, and what is done when their extensions are called. */
export function wizardHints(wizards: readonly Section[], report: Report): Section[] {
  return wizards.flatMap((section) => {
    const values = new Values(section);
    if (!isWizard(values) || !values.flag('has_hint')) return [];
    const { name, place } = values;
    const extension = values.text('hint_exten');
    if (extension === '') {
      report.missing(
        place,
        'has_hint without hint_exten is dropped: write hints: { <extension>: PJSIP/… } in a context of the dialplan',
      );
      return [];
    }
    const context = values.text('hint_context') || values.text('endpoint/context') || 'default';
    const application = values.text('hint_application').replaceAll('${HINT}', `PJSIP/${name}`);
    const exten = (priority: string, what: string): Entry => ({
      ...{ key: 'exten', value: `${extension},${priority},${what}`, place },
    });
    const entries = [exten('hint', `PJSIP/${name}`), ...(application === '' ? [] : [exten('1', application)])];
    return [{ name: context, place, entries }];
  });
}

/** Keys of a wizard itself. */
const own = new Set([
  ...['type', 'transport', 'remote_hosts', 'outbound_proxy', 'sends_auth', 'accepts_auth', 'sends_registrations'],
  ...['accepts_registrations', 'sends_line_with_registrations', 'has_hint', 'hint_context', 'hint_exten'],
  ...['hint_application', 'has_phoneprov', 'server_uri_pattern', 'client_uri_pattern', 'contact_pattern'],
]);

/** A pattern of a URI for a host: `sip:${USERNAME}@${REMOTE_HOST}`. */
const filled = (pattern: string, host: string, username: string): string =>
  pattern.replaceAll('${REMOTE_HOST}', host).replaceAll('${USERNAME}', username);

function reportUnsupported(values: Values, report: Report): void {
  for (const { key, place } of values.entries) {
    const [head = '', rest] = key.split('/');
    if (rest === undefined ? !own.has(head.toLowerCase()) : !Object.hasOwn(prefixes, head.toLowerCase()))
      report.missing(place, `${key} of a wizard is not supported and is dropped`);
  }
  if (values.flag('has_phoneprov'))
    report.missing(values.place, 'has_phoneprov is dropped: use a web server for phone files');
}

function sectionsOf(values: Values, report: Report): Section[] {
  const { name, place } = values;
  const of = (prefix: string): Entry[] =>
    values.entries.flatMap((entry) => {
      const [head = '', key] = entry.key.split('/');
      return head.toLowerCase() === prefix && key !== undefined ? [{ ...entry, key }] : [];
    });
  const entry = (key: string, value: string): Entry => ({ key, value, place });
  const make = (type: string, id: string, entries: Entry[]): Section => ({
    name: id,
    place,
    entries: [entry('type', type), ...entries],
  });
  reportUnsupported(values, report);
  const username = values.text('outbound_auth/username');
  const proxy = values.text('outbound_proxy');
  const patterns = {
    contact: values.text('contact_pattern') || 'sip:${REMOTE_HOST}',
    server: values.text('server_uri_pattern') || 'sip:${REMOTE_HOST}',
    client: values.text('client_uri_pattern') || (username === '' ? '' : 'sip:${USERNAME}@${REMOTE_HOST}'),
  };
  const hosts = values.list('remote_hosts');
  const accepts = values.flag('accepts_auth') ?? false;
  const sends = values.flag('sends_auth') ?? false;
  // A phone that registers has no fixed host. Each fixed host is a contact, and is identified by its address.
  const fixedHosts = values.flag('accepts_registrations') ? [] : hosts;
  const servers = values.flag('sends_registrations') ? hosts : [];
  const contacts = fixedHosts.map((host) => entry('contact', filled(patterns.contact, host, username)));
  return [
    make('endpoint', name, [
      entry('aors', name),
      ...(accepts ? [entry('auth', `${name}-iauth`)] : []),
      ...(sends ? [entry('outbound_auth', `${name}-oauth`)] : []),
      ...(proxy === '' ? [] : [entry('outbound_proxy', proxy)]),
      ...of('endpoint'),
    ]),
    make('aor', name, [...contacts, ...of('aor')]),
    ...(accepts ? [make('auth', `${name}-iauth`, of('inbound_auth'))] : []),
    ...(sends ? [make('auth', `${name}-oauth`, of('outbound_auth'))] : []),
    ...(fixedHosts.length > 0
      ? [
          make('identify', name, [
            entry('endpoint', name),
            ...fixedHosts.map((host) => entry('match', splitPort(host).host)),
            ...of('identify'),
          ]),
        ]
      : []),
    ...servers.map((host) =>
      make('registration', `${name}-reg`, [
        entry('endpoint', name),
        entry('server_uri', filled(patterns.server, host, username)),
        ...(patterns.client === '' ? [] : [entry('client_uri', filled(patterns.client, host, username))]),
        ...of('registration'),
      ]),
    ),
  ];
}
