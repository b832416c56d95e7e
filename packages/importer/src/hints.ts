import { compile } from '../../../src/dialplan/expressions.ts';
import type { Report } from './report.ts';
import type { Place } from './source.ts';
import { withGlobals } from './steps.ts';

/** Our names for Asterisk's device technologies. */
const kinds: Readonly<Record<string, string>> = {
  pjsip: 'PJSIP/',
  sip: 'PJSIP/',
  local: 'Local/',
  stasis: 'Stasis:',
  custom: 'Custom:',
  mwi: 'MWI:',
};

/** The devices of a hint (`PJSIP/alice&Custom:night,CustomPresence:x`) as ours; undefined where none is left. */
export function translateHint(
  text: string,
  place: Place,
  { globals, report }: { globals: ReadonlyMap<string, string>; report: Report },
): string | undefined {
  const [devices = '', presence = ''] = withGlobals(text, globals).split(',');
  if (presence.trim() !== '') report.missing(place, `${presence.trim()} of a hint is dropped: BLF shows devices only`);
  const kept = devices.split('&').flatMap((device) => {
    const [, kind = '', name = ''] = /^([A-Za-z]\w*)[/:](.+)$/.exec(device.trim()) ?? [];
    const ours = Object.hasOwn(kinds, kind.toLowerCase()) ? kinds[kind.toLowerCase()] : undefined;
    if (ours !== undefined && compile(name).problem === undefined) return [`${ours}${name}`];
    report.missing(place, `the device ${device.trim()} of a hint is not supported and is dropped`);
    return [];
  });
  if (kept.length === 0) return undefined;
  for (const [, variable = ''] of kept.join('').matchAll(/\$\{(\w+)/g))
    if (variable !== 'EXTEN')
      report.approximated(place, `the variable ${variable} in a hint is empty: hints know only EXTEN`);
  return kept.join('&');
}
