import { StepJournal } from '../../src/actors/step-journal.ts';
import type { DialplanCalls, Ongoing, Stop } from '../../src/dialplan/calls.ts';
import type {
  DialplanChannel,
  DialplanPlayback,
  DialplanSystem,
  EnteredStep,
  Identity,
  PhoneLookup,
  Subroutine,
} from '../../src/dialplan/host.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { Channel } from '../../src/models/channel.ts';
import type { SipAbilities } from '../../src/telephony/driver.ts';
import type { Indication, TalkDetection, ToneDetection } from '../../src/telephony/media.ts';

/** A channel that writes down what the dialplan does to it and answers when told. */
export class FakeChannel implements DialplanChannel {
  readonly id = 'c1';
  linkedId = 'c0';
  technology = 'PJSIP';
  endpoint: readonly [string, string] | undefined = ['PJSIP', 'alice'];
  source: string | undefined = '10.0.0.2:5060';
  /** Everything asked of the channel, in order. */
  readonly calls: string[] = [];
  readonly variables = new Map<string, string>();
  readonly globals = new Map<string, string>();
  /** Places of the dialplan that exist. */
  readonly places = new Set<string>();
  knownPhones: PhoneLookup | undefined;
  formats: readonly string[] = ['alaw', 'ulaw'];
  videoFormats: readonly string[] = [];
  readonly devices = new Map<string, string>();
  readonly headers = new Map<string, string[]>();
  identity: Identity = { name: 'Alice', number: '1001' };
  connected: Identity = { name: '', number: '' };
  language = 'en';
  accountCode = '';
  tenantId = '';
  musicClass = '';
  peerAccount = '';
  hangupSource = '';
  limitMs: number | undefined;
  cause = 0;
  up = false;
  /** Whether `answer` brings the channel up at once. */
  answersAtOnce = true;
  /** Called whenever a step begins. */
  onEntering: (step: EnteredStep) => void = () => {};
  #whenUp: (() => void)[] = [];
  /** Variables that it may have, and that there may be globally. */
  most = Number.POSITIVE_INFINITY;
  #playing: ((how: 'done' | 'failed') => void) | undefined;

  channel(): Channel {
    const { name, number } = this.identity;
    return {
      id: this.id,
      protocol_id: 'call@example',
      name: 'PJSIP/alice-00000001',
      state: this.up ? 'Up' : 'Ring',
      caller: { name, number },
      connected: { name: this.connected.name, number: this.connected.number },
      accountcode: this.accountCode,
      dialplan: { context: 'stored', exten: 'place', priority: 7, app_name: '', app_data: '' },
      creationtime: '2026-01-01T00:00:00.000+0000',
      language: this.language,
      ...(this.tenantId === '' ? {} : { tenantid: this.tenantId }),
    };
  }

  readonly subroutines: Subroutine[] = [];
  readonly journal = new StepJournal(
    () => 0,
    () => {},
  );

  hangupCause(): number {
    return this.cause;
  }
  setHangupCause(cause: number): void {
    this.cause = cause;
  }
  variable(name: string): string | undefined {
    return this.variables.get(name);
  }
  setVariable(name: string, value: string | undefined): boolean {
    if (value !== undefined && !this.variables.has(name) && this.variables.size >= this.most) return false;
    this.calls.push(`set ${name}=${value}`);
    if (value === undefined) this.variables.delete(name);
    else this.variables.set(name, value);
    return true;
  }
  note(name: string, value: string): void {
    this.calls.push(`set ${name}=${value}`);
    this.variables.set(name, value);
  }
  readonly system: DialplanSystem = {
    globalVariable: (name) => this.globals.get(name),
    setGlobalVariable: (name, value) => {
      if (value !== undefined && !this.globals.has(name) && this.globals.size >= this.most) return false;
      if (value === undefined) this.globals.delete(name);
      else this.globals.set(name, value);
      return true;
    },
    deviceState: (name) => this.devices.get(name) ?? 'UNKNOWN',
    channelNames: () => ['PJSIP/alice-00000001', 'Local/s@default-00000002;1'],
    setDeviceState: (name, state) => {
      if (!name.startsWith('Stasis:') || state === '') return false;
      this.devices.set(name, state);
      return true;
    },
    priorityOf: (...place) => (this.places.has(place.join()) ? 7 : undefined),
    placeExists: (...place) => this.places.has(place.filter((part) => part !== undefined).join()),
    phones: () => this.knownPhones,
  };
  caller(): Identity {
    return this.identity;
  }
  setCaller(change: Partial<Identity>): void {
    this.identity = { ...this.identity, ...change };
  }
  connectedLine(): Identity {
    return this.connected;
  }
  setConnectedLine(change: Partial<Identity>, quietly: boolean): void {
    if (quietly) this.calls.push('quietly');
    this.connected = { ...this.connected, ...change };
  }
  setLanguage(language: string): void {
    this.language = language;
  }
  setAccountCode(accountCode: string): void {
    this.accountCode = accountCode;
  }
  setTenantId(tenantId: string): void {
    this.tenantId = tenantId;
  }
  entering(step: EnteredStep): void {
    const { context, extension, priority } = step.position;
    this.calls.push(`${context},${extension},${priority} ${step.application}(${step.data})`);
    this.onEntering(step);
  }
  isUp(): boolean {
    return this.up;
  }
  answer(): void {
    this.calls.push('answer');
    if (this.answersAtOnce) this.comeUp();
  }
  answered(): Promise<void> {
    return this.up ? Promise.resolve() : new Promise((resolve) => this.#whenUp.push(resolve));
  }
  comeUp(): void {
    this.up = true;
    for (const told of this.#whenUp.splice(0)) told();
  }
  ring(): void {
    this.calls.push('ring');
  }
  progress(): void {
    this.calls.push('progress');
  }
  indicate(tone: Indication): Stop {
    this.calls.push(`indicate ${tone}`);
    return () => void this.calls.push(`stop ${tone}`);
  }
  play(uris: readonly string[]): DialplanPlayback {
    this.calls.push(`play ${uris.join(' ')}`);
    const done = new Promise<'done' | 'failed'>((resolve) => {
      this.#playing = resolve;
    });
    return { done, stop: () => void this.calls.push('stop play') };
  }
  /** Ends what plays. */
  played(how: 'done' | 'failed'): void {
    this.#playing?.(how);
  }
  echo(): Stop {
    this.calls.push('echo');
    return () => void this.calls.push('stop echo');
  }
  readonly #listeners = new Set<(digit: string) => void>();
  onDigit(listener: (digit: string) => void): Stop {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  /** The far side presses digits, one after another. */
  press(digits: string): void {
    for (const digit of digits) for (const told of [...this.#listeners]) told(digit);
  }
  /** How many wait for digits. */
  get listeners(): number {
    return this.#listeners.size;
  }
  /** What is asked of others is written down; it ends when the test says so. */
  ongoing: ((value: never) => void) | undefined;
  #begin<T>(what: string): Ongoing<T> {
    this.calls.push(what);
    const done = new Promise<T>((resolve) => {
      this.ongoing = resolve as (value: never) => void;
    });
    return { done, stop: () => void this.calls.push(`stop ${what}`) };
  }
  /** Ends what goes on with others. */
  ended(value?: unknown): void {
    this.ongoing?.(value as never);
  }
  readonly #callControl: DialplanCalls = {
    dial: (request) => this.#begin(`dial ${JSON.stringify(request)}`),
    join: (name) => (name === 'nobody' ? undefined : this.#begin(`join ${name}`)),
    spy: ({ channel, ...request }) =>
      channel === 'nobody' ? undefined : this.#begin(`spy ${channel} ${JSON.stringify(request)}`),
    enterConference: (name) => this.#begin(`room ${name}`),
    music: (musicClass) => {
      this.calls.push(`music ${musicClass}`);
      return () => void this.calls.push('stop music');
    },
    broadcast: ({ pattern, ...request }) => this.#begin(`broadcast ${pattern.source} ${JSON.stringify(request)}`),
    record: (recording) => this.#begin(`record ${JSON.stringify(recording)}`),
  };
  detectTalking(detection: TalkDetection | undefined): void {
    this.calls.push(`detectTalking ${JSON.stringify(detection)}`);
  }

  heard: { in: number; out: number } | undefined;
  detectTone(detection: ToneDetection | undefined, then?: object): void {
    this.calls.push(`detectTone ${JSON.stringify(detection)}${then ? ` ${JSON.stringify(then)}` : ''}`);
  }
  tonesHeard(): { in: number; out: number } | undefined {
    return this.heard;
  }
  handleTransfers(handling: string): void {
    this.calls.push(`handleTransfers ${handling}`);
  }
  setMusicClass(musicClass: string): void {
    this.musicClass = musicClass;
  }
  setPeerAccount(peerAccount: string): void {
    this.peerAccount = peerAccount;
  }
  timeLeft(): number | undefined {
    return this.limitMs;
  }
  limitTime(ms: number | undefined): void {
    this.limitMs = ms;
  }
  variableNames(): readonly string[] {
    return [...this.variables.keys()];
  }
  interceptHold(on: boolean): void {
    this.calls.push(`interceptHold ${on}`);
  }
  callControl(): DialplanCalls {
    return this.#callControl;
  }
  userEvent(name: string, fields: Readonly<Record<string, string>>): void {
    this.calls.push(`userEvent ${name} ${JSON.stringify(fields)}`);
  }
  header(name: string, index = 1): string | undefined {
    return this.headers.get(name.toLowerCase())?.[index - 1];
  }
  addHeader(name: string, value: string): boolean {
    if (name === 'Via') return false;
    const key = name.toLowerCase();
    this.headers.set(key, [...(this.headers.get(key) ?? []), value]);
    return true;
  }
  /** What SIP has beside. */
  abilities: SipAbilities | undefined;
  sip(): SipAbilities | undefined {
    return this.abilities;
  }
  updateHeader(name: string, value: string): boolean {
    const values = this.headers.get(name.toLowerCase());
    if (values) values[0] = value;
    return values !== undefined;
  }
  removeHeader(name: string): void {
    this.headers.delete(name.toLowerCase());
  }
}

/** A logger that keeps warnings and errors with their fields. */
export function recordingLog(): Logger & {
  lines: { fields: object; message: string }[];
  /** What was said at `info`. */
  informed: string[];
} {
  const lines: { fields: object; message: string }[] = [];
  const informed: string[] = [];
  const inform = (_fields: object, message: string): void => void informed.push(message);
  const keep = (fields: object, message: string): void => void lines.push({ fields, message });
  const drop = (): void => {};
  const log = {
    lines,
    informed,
    trace: drop,
    debug: drop,
    info: inform,
    warn: keep,
    error: keep,
    child: () => log,
    enabled: () => false,
  };
  return log;
}
