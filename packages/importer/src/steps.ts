import { readCall } from '../../../src/dialplan/applications/conditional.ts';
import { splitBranches } from '../../../src/dialplan/branches.ts';
import { translateDial } from './dial.ts';
import type { Report } from './report.ts';
import type { Place } from './source.ts';

/** Steps of Asterisk's dialplan as steps of ours. */

type Vocabulary = {
  /** Applications there are, in small letters. */
  known: ReadonlySet<string>;
  /** Functions there are, in capitals. */
  functions: ReadonlySet<string>;
  /** Global variables whose values are put in. */
  globals: ReadonlyMap<string, string>;
  report: Report;
};

/** Applications without which nothing is less safe, and the call goes on; by what is said of them. */
const leftOut: Readonly<Record<string, string>> = {
  ...of('let an application record the call (POST /channels/{id}/record)', [
    'MixMonitor',
    'Monitor',
    'StopMixMonitor',
    'StopMonitor',
    'PauseMonitor',
    'UnpauseMonitor',
    'ChangeMonitor',
  ]),
  ...of('the dialplan does not write call detail records', [
    'NoCDR',
    'ResetCDR',
    'ForkCDR',
    'AppendCDRUserField',
    'SetCDRUserField',
    'SetAMAFlags',
    'CELGenUserEvent',
  ]),
  ...of('tones are played by Busy, Congestion and Ringing, or by an application', ['Playtones', 'StopPlaytones']),
  ...of('queues and agents are an application (examples/queue.ts)', [
    'AddQueueMember',
    'RemoveQueueMember',
    'PauseQueueMember',
    'UnpauseQueueMember',
    'QueueLog',
    'UpdateConfig',
  ]),
  ...of('it is not supported', [
    'DumpChan',
    'SendText',
    'SendDTMF',
    'SendImage',
    'SendURL',
    'SayUnixTime',
    'DateTime',
    'SayPhonetic',
    'Zapateller',
    'JabberSend',
    'MinivmNotify',
    'StartMusicOnHold',
    'StopMusicOnHold',
    'SIPAddHeader',
    'SIPRemoveHeader',
    'Morsecode',
    'Festival',
    'ReceiveText',
    'VMSayName',
    'ChannelRedirect',
    'TestClient',
    'WaitForSilence',
    'WaitForNoise',
    'WaitForRing',
    'BackgroundDetect',
    'AMD',
    'Flash',
    'Proceeding',
    'SoftHangup',
    'LogDynamic',
    'HangupCauseClear',
    'PresenceState',
  ]),
};

function of(what: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name.toLowerCase(), what]));
}

/** Applications that need a program: the call goes to a program of that name. */
const programs: Readonly<Record<string, { app: string; example: string }>> = {
  queue: { app: 'queue', example: 'examples/queue.ts' },
  voicemail: { app: 'voicemail', example: 'examples/voicemail.ts' },
  voicemailmain: { app: 'voicemail-main', example: 'examples/voicemail.ts' },
};

/** Others under which the same is known here. */
const renamed: Readonly<Record<string, string>> = {
  meetme: 'ConfBridge',
  execiftime: '',
  backgroundplay: 'Background',
};

/** A table entry by a name from a user's file. */
const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/**
 * Translates a step: replaces global variables and missing applications. An untranslatable step is returned unchanged;
 * `parseStep` reports it.
 */
export function translate(text: string, place: Place, vocabulary: Vocabulary): string {
  const { known, report } = vocabulary;
  const whole = withGlobals(text, vocabulary.globals);
  const call = readCall(whole);
  if (!call) return whole;
  const name = call.name.toLowerCase();
  tellFunctions(call.data, place, vocabulary);
  const reason = own(leftOut, name);
  if (reason !== undefined && !known.has(name)) {
    report.missing(place, `${call.name} is dropped: ${reason}`);
    return 'NoOp';
  }
  const program = known.has(name) ? undefined : own(programs, name);
  if (program) {
    report.approximated(
      place,
      `${call.name} is an application here: the call enters ${program.app} (${program.example} is an example)`,
    );
    return `Stasis(${program.app}${call.data === '' ? '' : `,${call.data}`})`;
  }
  if (name === 'set') return translateSet(call.data, place, vocabulary);
  if (name === 'macro') return translateMacro(call.data, place, report);
  if (name === 'dial') return translateDial(call.data, place, report);
  if (name === 'execif') return `ExecIf(${translateBranches(call.data, place, vocabulary)})`;
  if (name === 'confbridge' && call.data.includes(','))
    report.missing(
      place,
      'profiles, PINs and menus of ConfBridge: every caller that reaches it can join; ask for a PIN with Read first',
    );
  const other = known.has(name) ? undefined : own(renamed, name);
  if (other) {
    report.approximated(place, `${call.name} is ${other} here`);
    return `${other}(${call.data.split(',')[0]})`;
  }
  return whole;
}

/** `${NAME}` of a global variable that never changes; what is put in may name another, to a depth that is bounded. */
export function withGlobals(text: string, globals: ReadonlyMap<string, string>, depth = 0): string {
  if (globals.size === 0 || !text.includes('${') || depth > 5 || text.length > 8_192) return text;
  const replaced = text.replaceAll(
    /\$\{(?:GLOBAL\((\w{1,100})\)|(\w{1,100}))\}/g,
    (found, called?: string, plain?: string) => globals.get(called ?? plain ?? '') ?? found,
  );
  return replaced === text ? text : withGlobals(replaced, globals, depth + 1);
}

/** Reports unknown functions: they read as empty. */
function tellFunctions(data: string, place: Place, { functions, report }: Vocabulary): void {
  for (const [, name = ''] of data.matchAll(/\$\{\s?([A-Za-z_]\w{0,60})\(/g))
    if (!functions.has(name.toUpperCase()) && name !== 'PJSIP_DIAL_CONTACTS')
      report.missing(place, `the function ${name} reads as empty: check what each of these steps decides`);
}

function translateSet(data: string, place: Place, { functions, report }: Vocabulary): string {
  const [, name] = /^([A-Za-z_]\w*)\(/.exec(data.trim()) ?? [];
  if (name === undefined || functions.has(name.toUpperCase())) return `Set(${data})`;
  report.missing(place, `the function ${name} cannot be written; dropped`);
  return 'NoOp';
}

function translateMacro(data: string, place: Place, report: Report): string {
  const [name = '', ...args] = data.split(',');
  report.approximated(
    place,
    `Macro becomes Gosub: end the extension s of macro-${name.trim()} with Return, and read EXTEN before the call (there is no MACRO_EXTEN)`,
  );
  return `Gosub(macro-${name.trim()},s,1${args.length > 0 ? `(${args.join(',')})` : ''})`;
}

/** The branches of ExecIf, each of which is a step. */
function translateBranches(data: string, place: Place, vocabulary: Vocabulary): string {
  const branches = splitBranches(data);
  if (!branches) return data;
  const step = (text: string): string =>
    text === '' ? '' : translate(text, place, { ...vocabulary, globals: new Map() });
  const { condition, yes, no } = branches;
  return `${condition}?${step(yes)}${no === '' ? '' : `:${step(no)}`}`;
}
