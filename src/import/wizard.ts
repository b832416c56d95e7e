import type { Report } from './report.ts';
import { type Entry, type Section, Values } from './source.ts';

/** `pjsip_wizard.conf`: one section that stands for an endpoint with everything that belongs to it. */

/** What each prefix (`endpoint/context`) becomes. */
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
    if (values.text('type').toLowerCase() !== 'wizard') {
      report.missing(section.place, `[${section.name}] is no wizard: left out`);
      return [];
    }
    report.took('wizards');
    return sectionsOf(values, report);
  });
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
  for (const { key, place: at } of values.entries) {
    const [head = '', rest] = key.split('/');
    if (rest !== undefined && !Object.hasOwn(prefixes, head.toLowerCase()))
      report.missing(at, `${key} of a wizard is not there: left out`);
  }
  const hosts = values.list('remote_hosts');
  const accepts = values.flag('accepts_auth') ?? false;
  const sends = values.flag('sends_auth') ?? false;
  const registers = values.flag('sends_registrations') ?? false;
  if (values.flag('has_hint'))
    report.missing(place, `has_hint: write hints: { extension: PJSIP/${name} } in its context of the dialplan`);
  const contacts = values.flag('accepts_registrations') ? [] : hosts.map((host) => entry('contact', `sip:${host}`));
  return [
    make('endpoint', name, [
      entry('aors', name),
      ...(accepts ? [entry('auth', `${name}-iauth`)] : []),
      ...(sends ? [entry('outbound_auth', `${name}-oauth`)] : []),
      ...of('endpoint'),
    ]),
    make('aor', name, [...contacts, ...of('aor')]),
    ...(accepts ? [make('auth', `${name}-iauth`, of('inbound_auth'))] : []),
    ...(sends ? [make('auth', `${name}-oauth`, of('outbound_auth'))] : []),
    ...(hosts.length > 0 && !values.flag('accepts_registrations')
      ? [
          make('identify', name, [
            entry('endpoint', name),
            ...hosts.map((host) => entry('match', host.replace(/:\d+$/, ''))),
            ...of('identify'),
          ]),
        ]
      : []),
    ...(registers
      ? hosts.map((host) =>
          make('registration', `${name}-reg`, [
            entry('endpoint', name),
            entry('server_uri', `sip:${host}`),
            ...of('registration'),
          ]),
        )
      : []),
  ];
}
