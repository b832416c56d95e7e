import { randomUUID } from 'node:crypto';
import { credentialsFor } from './phone-digest.ts';
import { openStreamWire, openUdpWire, type PhoneWire } from './phone-wire.ts';
import { RtpPeer } from './rtp-peer.ts';
import type { VideoPeer } from './video/video-peer.ts';
import { untilHolds } from './waiting.ts';

/** Header lines that lead an answer back to its request (RFC 3261 8.2.6.2). */
const copied = ['Via', 'Record-Route', 'From', 'Call-ID', 'CSeq'];

type Message = { first: string; all(name: string): string[]; one(name: string): string; body: string };
/** What a NOTIFY about a transfer said. */
export type TransferNews = { event: string; state: string; fragment: string };
/** The call that the phone is in: what requests inside it are made of (RFC 3261 12). */
type Dialog = {
  target: string;
  from: string;
  to: string;
  callId: string;
  cseq: number;
  branch?: string;
  /** The way through proxies, the next one first (RFC 3261 12.2). */
  routes?: readonly string[];
};
/** What came of a request outside calls, and how further ones are sent in the dialog that it may have made. */
export type Outside = { status: number; inside(method: string, lines: readonly string[]): Promise<number> };

/**
 * A phone with real sockets on 127.0.0.1, written against RFC 3261 alone and sharing no code with the server: it
 * calls a number or answers who calls it, and has one call at a time. What it says and hears is `audio`.
 */
export class Phone {
  readonly audio: RtpPeer;
  /** Its camera and first screen, and the screens that it has beside; without any it has no video. */
  readonly videos: readonly VideoPeer[];
  /** What its video has behind payload type 96 in `rtpmap` and `fmtp`. */
  videoFormat: { map: string; parameters?: string } = { map: 'VP8/90000' };
  /** The descriptions of the session that it was sent, in order. */
  readonly described: string[] = [];
  readonly number: string;
  /** RTP payload types of the codecs that it has, in the order in which it offers them (RFC 3551 table 4). */
  codecs: readonly number[] = [0];
  /** What payload types without a meaning of their own stand for, as `rtpmap` says it. */
  maps: Readonly<Record<number, string>> = { 101: 'telephone-event/8000' };
  /** Of its audio in what it describes next: `sendonly` puts the far side on hold (RFC 3264 8.4). */
  direction: 'sendrecv' | 'sendonly' = 'sendrecv';
  /** Whether it takes calls at once; else they ring until the caller gives up. */
  answers = true;
  /** Whether it acknowledges answers to its calls; one behind a bad NAT does not get them. */
  acknowledges = true;
  /** The response that it refuses calls with, e.g. `486 Busy Here`; it takes them when left out. */
  refuses: string | undefined;
  /** The provisional response that it gives before it rings, e.g. `181 Call Is Being Forwarded`. */
  saysFirst: string | undefined;
  /** Whether it describes its audio before it rings (183), and is heard from then on. */
  early = false;
  /** The response that describes it. */
  earlyStatus: '180 Ringing' | '183 Session Progress' = '183 Session Progress';
  /** Digits that it was told by INFO, in order. */
  readonly keys: string[] = [];
  /** The provisional responses to its calls, in order; `+` where they describe audio. */
  readonly progress: string[] = [];
  /** Where it forwards calls to when it refuses them (Contact). */
  forwardsTo: string | undefined;
  /** Whether it is being called and has not answered. */
  rings = false;
  /** Whether it follows its call to where it is invited again from; else it speaks to its server alone. */
  follows = false;
  /** The INVITEs inside its call, in order. */
  readonly reinvites: { one(name: string): string; body: string }[] = [];
  /** The INVITEs that it was called with, in order. */
  readonly invites: { all(name: string): string[] }[] = [];
  /** What it was told of transfers that it asked for, in order. */
  readonly notified: TransferNews[] = [];
  /** The bodies of the NOTIFYs that it has had, in order. */
  readonly documents: string[] = [];
  /** What it proves who it is with; without it a challenge is a refusal like others. */
  password: string | undefined;
  /** The NOTIFYs that it has had, by Call-ID and CSeq. */
  readonly #told = new Set<string>();
  /** The provisional answers that were acknowledged, by Call-ID and RSeq. */
  readonly #acknowledged = new Set<string>();
  /** Final answers to requests other than INVITE, by Call-ID and CSeq. */
  readonly #answers = new Map<string, Message>();
  readonly #sip: PhoneWire;
  #server: { address: string; port: number };
  readonly #waiting = new Set<() => void>();
  readonly #tag = randomUUID().slice(0, 8);
  /** The call it makes, until that is answered. */
  #calling: (Dialog & { lines: readonly string[] }) | undefined;
  #dialog: Dialog | undefined;
  /** The call that it makes, once somebody has said something of it before it is answered (RFC 3261 12.1). */
  #early: Dialog | undefined;
  /** The call that it is being called with. */
  #ringing: Pick<Dialog, 'callId' | 'from' | 'to'> | undefined;
  /** Ends the ringing, once it was called off. */
  #refuse: (() => void) | undefined;
  /** Answers it. */
  #answer: (() => void) | undefined;
  #ring: (() => void) | undefined;
  #decline: ((status: string) => void) | undefined;
  #said = '';

  private constructor(
    number: string,
    server: string,
    { sip, audio, videos }: { sip: PhoneWire; audio: RtpPeer; videos: readonly VideoPeer[] },
  ) {
    const [address = '', port = ''] = server.split(':');
    this.number = number;
    this.#server = { address, port: Number(port) };
    this.#sip = sip;
    this.audio = audio;
    this.videos = videos;
    sip.hear((text, { address: from, port: at }) => {
      const message = parse(text);
      if (this.follows && message.first.startsWith('INVITE')) this.#server = { address: from, port: at };
      this.#hear(message);
    });
  }

  /** @param server `address:port` of SIP. @param port of SIP here; chosen by the system when left out. */
  static async open(number: string, server: string, port = 0, videos: readonly VideoPeer[] = []): Promise<Phone> {
    return new Phone(number, server, { sip: await openUdpWire(port), audio: await RtpPeer.open(), videos });
  }

  /** Opens a phone that keeps one connection to its server. */
  static async openOver(protocol: 'TCP' | 'WS', number: string, server: string): Promise<Phone> {
    const sip = await openStreamWire(protocol, server);
    return new Phone(number, server, { sip, audio: await RtpPeer.open(), videos: [] });
  }

  /** Where SIP is spoken. */
  get port(): number {
    return this.#sip.port;
  }

  /** Whether it is in a call that was answered. */
  get inCall(): boolean {
    return this.#dialog !== undefined;
  }

  /** Whether the call that it makes has a dialog, and is not answered. */
  get isEarly(): boolean {
    return this.#early !== undefined && this.#dialog === undefined;
  }

  /**
   * Calls a number; resolves when it was answered. @throws Error when it is refused, or nobody answers.
   * @param lines further headers of the INVITE
   */
  async call(extension: string, lines: readonly string[] = []): Promise<void> {
    const target = `sip:${extension}@${this.#server.address}:${this.#server.port}`;
    const from = `<sip:${this.number}@127.0.0.1>;tag=${this.#tag}`;
    const to = `<${target}>`;
    this.#calling = { target, from, to, callId: randomUUID(), cseq: 1, branch: freshBranch(), lines };
    this.#request('INVITE', this.#calling, this.#sdp(), lines);
    await this.until(() => this.#calling === undefined, `an answer to ${this.number}`);
    if (!this.inCall) throw new Error(`${this.number} was not answered:\n${this.#said}`);
  }

  /** Asks for a transfer inside its call; resolves with the final status. @param to the value of Refer-To. */
  refer(to: string, lines: readonly string[] = []): Promise<number> {
    return this.request('REFER', [`Refer-To: ${to}`, ...lines]);
  }

  /**
   * Offers the session of its call anew, with the codecs that it has now; resolves with the final status.
   * @param method UPDATE before the call is answered.
   */
  async offerAnew(method: 'INVITE' | 'UPDATE' = 'INVITE'): Promise<number> {
    const dialog = this.#dialog ?? this.#early;
    if (!dialog) throw new Error(`${this.number} is in no call`);
    return statusOf(await this.#ask(method, dialog, [], this.#sdp()));
  }

  /** Sends a request inside its call; resolves with its final status. */
  async request(method: string, lines: readonly string[]): Promise<number> {
    const dialog = this.#dialog ?? this.#calling;
    if (!dialog) throw new Error(`${this.number} is in no call`);
    return statusOf(await this.#ask(method, dialog, lines));
  }

  /** Tells a digit inside its call by SIP (application/dtmf-relay); resolves with the final status. */
  async inform(digit: string): Promise<number> {
    const dialog = this.#dialog;
    if (!dialog) throw new Error(`${this.number} is in no call`);
    const lines = ['Content-Type: application/dtmf-relay'];
    return statusOf(await this.#ask('INFO', dialog, lines, `Signal=${digit}\r\nDuration=100\r\n`));
  }

  /** Speaks to another server from now on. @param server `address:port`. */
  serveBy(server: string): void {
    const [address = '', port = ''] = server.split(':');
    this.#server = { address, port: Number(port) };
  }

  /** Says where it is, and proves who it is when it is asked to; resolves with the final status. */
  async register(seconds = 300): Promise<number> {
    const target = `sip:${this.#server.address}:${this.#server.port}`;
    const own = `<sip:${this.number}@127.0.0.1>`;
    const dialog = { target, from: `${own};tag=${this.#tag}`, to: own, callId: randomUUID(), cseq: 0 };
    return statusOf(await this.#ask('REGISTER', dialog, [`Expires: ${seconds}`]));
  }

  /** Sends a request outside its calls; resolves with what came of it. @param user whom it is for. */
  async outside(method: string, user: string, lines: readonly string[]): Promise<Outside> {
    const target = `sip:${user}@${this.#server.address}:${this.#server.port}`;
    const from = `<sip:${this.number}@127.0.0.1>;tag=${randomUUID()}`;
    const dialog = { target, from, to: `<${target}>`, callId: randomUUID(), cseq: 0 };
    const answer = await this.#ask(method, dialog, lines);
    const made = { ...dialog, target: uriOf(answer.one('Contact')) || target, to: answer.one('To') };
    return {
      status: statusOf(answer),
      inside: async (next, more) => statusOf(await this.#ask(next, made, more)),
    };
  }

  /** The value of Target-Dialog for its call (RFC 4538), whose tags are as the far side sees them. */
  targetDialog(): string {
    const { callId, ownTag, theirTag } = this.dialog();
    return `${callId};local-tag=${theirTag};remote-tag=${ownTag}`;
  }

  /** How the call is named to others (RFC 3891): its Call-ID, our tag and that of the far side. */
  dialog(): { callId: string; ownTag: string; theirTag: string } {
    const { callId, from, to } = this.#dialog ?? this.#ringing ?? { callId: '', from: '', to: '' };
    const tagOf = (party: string) => /;tag=([^;>\s]+)/.exec(party)?.[1] ?? '';
    return { callId, ownTag: tagOf(from), theirTag: tagOf(to) };
  }

  /** The value of a Replaces header for its call, as it stands inside a URI. */
  replaces(): string {
    const { callId, ownTag, theirTag } = this.dialog();
    return encodeURIComponent(`${callId};to-tag=${theirTag};from-tag=${ownTag}`);
  }

  /** Hangs up, or gives up a call that was not answered yet. */
  hangup(): void {
    if (this.#calling) this.#request('CANCEL', this.#calling);
    this.#calling = undefined;
    if (this.#dialog) this.#request('BYE', { ...this.#dialog, cseq: this.#dialog.cseq + 1 });
    this.#dialog = undefined;
    this.audio.hush();
  }

  /** Says that it rings, after early media. */
  ring(): void {
    this.#ring?.();
  }

  /** Answers the call that rings. */
  take(): void {
    this.#answer?.();
  }

  /** Refuses the call that rings. */
  decline(status: string): void {
    this.#decline?.(status);
  }

  /** Resolves when it was called and has answered. */
  answered(): Promise<void> {
    return this.until(() => this.inCall, `a call to ${this.number}`);
  }

  /** Resolves when the call is over. */
  over(): Promise<void> {
    return this.until(() => !this.inCall, `the end of the call of ${this.number}`);
  }

  /** Resolves once a condition on the phone's call holds. @throws Error with what was said when it does not come to. */
  until(holds: () => boolean, what: string): Promise<void> {
    return untilHolds(this.#waiting, holds, () => `${what} did not come:\n${this.#said}`);
  }

  /** What was said in SIP. */
  explain(): string {
    return `phone ${this.number}:\n${this.#said}`;
  }

  async close(): Promise<void> {
    this.#sip.close();
    await this.audio.close();
  }

  #hear(message: Message): void {
    this.#said += `< ${message.first} ${message.one('CSeq')}\n`;
    if (message.first.startsWith('SIP/2.0')) this.#hearAnswer(message);
    else this.#hearRequest(message);
    for (const look of [...this.#waiting]) look();
  }

  #hearAnswer(message: Message): void {
    const status = statusOf(message);
    const [cseq = '', method] = message.one('CSeq').split(' ');
    const parties = { from: message.one('From'), to: message.one('To'), callId: message.one('Call-ID') };
    const provisional = method === 'INVITE' && status > 100 && status < 200;
    if (provisional) this.progress.push(`${status}${message.body === '' ? '' : '+'}`);
    const isFirst = method === 'INVITE' && this.#dialog === undefined;
    if (status >= 200 && !isFirst) this.#answers.set(`${parties.callId} ${cseq}`, message);
    if (method === 'UPDATE' && status < 300) this.#talkTo(message.body);
    if (method !== 'INVITE' || status < 200) {
      if (isFirst && message.body) this.#talkTo(message.body);
      const reliable = message.one('RSeq');
      if (isFirst && parties.to.includes('tag='))
        this.#early = { ...parties, target: uriOf(message.one('Contact')), cseq: this.#early?.cseq ?? Number(cseq) };
      // RFC 3262 4: one that comes again is acknowledged once.
      if (isFirst && this.#early && reliable && !this.#acknowledged.has(`${parties.callId} ${reliable}`)) {
        this.#acknowledged.add(`${parties.callId} ${reliable}`);
        this.#request('PRACK', { ...this.#early, cseq: ++this.#early.cseq }, '', [`RAck: ${reliable} ${cseq} INVITE`]);
      }
      return;
    }
    const routes = message.all('Record-Route').flatMap(routesIn).reverse();
    const dialog = { ...parties, target: uriOf(message.one('Contact')), cseq: Number(cseq), routes };
    const calling = this.#calling;
    this.#calling = undefined;
    if (status >= 300) {
      // The ACK of a refusal belongs to the INVITE (RFC 3261 17.1.1.3).
      const branch = /branch=([^;]+)/.exec(message.one('Via'))?.[1];
      if (!isFirst && this.#dialog)
        if (this.acknowledges) this.#request('ACK', { ...this.#dialog, cseq: Number(cseq), ...(branch && { branch }) });
      if (calling && this.acknowledges) this.#request('ACK', { ...calling, to: parties.to });
      const credentials = calling?.cseq === 1 && this.#credentials(message, 'INVITE', calling.target);
      if (!calling || !credentials) return;
      this.#calling = { ...calling, cseq: 2, branch: freshBranch() };
      this.#request('INVITE', this.#calling, this.#sdp(), [...calling.lines, credentials]);
    } else {
      // A 200 that is repeated changes nothing of a call that stands (RFC 3261 13.2.2.4).
      if (this.#dialog?.callId !== dialog.callId) this.#dialog = dialog;
      this.#talkTo(message.body);
      if (this.acknowledges) this.#request('ACK', dialog);
    }
  }

  #hearRequest(message: Message): void {
    const [method = ''] = message.first.split(' ');
    const to = message.one('To');
    const tagged = to.includes('tag=') ? to : `${to};tag=${this.#tag}`;
    const answer = (status: string, body = ''): void => {
      const lines = copied.flatMap((name) => message.all(name).map((value) => `${name}: ${value}`));
      const contact = status.startsWith('3') ? `Contact: <${this.forwardsTo}>` : this.#contact();
      this.#send([`SIP/2.0 ${status}`, ...lines, `To: ${tagged}`, contact], body);
    };
    if (method === 'BYE') this.#dialog = undefined;
    if (method === 'CANCEL') {
      this.rings = false;
      this.#refuse?.();
    }
    const callId = message.one('Call-ID');
    if (method === 'INVITE' && !to.includes('tag=')) this.invites.push(message);
    if (method === 'INVITE' && (this.#dialog?.callId ?? callId) === callId) {
      const routes = message.all('Record-Route').flatMap(routesIn);
      const parties = { from: tagged, to: message.one('From'), callId, routes };
      if (this.refuses !== undefined && !this.#dialog) return void answer(this.refuses);
      if (!this.answers && !this.#dialog) {
        this.rings = true;
        this.#ringing = parties;
        this.#ring = () => answer('180 Ringing');
        this.#decline = (status) => {
          this.rings = false;
          answer(status);
        };
        this.#refuse = () => answer('487 Request Terminated');
        this.#answer = () => {
          this.rings = false;
          this.#dialog = { ...parties, target: uriOf(message.one('Contact')), cseq: 1 };
          this.#talkTo(message.body);
          answer('200 OK', this.#sdp(message.body));
        };
        if (this.saysFirst !== undefined) answer(this.saysFirst);
        if (this.early) {
          this.#talkTo(message.body);
          answer(this.earlyStatus, this.#sdp(message.body));
        } else answer('180 Ringing');
        return;
      }
      this.#dialog ??= { ...parties, target: uriOf(message.one('Contact')), cseq: 1 };
      if (to.includes('tag=')) this.reinvites.push(message);
      if (this.follows) this.#dialog.target = uriOf(message.one('Contact'));
      this.#talkTo(message.body);
      answer('200 OK', this.#sdp(message.body));
    } else if (method === 'INVITE') answer('486 Busy Here');
    else if (method !== 'ACK') answer('200 OK');
    const key = method === 'INFO' ? /^Signal=(.)/m.exec(message.body)?.[1] : undefined;
    if (key !== undefined) this.keys.push(key);
    const [fragment = ''] = message.body.split('\r\n');
    // A NOTIFY that is repeated says nothing new.
    const told = `${callId} ${message.one('CSeq')}`;
    if (method === 'NOTIFY' && !this.#told.has(told))
      this.notified.push({ event: message.one('Event'), state: message.one('Subscription-State'), fragment });
    if (method === 'NOTIFY' && !this.#told.has(told)) this.documents.push(message.body);
    if (method === 'NOTIFY') this.#told.add(told);
  }

  /** Sends the next request of a dialog, once more with credentials when they are asked for; its final answer. */
  async #ask(method: string, dialog: Dialog, lines: readonly string[], body = ''): Promise<Message> {
    const answered = async (more: readonly string[]): Promise<Message> => {
      const { branch: _ofInvite, ...next } = { ...dialog, cseq: ++dialog.cseq };
      this.#request(method, next, body, more);
      const key = `${next.callId} ${next.cseq}`;
      await this.until(() => this.#answers.has(key), `an answer to ${method} of ${this.number}`);
      return this.#answers.get(key)!;
    };
    const answer = await answered(lines);
    const credentials = this.#credentials(answer, method, dialog.target);
    return credentials === undefined ? answer : answered([...lines, credentials]);
  }

  #credentials(answer: Message, method: string, uri: string): string | undefined {
    const { password } = this;
    if (password === undefined) return undefined;
    const asked = { method, uri, username: this.number, password };
    const name = statusOf(answer) === 401 ? 'Authorization' : 'Proxy-Authorization';
    const values = answer.all(statusOf(answer) === 401 ? 'WWW-Authenticate' : 'Proxy-Authenticate');
    return credentialsFor({ name, values }, asked);
  }

  #request(
    method: string,
    { target, from, to, callId, cseq, branch, routes = [] }: Dialog,
    body = '',
    more: readonly string[] = [],
  ): void {
    const { protocol, port: at } = this.#sip;
    const via = `Via: SIP/2.0/${protocol} 127.0.0.1:${at};rport;branch=${branch ?? freshBranch()}`;
    const parties = [`From: ${from}`, `To: ${to}`, `Call-ID: ${callId}`, `CSeq: ${cseq} ${method}`];
    const first = `${method} ${target} SIP/2.0`;
    const way = routes.map((route) => `Route: ${route}`);
    this.#send([first, via, ...way, ...parties, 'Max-Forwards: 70', this.#contact(), ...more], body);
  }

  #send(lines: string[], body: string): void {
    this.#said += `> ${lines[0]}\n`;
    const isTyped = lines.some((line) => line.startsWith('Content-Type:'));
    const type = body && !isTyped ? ['Content-Type: application/sdp'] : [];
    const text = [...lines, ...type, `Content-Length: ${body.length}`, '', body].join('\r\n');
    this.#sip.send(text, this.#server);
  }

  #contact(): string {
    const transport = this.#sip.protocol === 'UDP' ? '' : `;transport=${this.#sip.protocol.toLowerCase()}`;
    return `Contact: <sip:${this.number}@127.0.0.1:${this.port}${transport}>`;
  }

  #talkTo(sdp: string): void {
    const port = /^m=audio (\d+)/m.exec(sdp)?.[1];
    if (port) this.audio.sendTo(Number(port));
    if (sdp) this.described.push(sdp);
    for (const [index, { place }] of videoLines(sdp).entries()) if (place > 0) this.videos[index]?.sendTo(place);
  }

  /** @param offer what is answered; without it what is offered. */
  #sdp(offer?: string): string {
    const about = ['v=0', 'o=phone 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'];
    const types = offer ? audioTypes(offer).filter((type) => this.codecs.includes(type)) : this.codecs;
    const named = types.map((type) => `a=rtpmap:${type} ${this.maps[type] ?? `${codecNames.get(type)}/8000`}`);
    const events = Object.keys(this.maps).filter((type) => this.maps[Number(type)]!.startsWith('telephone-event'));
    const maps = [
      ...named,
      ...events.flatMap((type) => [`a=rtpmap:${type} ${this.maps[Number(type)]}`, `a=fmtp:${type} 0-15`]),
    ];
    return [
      ...about,
      `m=audio ${this.audio.port} RTP/AVP ${[...types, ...events].join(' ')}`,
      ...maps,
      ...(this.direction === 'sendrecv' ? [] : [`a=${this.direction}`]),
      ...this.#video(offer),
      '',
    ].join('\r\n');
  }

  /** Its camera in the first line; in the others it is shown something, as far as there are screens. */
  #video(offer: string | undefined): string[] {
    const offered = offer ? videoLines(offer) : [{ place: 1, shows: true }].slice(0, this.videos.length);
    return offered.flatMap(({ place, shows }, index) => {
      const peer = this.videos[index];
      if (!peer || place === 0) return ['m=video 0 RTP/AVP 96'];
      const feedback = ['a=rtcp-fb:* nack', 'a=rtcp-fb:* nack pli', 'a=rtcp-fb:* ccm fir'];
      const way = index === 0 ? 'sendrecv' : shows ? 'recvonly' : 'inactive';
      const { map, parameters } = this.videoFormat;
      const said = parameters === undefined ? [] : [`a=fmtp:96 ${parameters}`];
      return [`m=video ${peer.port} RTP/AVP 96`, `a=rtpmap:96 ${map}`, ...said, ...feedback, `a=${way}`];
    });
  }
}

/** The audio codecs with payload types of their own that a phone here may have. */
const codecNames = new Map([
  [0, 'PCMU'],
  [8, 'PCMA'],
  [9, 'G722'],
]);

/** The payload types that a description has for audio, the preferred one first. */
export const audioTypes = (sdp: string): number[] =>
  (/^m=audio \d+ \S+ ([\d ]+)/m.exec(sdp)?.[1] ?? '').split(' ').map(Number);

/** The video lines of a description: their ports, and whether who wrote it sends something in them. */
const videoLines = (sdp: string): { place: number; shows: boolean }[] =>
  sdp
    .split(/^m=/m)
    .slice(1)
    .filter((line) => line.startsWith('video '))
    .map((line) => ({ place: Number(line.split(' ')[1]), shows: !/^a=(recvonly|inactive)/m.test(line) }));

const freshBranch = (): string => `z9hG4bK${randomUUID()}`;
const statusOf = ({ first }: Message): number => Number(first.split(' ')[1]);
/** The proxies of one header line. */
const routesIn = (line: string): string[] => line.match(/<[^>]*>/g) ?? [];

const uriOf = (contact: string): string => /<([^>]*)>/.exec(contact)?.[1] ?? contact;

function parse(text: string): Message {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const all = (name: string): string[] =>
    lines
      .filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
      .map((line) => line.slice(name.length + 1).trim());
  return { first, all, one: (name) => all(name)[0] ?? '', body: text.slice(end + 4) };
}
