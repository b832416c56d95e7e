/**
 * The phones of the media benchmark, all in one process: places calls over one UDP socket with as little SIP as will
 * do, then sends G.711 from one RTP socket per call and checks what comes back. Started by media-calls.ts; asked by IPC
 * messages (CallerTask), answers each with three reports: `up`, `sent`, `over`. It is a server that sends back, too.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { EchoAudio, type EchoFigures } from './echo-audio.ts';
import type { Hearing, Scenario } from './media-scenarios.ts';

export type CallerTask = {
  sip: string;
  calls: number;
  seconds: number;
  /** Ports to send to directly, without SIP. */
  ports?: number[];
  extension?: Scenario['extension'];
  hearing?: Hearing;
  /** Calls are joined before anything is said: it begins with a message of any kind. They are hung up with the next. */
  waits?: boolean;
};

/** Results of the packets, and calls set up per second. */
export type CallerFigures = EchoFigures & { setupPerSecond: number };

export type CallerReport =
  | { type: 'up'; echoPort: number }
  | { type: 'sent'; figures: CallerFigures }
  | { type: 'over' };

const address = '127.0.0.1';
/** Time for the server to start receiving, in ms. */
const leadMs = 20;
/** Time between two attempts to have a message answered (RFC 3261 T1), and between two new calls. */
const repeatMs = 500;
const betweenCallsMs = 2;

type Call = {
  number: number;
  rtp: Socket;
  /** To of the answer, with its tag; '' until then. */
  to: string;
  /** The server's audio port. */
  remotePort: number;
  answered: (() => void) | undefined;
};

const literalAddress = {
  type: 'udp4',
  lookup: (host: string, _options: object, told: LookupTold) => told(null, host, 4),
} as const;
type LookupTold = (error: null, address: string, family: number) => void;

async function openSocket(): Promise<Socket> {
  const socket = createSocket(literalAddress as never);
  // The address is literal, so that the socket may be listening before `bind` returns.
  const listening = once(socket, 'listening');
  socket.bind(0, address);
  await listening;
  return socket;
}

class Caller {
  readonly #task: CallerTask;
  readonly #sip: Socket;
  readonly #calls: Call[] = [];
  readonly #run = Math.floor(performance.now() * 1000).toString(36);
  readonly #audio: EchoAudio;
  #setupPerSecond = 0;

  private constructor(task: CallerTask, sip: Socket) {
    this.#task = task;
    this.#sip = sip;
    this.#audio = new EchoAudio(task.calls, task.seconds);
    sip.on('message', (data) => this.#hearSip(data.toString('latin1')));
  }

  static async open(task: CallerTask): Promise<Caller> {
    return new Caller(task, await openSocket());
  }

  /** Places all calls, one every few ms; resolves when every one is answered. */
  async placeCalls(): Promise<void> {
    const begun = performance.now();
    const answers: Promise<void>[] = [];
    for (let number = 0; number < this.#task.calls; number++) {
      const rtp = await openSocket();
      const call: Call = { number, rtp, to: '', remotePort: 0, answered: undefined };
      rtp.on('message', (packet) => this.#hearRtp(call, packet));
      this.#calls.push(call);
      const port = this.#task.ports?.[number];
      if (port !== undefined) {
        call.remotePort = port;
        continue;
      }
      answers.push(this.#ask(call, () => this.#request(call, 'INVITE', 1)));
      await new Promise((next) => setTimeout(next, betweenCallsMs));
    }
    await Promise.all(answers);
    this.#setupPerSecond = (this.#task.calls * 1000) / (performance.now() - begun);
  }

  /** Sends the audio; calls begin spread over 20 ms and keep their own grid. Resolves when the last echo had its time. */
  async talk(): Promise<CallerFigures> {
    await this.#audio.sendAll(leadMs, (number, packet) => {
      const { rtp, remotePort } = this.#calls[number]!;
      rtp.send(packet, remotePort, address);
    });
    await new Promise((rest) => setTimeout(rest, repeatMs));
    return { ...this.#audio.figures(), setupPerSecond: this.#setupPerSecond };
  }

  async hangUp(): Promise<void> {
    const placed = this.#task.ports ? [] : this.#calls;
    await Promise.all(placed.map((call) => this.#ask(call, () => this.#request(call, 'BYE', 2))));
    for (const { rtp } of this.#calls) rtp.close();
    this.#sip.close();
  }

  /* ---- SIP: requests as text, repeated until a final answer ------------------------------------------------------- */

  #ask(call: Call, request: () => string): Promise<void> {
    const text = request();
    const send = () => this.#sendSip(text);
    return new Promise((resolve) => {
      const timer = setInterval(send, repeatMs);
      call.answered = () => {
        clearInterval(timer);
        call.answered = undefined;
        resolve();
      };
      send();
    });
  }

  #request(call: Call, method: string, cseq: number): string {
    const own = `${address}:${this.#sip.address().port}`;
    const branch = `z9hG4bK${this.#run}-${call.number}-${method}`;
    const user = this.#task.extension === 'numbered' ? `m${call.number}` : 'echo';
    const body = method === 'INVITE' ? this.#offer(call) : '';
    return [
      `${method} sip:${user}@${this.#task.sip} SIP/2.0`,
      `Via: SIP/2.0/UDP ${own};branch=${branch};rport`,
      `From: <sip:bench@${address}>;tag=${call.number}`,
      `To: ${call.to || `<sip:${user}@${this.#task.sip}>`}`,
      `Call-ID: ${this.#run}-${call.number}`,
      `CSeq: ${cseq} ${method}`,
      `Contact: <sip:${own}>`,
      'Max-Forwards: 70',
      ...(body ? ['Content-Type: application/sdp'] : []),
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
  }

  #offer({ rtp }: Call): string {
    const connection = `IN IP4 ${address}`;
    const media = `m=audio ${rtp.address().port} RTP/AVP 0`;
    return ['v=0', `o=- 1 1 ${connection}`, 's=-', `c=${connection}`, 't=0 0', media, 'a=rtpmap:0 PCMU/8000', ''].join(
      '\r\n',
    );
  }

  #sendSip(text: string): void {
    const [host = '', port] = this.#task.sip.split(':');
    this.#sip.send(text, Number(port), host);
  }

  #hearSip(text: string): void {
    const status = Number(/^SIP\/2\.0 (\d+)/.exec(text)?.[1] ?? 0);
    const call = this.#calls[Number(/^From:.*;tag=(\d+)/m.exec(text)?.[1] ?? -1)];
    if (status < 200 || !call) return;
    const isInvite = /^CSeq: 1 INVITE/m.test(text);
    // A server that has given up a call does not know its end; earlier results count.
    if (status !== 200 && (isInvite || status !== 481)) throw new Error(`a call was refused: ${text}`);
    if (isInvite) {
      call.to = /^To: (.*)\r$/m.exec(text)?.[1] ?? '';
      call.remotePort = Number(/^m=audio (\d+)/m.exec(text)?.[1]);
      this.#sendSip(this.#request(call, 'ACK', 1));
    }
    call.answered?.();
  }

  #hearRtp(call: Call, packet: Buffer): void {
    // RTCP for the call whose port is one lower: the system gave us neighbouring ports (RFC 5761 4).
    if (packet[1]! >= 192 && packet[1]! <= 223) return;
    const { number } = call;
    switch (this.#task.hearing) {
      case 'neighbour':
        this.#audio.hear(number ^ 1, packet, number);
        return;
      case 'mix':
        this.#audio.hearMixed(number, packet);
        return;
      default:
        this.#audio.hear(number, packet);
    }
  }
}

const report = (what: CallerReport): void => void process.send!(what);

/** A server of external media: what it hears it sends back. */
const echo = await openSocket();
echo.on('message', (packet, { port, address: from }) => {
  if (packet[1]! < 192 || packet[1]! > 223) echo.send(packet, port, from);
});

process.on('message', async (task: CallerTask | 'talk' | 'hangUp') => {
  if (typeof task === 'string') return;
  const caller = await Caller.open(task);
  await caller.placeCalls();
  const asked = () => once(process as unknown as NodeJS.EventEmitter, 'message');
  const joined = task.waits && asked();
  report({ type: 'up', echoPort: echo.address().port });
  await joined;
  const figures = await caller.talk();
  // The figures are read first: hanging up must not count as packet cost.
  const measured = asked();
  report({ type: 'sent', figures });
  await measured;
  await caller.hangUp();
  report({ type: 'over' });
});
report({ type: 'over' });
