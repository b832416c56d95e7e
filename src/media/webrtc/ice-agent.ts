import type { Clock } from '../../lib/clock.ts';
import type { IceAddress, WebrtcTransport } from '../../lib/webrtc.ts';
import { type IceRole, readCheck, writeCheckAnswer, writeCheckRefusal } from './checks.ts';
import { OwnChecks } from './own-checks.ts';

/** Without a check for so long the far side no longer agrees to media (RFC 7675 5.1), in ms. */
const longestConsentMs = 30_000;
/** Addresses of the far side that are known at once. */
const maximumAddresses = 16;

/** The far side as we know it. Before the first nomination media may come from any proved address. */
type IceState = 'new' | 'checked' | 'nominated' | 'expired';

type IceAgentOptions = {
  readonly clock: Clock;
  /** Without consent for this long it is gone, in ms; before, media may have stopped. */
  readonly consentMs: number;
  /** It is gone. */
  readonly expired: () => void;
  readonly send: (datagram: Uint8Array, to: IceAddress) => void;
  /** The far side is at another address, or has agreed again, or no longer agrees (undefined). */
  readonly selected: (source: IceAddress | undefined) => void;
};

const textOf = ({ address, port, via }: IceAddress): string => `${address} ${port} ${via ?? ''}`;

type IceEvent = 'check' | 'nomination' | 'silence';
/**
 * The state after each event. A lite agent sends media to the sender of the last nomination, or else of the first check. A full
 * one hears of `check` and `nomination` by its own checks alone: a sender may have forged its address.
 */
const iceTable: Readonly<Record<IceState, Readonly<Record<IceEvent, IceState>>>> = {
  new: { check: 'checked', nomination: 'nominated', silence: 'new' },
  checked: { check: 'checked', nomination: 'nominated', silence: 'expired' },
  nominated: { check: 'nominated', nomination: 'nominated', silence: 'expired' },
  expired: { check: 'checked', nomination: 'nominated', silence: 'expired' },
};

/**
 * ICE of one component with one socket (RFC 8445). It answers checks. Where the transport says which candidates are checked,
 * it is full, and makes checks as well; else it is lite (RFC 8445 2.5), and the far side chooses.
 */
export class IceAgent {
  readonly #options: IceAgentOptions;
  #transport: WebrtcTransport;
  #state: IceState = 'new';
  #selected: IceAddress | undefined;
  /** Where valid checks came from, the latest last. */
  readonly #proved = new Map<string, IceAddress>();
  #timer: unknown;
  /** Those of a full agent. */
  #checks: OwnChecks | undefined;

  constructor(transport: WebrtcTransport, options: IceAgentOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#check();
  }

  /** Whether it makes checks. */
  get isFull(): boolean {
    return this.#checks !== undefined;
  }

  get state(): IceState {
    return this.#state;
  }

  get selected(): IceAddress | undefined {
    return this.#selected;
  }

  /** Other credentials are a restart (RFC 8445 section 9): media goes on where it goes until the next nomination. */
  use(transport: WebrtcTransport): void {
    this.#transport = transport;
    this.#check();
  }

  /** Goes on with a far side that another process had found. What was relayed is lost with it: a check is awaited. */
  resume(source: IceAddress): void {
    const { clock, consentMs, expired } = this.#options;
    if (source.via) {
      this.#timer = clock.setTimeout(expired, consentMs);
      return;
    }
    this.#prove(source);
    this.#happen('nomination', source);
    this.#check(source);
  }

  /** Whether the far side has proved that it has this address. */
  isProved(source: IceAddress): boolean {
    return this.#proved.has(textOf(source));
  }

  /** Takes a datagram that looks like STUN. An answer is never longer than it. */
  receive(datagram: Uint8Array, source: IceAddress): void {
    if (this.#checks?.receive(datagram, source)) return;
    const { local, remote } = this.#transport;
    const check = readCheck(datagram, local, remote);
    if (!check) return;
    const isRefused = check.unknown.length > 0 || !this.#admits(check);
    const answer = isRefused
      ? writeCheckRefusal(datagram, check, local.password)
      : writeCheckAnswer(datagram, source, local.password);
    if (answer && answer.length <= datagram.length) this.#options.send(answer, source);
    if (isRefused || !answer) return;
    this.#prove(source);
    if (this.#checks) this.#checks.hear(source, check.nominates);
    else if (check.nominates) this.#happen('nomination', source);
    else if (this.#state !== 'nominated' || this.#isSelected(source)) this.#happen('check', this.#selected ?? source);
  }

  close(): void {
    this.#checks?.close();
    this.#options.clock.clearTimeout(this.#timer);
  }

  /** A lite agent is always the controlled one. */
  #admits({ role, tiebreaker }: { role: IceRole | undefined; tiebreaker: Uint8Array }): boolean {
    return this.#checks ? this.#checks.admits(role, tiebreaker) : role !== 'controlled';
  }

  /** Checks the far side's candidates, if we are full. @param found where another process has found it. */
  #check(found?: IceAddress): void {
    const transport = this.#transport;
    if (transport.checked && this.#checks && !found) {
      this.#checks.use(transport);
      return;
    }
    this.#checks?.close();
    const options = {
      ...{ clock: this.#options.clock, consentMs: this.#options.consentMs, send: this.#options.send },
      found: (source: IceAddress, isNominated: boolean) => {
        this.#prove(source);
        if (isNominated) this.#happen('nomination', source);
      },
    };
    this.#checks = transport.checked && new OwnChecks(transport, options, found);
  }

  #happen(event: IceEvent, source?: IceAddress): void {
    const before = this.#state;
    const moves = source !== undefined && (before === 'expired' || !this.#isSelected(source));
    this.#state = iceTable[before][event];
    const { clock, selected } = this.#options;
    clock.clearTimeout(this.#timer);
    if (this.#state === 'expired') {
      this.#stop();
      return;
    }
    this.#timer = clock.setTimeout(() => this.#happen('silence'), Math.min(longestConsentMs, this.#options.consentMs));
    if (!moves) return;
    this.#selected = source;
    selected(source);
  }

  #stop(): void {
    const { clock, consentMs, selected, expired } = this.#options;
    selected(undefined);
    this.#timer = clock.setTimeout(expired, Math.max(0, consentMs - longestConsentMs));
  }

  #isSelected(source: IceAddress): boolean {
    const { address, port, via } = this.#selected ?? {};
    return port === source.port && address === source.address && via === source.via;
  }

  #prove(source: IceAddress): void {
    const text = textOf(source);
    this.#proved.delete(text);
    this.#proved.set(text, source);
    if (this.#proved.size > maximumAddresses) this.#proved.delete(this.#proved.keys().next().value!);
  }
}
