import type { SipMessage, SipRequest, SipResponse } from '../../../src/sip/message/message.ts';
import { parseMessage } from '../../../src/sip/message/parse.ts';
import { settle } from '../../sip/transaction/fake-transports.ts';
import type { Beset } from './beset.ts';
import { branchOf, type Exchange, type Said } from './call-rules.ts';

export type BodyName = 'none' | 'sdp' | 'hold' | 'video' | 'wrong' | 'broken' | 'text' | 'parts' | 'untyped' | 'digit';

/** One thing that happens. `call` and `which` count from the newest back. */
export type Act =
  | { kind: 'wait'; ms: number }
  | { kind: 'ask'; word: Word; call: number }
  | { kind: 'place' }
  | { kind: 'restoreSnapshot' }
  | { kind: 'repeat'; which: number }
  | {
      kind: 'request';
      method: string;
      call: number;
      body: BodyName;
      cseq: 'next' | 'same' | 'old' | 'far';
      tag: 'right' | 'none' | 'wrong';
      headers: readonly string[];
    }
  | { kind: 'invite'; body: BodyName; headers: readonly string[]; replaces: boolean }
  | { kind: 'ack'; call: number; body: BodyName }
  | { kind: 'cancel'; call: number }
  | { kind: 'prack'; call: number; body: BodyName; off: number }
  | {
      kind: 'answer';
      which: number;
      status: number;
      body: BodyName;
      tag: 'a' | 'b' | 'none';
      reliable: boolean;
      headers: readonly string[];
    };

export type Word =
  | 'ring'
  | 'progress'
  | 'answer'
  | 'hangup'
  | 'hold'
  | 'unhold'
  | 'redirect'
  | 'digits'
  | 'present'
  | 'transferred'
  | 'refused'
  | 'reinvite'
  | 'update'
  | 'formats';

const audio = (direction: string, version: number, formats = '0 101', port = 4000) =>
  `v=0\r\no=- 7 ${version} IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\nm=audio ${port} RTP/AVP ${formats}\r\na=rtpmap:101 telephone-event/8000\r\na=${direction}\r\n`;

/** A call as the attacker knows it. */
type Known = {
  readonly callId: string;
  /** Its tag, and the server's. */
  own: string;
  theirs: string | undefined;
  cseq: number;
  /** The last INVITE of its own, and the last reliable response to it. */
  invite?: { branch: string; cseq: number };
  rseq?: { rseq: string; cseq: number };
  /** CSeqs of 2xx to INVITE that it was given. */
  accepted: number[];
};

/** A peer that knows how to behave, and seldom does. */
export class Attacker {
  readonly exchanges: Exchange[] = [];
  /** Those of now, by branch and method. */
  readonly #open = new Map<string, Exchange>();
  readonly delivered: string[] = [];
  /** Everything that was said, in its order. */
  readonly said: Said[] = [];
  readonly calls: Known[] = [];
  readonly #beset: Beset;
  #seen = 0;
  #next = 0;
  #version = 0;

  constructor(beset: Beset) {
    this.#beset = beset;
  }

  async do(act: Act): Promise<void> {
    const { clock, calls } = this.#beset;
    if (act.kind === 'wait') {
      // In steps, so that what a promise has to do is done in time.
      for (let left = act.ms; left > 0; left -= 4000) {
        clock.advance(Math.min(left, 4000));
        await settle();
      }
    } else if (act.kind === 'restoreSnapshot') this.#beset.restoreSnapshot();
    else if (act.kind === 'place') this.#beset.call('peer');
    else if (act.kind === 'ask') this.#ask(calls.at(-1 - (act.call % Math.max(1, calls.length)))?.leg, act.word);
    else this.#send(act);
    await settle();
    this.look();
  }

  /** Reads what the server has sent since it looked last. */
  look(): void {
    const { sent } = this.#beset.transports;
    for (; this.#seen < sent.length; this.#seen++) {
      const { message, at } = sent[this.#seen]!;
      this.said.push({ by: 'server', message, at });
      if (message.kind === 'response') this.#heard(message, at);
      else this.#asked(message);
    }
  }

  #heard(response: SipResponse, at: number): void {
    const exchange = this.#open.get(`${branchOf(response)} ${response.cseq.method}`);
    const octets = response.toBuffer().toString('latin1');
    exchange?.responses.push({ octets, status: response.status, at });
    const call = this.calls.find(({ callId }) => callId === response.callId);
    if (!call || response.cseq.method !== 'INVITE') return;
    if (response.toTag !== undefined && response.status > 100) call.theirs ??= response.toTag;
    const rseq = response.header('RSeq');
    if (rseq !== undefined) call.rseq = { rseq, cseq: response.cseq.number };
    if (response.status >= 200 && response.status < 300) call.accepted.push(response.cseq.number);
  }

  #asked(request: SipRequest): void {
    if (request.method !== 'INVITE' || this.calls.some(({ callId }) => callId === request.callId)) return;
    this.calls.push({ callId: request.callId, own: 'a', theirs: request.fromTag, cseq: 100, accepted: [] });
  }

  #ask(leg: Beset['calls'][number]['leg'] | undefined, word: Word): void {
    if (!leg) return;
    const asked: Record<Word, () => void> = {
      ring: () => leg.ring(),
      progress: () => leg.progress(),
      answer: () => leg.answer(),
      hangup: () => leg.hangup(17),
      hold: () => leg.hold(),
      unhold: () => leg.unhold(),
      redirect: () => void leg.redirect('sip:x@192.0.2.4'),
      digits: () => leg.sendDigits({ digits: '12', beforeMs: 0, betweenMs: 10, durationMs: 10, afterMs: 0 }),
      present: () => leg.present({ name: `n${this.#next++}`, number: '200' }),
      transferred: () => leg.tellTransfer(String(this.calls.at(-1)?.cseq), 200),
      refused: () => leg.tellTransfer(String(this.calls.at(-1)?.cseq), 503),
      reinvite: () => void leg.sip?.refresh('invite'),
      update: () => void leg.sip?.refresh('update'),
      formats: () => void leg.sip?.setFormats(['alaw', 'ulaw']),
    };
    asked[word]();
  }

  #body(name: BodyName): [type: string, body: string] {
    const version = ++this.#version;
    const bodies: Record<BodyName, [string, string]> = {
      none: ['', ''],
      sdp: ['application/sdp', audio('sendrecv', version)],
      hold: ['application/sdp', audio('sendonly', version)],
      video: ['application/sdp', `${audio('sendrecv', version)}m=video 4002 RTP/AVP 97\r\na=rtpmap:97 VP8/90000\r\n`],
      wrong: ['application/sdp', audio('sendrecv', version, '18')],
      broken: ['application/sdp', 'v=0\r\nm='],
      text: ['text/plain', 'hello'],
      parts: [
        'multipart/mixed;boundary=x',
        `--x\r\nContent-Type: application/sdp\r\n\r\n${audio('sendrecv', version)}\r\n--x--`,
      ],
      untyped: ['', 'hello'],
      digit: ['application/dtmf-relay', 'Signal=5\r\nDuration=100\r\n'],
    };
    return bodies[name];
  }

  #send(act: Exclude<Act, { kind: 'wait' | 'ask' | 'place' | 'restoreSnapshot' }>): void {
    const call = 'call' in act ? this.calls.at(-1 - (act.call % Math.max(1, this.calls.length))) : undefined;
    if (act.kind === 'repeat') return void this.#deliver(this.delivered.at(-1 - act.which));
    if (act.kind === 'answer') return void this.#answer(act);
    if (act.kind === 'invite') {
      const known: Known = {
        callId: `call${this.#next++}`,
        own: `t${this.#next}`,
        theirs: undefined,
        cseq: 0,
        accepted: [],
      };
      const other = this.calls.at(-1);
      const replaces =
        act.replaces && other ? [`Replaces: ${other.callId};to-tag=${other.theirs ?? '0'};from-tag=${other.own}`] : [];
      this.calls.push(known);
      return void this.#request(known, 'INVITE', { body: act.body, headers: [...act.headers, ...replaces] });
    }
    if (!call) return;
    if (act.kind === 'request') {
      const cseq =
        act.cseq === 'next'
          ? ++call.cseq
          : act.cseq === 'same'
            ? call.cseq
            : act.cseq === 'old'
              ? Math.max(1, call.cseq - 1)
              : (call.cseq += 20);
      const tag = act.tag === 'right' ? call.theirs : act.tag === 'none' ? undefined : 'nobody';
      return void this.#request(call, act.method, { body: act.body, headers: act.headers, cseq, tag });
    }
    if (act.kind === 'ack') {
      const cseq = call.accepted.at(-1) ?? call.cseq;
      return void this.#request(call, 'ACK', { body: act.body, headers: [], cseq, tag: call.theirs });
    }
    if (act.kind === 'cancel') {
      if (call.invite)
        this.#request(call, 'CANCEL', {
          body: 'none',
          headers: [],
          cseq: call.invite.cseq,
          tag: undefined,
          branch: call.invite.branch,
        });
      return;
    }
    if (!call.rseq) return;
    const rack = `RAck: ${Number(call.rseq.rseq) + act.off} ${call.rseq.cseq} INVITE`;
    this.#request(call, 'PRACK', { body: act.body, headers: [rack], cseq: ++call.cseq, tag: call.theirs });
  }

  #request(
    call: Known,
    method: string,
    {
      body,
      headers,
      cseq = ++call.cseq,
      tag = call.theirs,
      branch = `z9hG4bK${this.#next++}`,
    }: { body: BodyName; headers: readonly string[]; cseq?: number; tag?: string | undefined; branch?: string },
  ): void {
    if (method === 'INVITE') call.invite = { branch, cseq };
    this.#write(
      [
        `${method} sip:600@192.0.2.1 SIP/2.0`,
        `Via: SIP/2.0/UDP 192.0.2.9:5070;branch=${branch}`,
        'Max-Forwards: 70',
        `From: <sip:peer@192.0.2.9>;tag=${call.own}`,
        `To: <sip:600@192.0.2.1>${tag === undefined ? '' : `;tag=${tag}`}`,
        `Call-ID: ${call.callId}`,
        `CSeq: ${cseq} ${method}`,
        'Contact: <sip:peer@192.0.2.9:5070>',
        ...headers,
      ],
      body,
    );
  }

  #answer({ which, status, body, tag, reliable, headers }: Extract<Act, { kind: 'answer' }>): void {
    const { sent } = this.#beset.transports;
    const open = sent.filter(({ message }) => message.kind === 'request' && message.method !== 'ACK');
    const asked = open.at(-1 - (which % Math.max(1, open.length)))?.message;
    if (asked?.kind !== 'request') return;
    const isReliable = reliable && status > 100 && status < 200 && asked.method === 'INVITE';
    this.#write(
      [
        `SIP/2.0 ${status} X`,
        `Via: ${asked.header('Via')}`,
        `From: ${asked.header('From')}`,
        `To: ${asked.header('To')}${asked.toTag || tag === 'none' ? '' : `;tag=${tag}`}`,
        `Call-ID: ${asked.callId}`,
        `CSeq: ${asked.header('CSeq')}`,
        'Contact: <sip:peer@192.0.2.9:5070>',
        ...(isReliable ? ['Require: 100rel', `RSeq: ${++this.#next}`] : []),
        ...headers,
      ],
      body,
    );
  }

  #write(lines: readonly string[], body: BodyName): void {
    const [type, text] = this.#body(body);
    const described = [...(type ? [`Content-Type: ${type}`] : []), `Content-Length: ${text.length}`];
    this.#deliver([...lines, ...described, '', text].join('\r\n'));
  }

  #deliver(text: string | undefined): void {
    if (text === undefined) return;
    this.delivered.push(text);
    const parsed = parseMessage(Buffer.from(text));
    if (!parsed.ok) throw new Error(`the attacker cannot write: ${parsed.failure.problem}`);
    this.look();
    this.said.push({ by: 'peer', message: parsed.message, at: this.#beset.sinceStart });
    this.#note(parsed.message);
    this.#beset.transports.deliver(text);
  }

  #note(message: SipMessage): void {
    if (message.kind !== 'request' || message.method === 'ACK') return;
    const key = `${branchOf(message)} ${message.method}`;
    const known = this.#open.get(key);
    const answered = known?.responses.find(({ status }) => status >= 200)?.at;
    // What comes again when its transaction is over is another request.
    if (known && (answered === undefined || this.#beset.sinceStart - answered < 64 * 500))
      return void known.deliveries++;
    const exchange: Exchange = { request: message, responses: [], deliveries: 1 };
    this.#open.set(key, exchange);
    this.exchanges.push(exchange);
  }
}
