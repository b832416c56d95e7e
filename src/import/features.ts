import type { Part } from './part.ts';
import type { Report } from './report.ts';
import { type Section, Values } from './source.ts';

/** `features.conf`: what parties of calls ask for by keys. */

/** Codes of the field where nothing is said of them. */
const standardCodes = {
  ...{ blindxfer: '#', disconnect: '*', automon: '', automixmon: '' },
  ...{ atxfer: '', atxferabort: '*1', atxfercomplete: '*2' },
} as const;

/** Codes for what is not there. */
const otherCodes: Readonly<Record<string, string>> = {
  atxferthreeway: 'a talk of three by keys: an application makes a bridge of all',
  atxferswap: 'going to and fro between two talks by keys: who put the other through to talks until it is decided',
  parkcall: 'parking by keys: there are no parking lots; an application parks in a holding bridge',
};

/** Other settings that stand for something, and what to do instead. */
const otherSettings: Readonly<Record<string, string>> = {
  pickupexten: 'picking up by keys: Bridge(channel) joins with a channel, or an application answers for another phone',
  recordingfailsound: 'a sound for what cannot be recorded: it is logged',
  xfersound: 'sounds of transfers: a party that dials a number hears a dial tone, ringing or congestion',
};

/** What is done when who put a call through has hung up and nobody answers. */
const recallSettings = ['atxferdropcall', 'atxfercallbackretries', 'atxferloopdelay'] as const;

/** What the file says; nothing where there are no calls to ask for anything in. */
export function importFeatures(sections: readonly Section[], hasDialplan: boolean, report: Report): Part {
  if (!hasDialplan && sections.length === 0) return { notes: {} };
  const named = (name: string): Values =>
    new Values(sections.find((section) => section.name === name) ?? { name, place: 'features.conf', entries: [] });
  const [general, map] = [named('general'), named('featuremap')];
  const codes = Object.fromEntries(
    Object.entries(standardCodes).map(([name, standard]) => [name, codeOf(map, name, standard, report)]),
  );
  for (const [name, why] of Object.entries(otherCodes))
    if (map.text(name) !== '') report.missing(map.place, `${name} (${why}): left out`);
  for (const [name, why] of Object.entries(otherSettings))
    if (general.text(name) !== '') report.missing(general.place, `${name} (${why}): left out`);
  for (const name of recallSettings)
    if (general.text(name) !== '')
      report.approximated(
        general.place,
        `${name}: who has hung up on a transfer is called back once, or not (sip.transfers.call_back)`,
      );
  const own = named('applicationmap');
  for (const { key } of own.entries)
    report.missing(
      own.place,
      `${key} (applications by keys, DYNAMIC_FEATURES): an application hears the keys; left out`,
    );
  if (sections.length > 0) report.took('file of keys during calls');
  if (general.text('courtesytone') !== '')
    report.approximated(
      general.place,
      'courtesytone: a beep when a call begins to be recorded (features.recording_beep)',
    );
  return {
    features: {
      ...codes,
      ...timeOf(general, 'featuredigittimeout', 'digit_timeout', 1),
      ...timeOf(general, 'transferdigittimeout', 'transfer_digit_timeout', 1_000),
      ...timeOf(general, 'atxfernoanswertimeout', 'transfer_no_answer_timeout', 1_000, 3_600_000),
      ...numberOf('transfer_attempts', general.number('transferdialattempts', 1, 100)),
      ...(general.text('courtesytone') !== '' && { recording_beep: true }),
    },
    notes: {},
  };
}

function codeOf(map: Values, name: string, standard: string, report: Report): string {
  const entry = map.entry(name);
  if (!entry || /^[0-9A-D*#]{0,11}$/.test(entry.value)) return entry?.value ?? standard;
  report.missing(map.place, `${name}: "${entry.value}" is no code of up to 11 keys; left out`);
  return '';
}

const numberOf = (setting: string, value: number | undefined) => (value === undefined ? {} : { [setting]: value });

/** A time in ms. @param scale ms of what it is given in. @param most ms that it may be. */
const timeOf = (general: Values, key: string, setting: string, scale: number, most = 60_000) => {
  const value = general.number(key, 0.001, 60_000);
  return numberOf(setting, value && Math.min(Math.max(Math.round(value * scale), 1), most));
};
