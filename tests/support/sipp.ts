import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { patienceMs } from './waiting.ts';

/**
 * SIPp as the foreign phone of the end-to-end tests: scenarios in a few words, a run that fails with what was said on
 * the wire. Audio is not SIPp's: the SDP names a port of the test's own RTP peer.
 */

/** A step of a scenario, as XML. */
export type Step = string;

/** How long SIPp lets a whole scenario take, in s. */
const timeoutSeconds = 2 * (patienceMs / 1000);

const sdp = (mediaPort: number): string[] => [
  'v=0',
  'o=sipp 1 1 IN IP4 127.0.0.1',
  's=-',
  'c=IN IP4 127.0.0.1',
  't=0 0',
  `m=audio ${mediaPort} RTP/AVP 0 101`,
  'a=rtpmap:0 PCMU/8000',
  'a=rtpmap:101 telephone-event/8000',
  'a=fmtp:101 0-15',
];

/** One branch for an INVITE, its CANCEL and the ACK of its refusal (RFC 3261 9.1, 17.1.1.3). */
const inviteVia = (cseq: number): string =>
  `Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=z9hG4bK-[pid]-[call_number]-invite-${cseq};rport`;
const via = 'Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch];rport';
const contact = 'Contact: <sip:[local_ip]:[local_port];transport=[transport]>';
const withBody = (lines: string[]): string[] => [
  ...(lines.length > 0 ? ['Content-Type: application/sdp'] : []),
  'Content-Length: [len]',
  '',
  ...lines,
];

/** Sends lines as they stand; over UDP they are sent again until answered where `again` is set. */
export function send(lines: string[], { again = false, attributes = '' } = {}): Step {
  return `<send${again ? ' retrans="500"' : ''}${attributes}><![CDATA[\n\n${lines.join('\n')}\n\n]]></send>`;
}

/** Waits for a response or a request. */
export function receive(what: number | string, { optional = false, attributes = '', action = '' } = {}): Step {
  const kind = typeof what === 'number' ? 'response' : 'request';
  const body = action && `<action>${action}</action>`;
  return `<recv ${kind}="${what}"${optional ? ' optional="true"' : ''} rrs="true"${attributes}>${body}</recv>`;
}

/** Where `next="<at>"` of another step goes on. */
export const label = (at: number): Step => `<label id="${at}"/>`;

/** Does nothing for a time in ms, as people do. */
export const pause = (ms: number): Step => `<pause milliseconds="${ms}"/>`;

/** An INVITE to the service; without a media port it offers nothing. */
export function invite(options: { mediaPort?: number; from?: string; headers?: string[]; cseq?: number } = {}): Step {
  const { mediaPort, from = 'sipp', headers = [], cseq = 1 } = options;
  return send(
    [
      'INVITE sip:[service]@[remote_ip]:[remote_port] SIP/2.0',
      inviteVia(cseq),
      `From: "Tester" <sip:${from}@[local_ip]>;tag=[pid]-[call_number]`,
      'To: <sip:[service]@[remote_ip]:[remote_port]>',
      'Call-ID: [call_id]',
      `CSeq: ${cseq} INVITE`,
      contact,
      'Max-Forwards: 70',
      ...headers,
      ...withBody(mediaPort === undefined ? [] : sdp(mediaPort)),
    ],
    { again: true },
  );
}

/** A request inside the dialog of the INVITE that was answered; `again` for all but ACK. */
export function request(method: 'ACK' | 'BYE', cseq: number): Step {
  return send(
    [
      `${method} [next_url] SIP/2.0`,
      via,
      'From: "Tester" <sip:sipp@[local_ip]>;tag=[pid]-[call_number]',
      'To: <sip:[service]@[remote_ip]:[remote_port]>[peer_tag_param]',
      '[routes]',
      'Call-ID: [call_id]',
      `CSeq: ${cseq} ${method}`,
      'Max-Forwards: 70',
      'Content-Length: 0',
    ],
    { again: method !== 'ACK' },
  );
}

/** CANCEL of the INVITE, or the ACK of its refusal. */
export function sameBranch(method: 'ACK' | 'CANCEL'): Step {
  return send(
    [
      `${method} sip:[service]@[remote_ip]:[remote_port] SIP/2.0`,
      inviteVia(1),
      'From: "Tester" <sip:sipp@[local_ip]>;tag=[pid]-[call_number]',
      `To: <sip:[service]@[remote_ip]:[remote_port]>${method === 'ACK' ? '[peer_tag_param]' : ''}`,
      'Call-ID: [call_id]',
      `CSeq: 1 ${method}`,
      'Max-Forwards: 70',
      'Content-Length: 0',
    ],
    { again: method === 'CANCEL' },
  );
}

/** REGISTER of a user for the address that SIPp speaks from; with credentials when it was challenged before. */
export function register(user: string, options: { cseq: number; expires: number; authenticate?: boolean }) {
  const { cseq, expires, authenticate = false } = options;
  return send(
    [
      'REGISTER sip:[remote_ip]:[remote_port] SIP/2.0',
      via,
      `From: <sip:${user}@[remote_ip]>;tag=[pid]-[call_number]`,
      `To: <sip:${user}@[remote_ip]>`,
      'Call-ID: [call_id]',
      `CSeq: ${cseq} REGISTER`,
      contact,
      `Expires: ${expires}`,
      ...(authenticate ? ['[authentication]'] : []),
      'Max-Forwards: 70',
      'Content-Length: 0',
    ],
    { again: true },
  );
}

/** A response to the request received last. */
export function respond(status: number, reason: string, options: { mediaPort?: number; again?: boolean } = {}): Step {
  const { mediaPort, again = false } = options;
  return send(
    [
      `SIP/2.0 ${status} ${reason}`,
      '[last_Via:]',
      '[last_From:]',
      '[last_To:];tag=[pid]-[call_number]',
      '[last_Call-ID:]',
      '[last_CSeq:]',
      '[last_Record-route:]',
      contact,
      ...withBody(mediaPort === undefined ? [] : sdp(mediaPort)),
    ],
    { again },
  );
}

/** The answer to a request inside a dialog, whose To has its tag already; to an INVITE with a media port. */
export const confirm = ({ mediaPort, attributes = '' }: { mediaPort?: number; attributes?: string } = {}): Step =>
  send(
    [
      'SIP/2.0 200 OK',
      '[last_Via:]',
      '[last_From:]',
      '[last_To:]',
      '[last_Call-ID:]',
      '[last_CSeq:]',
      '[last_Record-Route:]',
      contact,
      ...withBody(mediaPort === undefined ? [] : sdp(mediaPort)),
    ],
    { again: mediaPort !== undefined, attributes },
  );

/** What may come before the final answer to an INVITE. */
export const provisional = (): Step => [100, 180, 183].map((status) => receive(status, { optional: true })).join('\n');

/** A caller (4711) that is answered and waits to be hung up. */
export const answered = (mediaPort: number): Step[] => [
  invite({ mediaPort, from: '4711' }),
  provisional(),
  receive(200),
  request('ACK', 1),
  receive('BYE'),
  confirm(),
];

/** One SIP message as SIPp saw it. */
export type SeenMessage = { direction: 'sent' | 'received'; text: string };

export type SippOptions = {
  /** Where the server is, `address:port`. */
  remote: string;
  steps: Step[];
  /** The number that is called. */
  service?: string;
  protocol?: 'udp' | 'tcp';
  /** SIP port of SIPp itself; chosen by the system when left out. */
  port?: number;
  /** Address of SIPp itself. */
  address?: string;
  /** Calls that it places, and how many a second. */
  calls?: number;
  rate?: number;
  credentials?: { user: string; password: string };
};

/** SIPp at work on one call, or on several at the same time. */
export class SippRun {
  /** Resolves when the scenario went as written. Rejects with what was said on the wire when it did not. */
  readonly done: Promise<void>;
  readonly #child: ChildProcess;
  readonly #directory: string;
  #log = '';

  constructor(program: string, options: SippOptions) {
    this.#directory = mkdtempSync(join(tmpdir(), 'hookswitch-sipp-'));
    const scenario = join(this.#directory, 'scenario.xml');
    const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<scenario name="test">\n${options.steps.join('\n')}\n</scenario>\n`;
    writeFileSync(scenario, xml);
    const { credentials, port, address = '127.0.0.1', calls = 1, rate = 10 } = options;
    const args = [
      ...[options.remote, '-sf', scenario, '-i', address, '-nostdin'],
      ...['-m', calls, '-l', calls, '-r', rate].map(String),
      ...['-t', options.protocol === 'tcp' ? 't1' : 'u1'],
      ...['-timeout', `${timeoutSeconds}s`, '-timeout_error'],
      ...['-trace_msg', '-message_file', this.#file('messages'), '-trace_err', '-error_file', this.#file('errors')],
      ...(options.service === undefined ? [] : ['-s', options.service]),
      ...(port === undefined ? [] : ['-p', String(port)]),
      ...(credentials ? ['-au', credentials.user, '-ap', credentials.password] : []),
    ];
    this.#child = spawn(program, args, { stdio: 'ignore', cwd: this.#directory });
    this.done = this.#ended();
    // Whoever waits sees the failure; a test that failed before must not fail twice.
    this.done.catch(() => {});
  }

  /** Every message so far, in order; complete once `done` has resolved. */
  messages(): SeenMessage[] {
    const parts = (this.#log || read(this.#file('messages'))).split(/^-{20,}.*$/m);
    return parts.flatMap((part) => {
      const head = /^\s*(?:UDP|TCP) message (sent|received)[^\n]*\n\n/.exec(part);
      return head ? [{ direction: head[1] as SeenMessage['direction'], text: part.slice(head[0].length) }] : [];
    });
  }

  /** The first message received that begins so, e.g. `SIP/2.0 183` or `BYE`. @throws Error when there is none. */
  received(beginning: string): string {
    const found = this.messages().find(({ direction, text }) => direction === 'received' && text.startsWith(beginning));
    if (!found) throw new Error(`SIPp has received no ${beginning}:\n${this.#log}`);
    return found.text;
  }

  /** What was said on the wire so far, for a test that failed. */
  explain(): string {
    return `SIPp:\n${this.#log || read(this.#file('messages'))}${read(this.#file('errors'))}`;
  }

  close(): void {
    this.#child.kill('SIGKILL');
  }

  #file(name: string): string {
    return join(this.#directory, `${name}.log`);
  }

  async #ended(): Promise<void> {
    const [code] = (await once(this.#child, 'close')) as [number | null];
    this.#log = read(this.#file('messages'));
    const errors = read(this.#file('errors'));
    rmSync(this.#directory, { recursive: true, force: true });
    if (code !== 0) throw new Error(`SIPp ended with ${code}:\n${errors}\n${this.#log}`);
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').replaceAll('\r\n', '\n');
  } catch {
    return '';
  }
}
