import type { Report } from './report.ts';
import type { Place } from './source.ts';
import { splitOutside } from './split.ts';

/** `Dial` of Asterisk: whom it calls, and its options. */

/** Options that mean the same here. */
const same = new Set('ABbcDdeFgHhLmrSTtUWwXx');

/** Options that are always so here, or cannot happen: each leg has a record of its own, and MF or SF are never sent. */
const needless = new Set('aCENnoz');

/**
 * Dropped options, with advice. Their loss calls and admits nobody else, except `i` if a phone forwards calls by its
 * `redirect_method`.
 */
const leftOut: Readonly<Record<string, string>> = {
  f: 'the caller identity of forwarded calls: they show the caller and the forwarder',
  I: 'connected-line updates are sent anyway',
  i: 'calls are forwarded if the endpoint has a redirect_method: remove that setting',
  K: 'parking by keys: there are no parking lots; let an application park calls in a holding bridge',
  k: 'parking by keys: there are no parking lots; let an application park calls in a holding bridge',
  O: 'operator services: let an application call back',
  Q: 'the cause sent to the other targets: it is 26 or 16',
  s: 'a tag of the caller: set a variable instead',
};

/** Options whose loss would call or reveal a wrong party: the step ends the call. */
const essential: Readonly<Record<string, string>> = {
  G: 'both parties continue in the dialplan: use Stasis, and let an application connect them',
  P: 'call screening by name: use U(context) and ask there',
  p: 'call screening: use U(context) and ask there',
  u: 'caller presentation: write Set(CALLERID(pres)=…) before Dial',
};

type Option = { letter: string; argument?: string };

/** Dial with technologies and options of ours; a step that ends the call where it would do what it was not to do. */
export function translateDial(data: string, place: Place, report: Report): string {
  const plain = data.replaceAll(/\$\{PJSIP_DIAL_CONTACTS\(([^()]*)\)\}/g, 'PJSIP/$1');
  const [targets = '', seconds = '', options = '', ...more] = splitOutside(plain);
  const ours = targets.replaceAll(/(^|&)\s?SIP\//gi, '$1PJSIP/');
  if (ours !== targets) report.approximated(place, 'SIP/… is dialed as PJSIP/…');
  for (const [, technology = ''] of ours.matchAll(/(?:^|&)([A-Za-z]\w{0,30})\//g))
    if (!/^(PJSIP|Local|AudioSocket|WebSocket|UnicastRTP)$/i.test(technology))
      report.missing(place, `the technology ${technology} is not supported: DIALSTATUS will be CHANUNAVAIL`);
  if (more.length > 0) report.missing(place, 'the URL argument of Dial is dropped');
  const kept = keptOptions(options, place, report);
  if (kept === undefined) return 'Hangup(FACILITY_NOT_IMPLEMENTED)';
  const args = [ours, seconds, kept];
  while (args.length > 1 && args.at(-1) === '') args.pop();
  return `Dial(${args.join(',')})`;
}

/** The options as ours; undefined where one is missing that the call must not go on without. */
function keptOptions(text: string, place: Place, report: Report): string | undefined {
  // The value of a variable is only known at run time.
  if (/^[^(]*\$\{/.test(text.replaceAll(/[A-Za-z]\([^()]*\)/g, ''))) {
    report.missing(place, `options of Dial in a variable (${text}): only these of them work: ${[...same].join(' ')}`);
    return text;
  }
  let kept: string | undefined = '';
  for (const option of readOptions(text)) {
    const { letter, argument } = option;
    if (Object.hasOwn(essential, letter)) {
      report.missing(place, `option ${letter} of Dial (${essential[letter]}): the call is hung up there`);
      kept = undefined;
    } else {
      const ours = optionOf(option, place, report);
      if (kept !== undefined && ours)
        kept += ours.argument === undefined ? ours.letter : `${ours.letter}(${ours.argument})`;
      else if (!ours && !(needless.has(letter) && !argument))
        report.missing(place, `option ${letter} of Dial (${leftOut[letter] ?? 'it is not supported'}) is dropped`);
    }
  }
  return kept;
}

/** An option as ours; undefined where there is none. */
function optionOf({ letter, argument }: Option, place: Place, report: Report): Option | undefined {
  if (letter === 'R') {
    report.approximated(place, 'option R of Dial becomes r: the caller hears ringing until the answer');
    return { letter: 'r' };
  }
  if (letter === 'M') {
    const [name = '', ...args] = (argument ?? '').split('^');
    report.approximated(
      place,
      `option M of Dial becomes U: the called party runs macro-${name}, s, 1; MACRO_RESULT becomes GOSUB_RESULT, and it ends with Return`,
    );
    return { letter: 'U', argument: [`macro-${name}`, ...args].join('^') };
  }
  if (!same.has(letter)) return undefined;
  if (letter === 'L' && argument?.includes(':'))
    report.approximated(place, 'option L of Dial: the call ends in time, but without warnings before');
  if (letter === 'D' && (argument ?? '').split(':').length > 2)
    report.approximated(place, 'option D of Dial: digits are sent after the answer, not before');
  return argument === undefined ? { letter } : { letter, argument };
}

/** Letters with values in parentheses, which may be nested. */
function readOptions(text: string): Option[] {
  const found: Option[] = [];
  for (let at = 0; at < text.length; at++) {
    const letter = text.charAt(at);
    if (!/[A-Za-z]/.test(letter)) continue;
    if (text[at + 1] !== '(') {
      found.push({ letter });
      continue;
    }
    let depth = 0;
    let end = at + 1;
    for (; end < text.length; end++) {
      if (text[end] === '(') depth++;
      if (text[end] === ')' && --depth === 0) break;
    }
    found.push({ letter, argument: text.slice(at + 2, end) });
    at = end;
  }
  return found;
}
