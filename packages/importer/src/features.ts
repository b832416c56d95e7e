import type { Part } from './part.ts';
import type { Report } from './report.ts';
import { type Section, Values } from './source.ts';

/** `features.conf`: what parties of calls ask for by keys. */

/** Codes of Asterisk where nothing is said of them. */
const standardCodes = {
  ...{ blindxfer: '#', disconnect: '*', automon: '', automixmon: '' },
  ...{ atxfer: '', atxferabort: '*1', atxfercomplete: '*2' },
} as const;

/** Codes for what is not there: by name, with the code where nothing is said of it. */
const otherCodes: Readonly<Record<string, { standard: string; why: string }>> = {
  atxferthreeway: {
    standard: '*3',
    why: 'a three-way call during an attended transfer: let an application bridge all parties',
  },
  atxferswap: {
    standard: '*4',
    why: 'switching between parties during an attended transfer: the transferor talks to the target until the transfer ends',
  },
  parkcall: {
    standard: '',
    why: 'parking by keys: there are no parking lots; let an application park calls in a holding bridge',
  },
};

/** Other settings that stand for something, and what to do instead. */
const otherSettings: Readonly<Record<string, string>> = {
  pickupexten: 'call pickup by keys: use Bridge(channel), or let an application answer for another phone',
  recordingfailsound: 'a sound for failed recordings: they are logged',
  xfersound: 'sounds of transfers: the transferor hears a dial tone, ringing or congestion',
};

/** Whether and how often Asterisk calls the transferer back when the target does not answer. */
const recallSettings = ['atxferdropcall', 'atxfercallbackretries', 'atxferloopdelay'] as const;

/** Translates the file; nothing without a dialplan. */
export function importFeatures(sections: readonly Section[], hasDialplan: boolean, report: Report): Part {
  if (!hasDialplan && sections.length === 0) return { notes: {} };
  const named = (name: string): Values =>
    new Values(sections.find((section) => section.name === name) ?? { name, place: 'features.conf', entries: [] });
  const [general, map] = [named('general'), named('featuremap')];
  const codes = Object.fromEntries(
    Object.entries(standardCodes).map(([name, standard]) => [name, codeOf(map, name, standard, report)]),
  );
  const isTransferable = codes['atxfer'] !== '';
  for (const [name, { standard, why }] of Object.entries(otherCodes)) {
    const code = map.entry(name)?.value ?? (isTransferable ? standard : '');
    if (code !== '') report.missing(map.place, `${name} ${code} (${why}) is dropped`);
  }
  for (const [name, why] of Object.entries(otherSettings))
    if (general.text(name) !== '') report.missing(general.place, `${name} (${why}) is dropped`);
  if (isTransferable || recallSettings.some((name) => general.text(name) !== ''))
    report.approximated(
      general.place,
      `${recallSettings.join(', ')}: if the target of an attended transfer does not answer, the transferor is called back once; turn that off with sip.transfers.call_back`,
    );
  const own = named('applicationmap');
  for (const { key } of own.entries)
    report.missing(own.place, `${key} (DYNAMIC_FEATURES) is dropped: let an application read the digits`);
  if (sections.length > 0) report.took('file of keys during calls');
  if (general.text('courtesytone') !== '')
    report.approximated(
      general.place,
      'courtesytone: a beep when a call begins to be recorded (features.recording_beep)',
    );
  return {
    features: {
      ...codes,
      ...numberOf('digit_timeout', timeOf(general, 'featuredigittimeout', { unitMs: 1 })),
      ...numberOf('transfer_digit_timeout', timeOf(general, 'transferdigittimeout', { unitMs: 1_000 })),
      ...numberOf(
        'transfer_no_answer_timeout',
        timeOf(general, 'atxfernoanswertimeout', { unitMs: 1_000, mostMs: 3_600_000 }),
      ),
      ...numberOf('transfer_attempts', general.number('transferdialattempts', 1, 100)),
      ...(general.text('courtesytone') !== '' && { recording_beep: true }),
    },
    notes: {},
  };
}

function codeOf(map: Values, name: string, standard: string, report: Report): string {
  const entry = map.entry(name);
  if (!entry || /^[0-9A-D*#]{0,11}$/.test(entry.value)) return entry?.value ?? standard;
  report.missing(map.place, `${name}: "${entry.value}" is not a code of up to 11 keys; dropped`);
  return '';
}

const numberOf = (setting: string, value: number | undefined) => (value === undefined ? {} : { [setting]: value });

/** A time in ms, from 1 to `mostMs`; undefined if it is not set. Asterisk counts it in units of `unitMs`. */
const timeOf = (general: Values, key: string, { unitMs, mostMs = 60_000 }: { unitMs: number; mostMs?: number }) => {
  const value = general.number(key, 0.001, 60_000);
  return value && Math.min(Math.max(Math.round(value * unitMs), 1), mostMs);
};
