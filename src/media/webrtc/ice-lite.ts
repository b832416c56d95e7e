import type { Clock } from '../../lib/clock.ts';
import type { IceAddress, WebrtcTransport } from '../../lib/webrtc.ts';
import { readCheck, writeCheckAnswer, writeCheckRefusal } from './checks.ts';

/** Without a check for so long the far side no longer agrees to media (RFC 7675 5.1), in ms. */
const longestConsentMs = 30_000;
/** Addresses of the far side that are known at once. */
const maximumAddresses = 16;

/** The far side as a lite agent knows it. Before the first nomination media may come from any proved address. */
type IceState = 'new' | 'checked' | 'nominated' | 'expired';

type IceLiteOptions = {
  readonly clock: Clock;
  /** Without a check for this long it is gone, in ms; before, media may have stopped. */
  readonly consentMs: number;
  /** It is gone. */
  readonly expired: () => void;
  readonly send: (datagram: Uint8Array, to: IceAddress) => void;
  /** The far side is at another address, or has agreed again, or no longer agrees (undefined). */
  readonly selected: (source: IceAddress | undefined) => void;
};

const textOf = ({ address, port, via }: IceAddress): string => `${address} ${port} ${via ?? ''}`;

type IceEvent = 'check' | 'nomination' | 'silence';
/** The state after each event. Media goes to the sender of the last nomination, or else of the first check. */
const iceTable: Readonly<Record<IceState, Readonly<Record<IceEvent, IceState>>>> = {
  new: { check: 'checked', nomination: 'nominated', silence: 'new' },
  checked: { check: 'checked', nomination: 'nominated', silence: 'expired' },
  nominated: { check: 'nominated', nomination: 'nominated', silence: 'expired' },
  expired: { check: 'checked', nomination: 'nominated', silence: 'expired' },
};

/** ICE of a lite agent with one host candidate (RFC 8445 2.5): it answers checks, and the far side chooses. */
export class IceLite {
  readonly #options: IceLiteOptions;
  #transport: WebrtcTransport;
  #state: IceState = 'new';
  #selected: IceAddress | undefined;
  /** Where valid checks came from, the latest last. */
  readonly #proved = new Map<string, IceAddress>();
  #timer: unknown;

  constructor(transport: WebrtcTransport, options: IceLiteOptions) {
    this.#transport = transport;
    this.#options = options;
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
  }

  /** Whether the far side has proved that it has this address. */
  isProved(source: IceAddress): boolean {
    return this.#proved.has(textOf(source));
  }

  /** A check of ours was answered from there. @param isNominated the far side knows that media takes this pair. */
  found(source: IceAddress, isNominated: boolean): void {
    this.#prove(source);
    if (isNominated) this.#happen('nomination', source);
  }

  /** Takes a datagram that looks like STUN. Its answer is never longer than it. */
  receive(datagram: Uint8Array, source: IceAddress): void {
    const { local, remote } = this.#transport;
    const check = readCheck(datagram, local, remote);
    if (!check) return;
    const isRefused = check.isControlled || check.unknown.length > 0;
    const answer = isRefused
      ? writeCheckRefusal(datagram, check, local.password)
      : writeCheckAnswer(datagram, source, local.password);
    if (answer && answer.length <= datagram.length) this.#options.send(answer, source);
    if (isRefused || !answer) return;
    this.#prove(source);
    if (check.nominates) this.#happen('nomination', source);
    else if (this.#state !== 'nominated' || this.#isSelected(source)) this.#happen('check', this.#selected ?? source);
  }

  close(): void {
    this.#options.clock.clearTimeout(this.#timer);
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
