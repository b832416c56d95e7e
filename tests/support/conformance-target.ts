import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaults } from '../../src/config/load.ts';
import type { DialplanConfig } from '../../src/config/schema.ts';
import { type RunningServer, startServer } from '../../src/main.ts';
import type { Usage } from '../../src/models/usage.ts';
import { mediaThreads } from './server.ts';
import { patienceMs } from './waiting.ts';

/**
 * The server that the conformance tests ask. `HOOKSWITCH_CONFORMANCE_URL` (ending in `/ari`) and
 * `HOOKSWITCH_CONFORMANCE_CREDENTIALS` (`user:password`) name any server of this interface whose dialplan has the
 * context `conformance` below; without them Hookswitch is started on ports of the system's choice, with answers and
 * events checked against their models.
 */
export type Target = {
  /** Ends in `/ari`. */
  readonly url: string;
  /** `user:password` of someone who may do everything. */
  readonly credentials: string;
  /** `user:password` of someone who may only look; undefined when the server asked has none that is known. */
  readonly reader: string | undefined;
  /** An origin that is allowed; undefined when none is known. */
  readonly origin: string | undefined;
  /** `address:port` where SIP is spoken over UDP and an endpoint `guest` at 127.0.0.1 enters the context `conformance` without a password. */
  readonly sip: string | undefined;
  /** Whether it is Hookswitch itself: then its own answers are expected where they differ from Asterisk's. */
  readonly ours: boolean;
  /** What Hookswitch holds; undefined of any other server. */
  usage?(): Promise<Usage>;
  close(): Promise<void>;
};

/** What the tests dial. Behind `a*` stands the application that the channel enters unanswered, behind `u*` answered. */
export const conformanceDialplan: DialplanConfig = {
  conformance: {
    wait: ['Answer', 'Wait(3600)'],
    silent: ['Wait(3600)'],
    ringing: ['Ringing', 'Wait(3600)'],
    slow: ['Ringing', 'Wait(0.05)', 'Answer', 'Wait(3600)'],
    busy: ['Busy'],
    hangup: ['Answer', 'Hangup(21)'],
    event: ['Answer', 'UserEvent(greeting,word: hello,number: 1)', 'Wait(3600)'],
    s: [{ label: 'here', app: 'Wait(3600)' }],
    over: ['NoOp(${STASISSTATUS})', 'Hangup(31)'],
    '_a*.': ['Stasis(${EXTEN:2},one,"two, three")', 'Set(AFTER=${STASISSTATUS})', 'Wait(3600)'],
    '_u*.': ['Answer', 'Stasis(${EXTEN:2})', 'Hangup(31)'],
  },
  default: { s: ['Answer', 'Wait(3600)'] },
};

/**
 * Opens the server to ask. Close it in the suite's `after`.
 * @param compatibility of Hookswitch; of no meaning to another server.
 */
export async function openTarget(compatibility: 'hookswitch' | 'asterisk' = 'hookswitch'): Promise<Target> {
  const url = process.env['HOOKSWITCH_CONFORMANCE_URL'];
  if (url === undefined) return startOwn(compatibility);
  const credentials = process.env['HOOKSWITCH_CONFORMANCE_CREDENTIALS'] ?? '';
  const close = () => Promise.resolve();
  return {
    url: url.replace(/\/$/, ''),
    credentials,
    reader: undefined,
    origin: undefined,
    sip: undefined,
    ours: false,
    close,
  };
}

async function startOwn(compatibility: 'hookswitch' | 'asterisk'): Promise<Target> {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-conformance-'));
  const config = defaults();
  Object.assign(config.general, {
    data_directory: directory,
    log_level: 'silent',
    validate: true,
    compatibility,
    channelvars: ['COLOUR'],
  });
  const user = (name: string, password: string, read_only: boolean) => ({ name, password, read_only });
  Object.assign(config.http, {
    port: 0,
    allowed_origins: ['https://desk.example.org'],
    users: [user('writer', 'secret:with colon', false), user('reader', 'glasses', true)],
  });
  config.sip.transports = [{ protocol: 'udp', bind: '127.0.0.1', port: 0 }];
  const { auth: _, ...open } = config.sip.endpoints['alice']!;
  config.sip.endpoints = {
    alice: { ...open, auth: { username: 'alice', password: 'a' } },
    guest: { ...open, match: ['127.0.0.1'], context: 'conformance' },
  };
  // A machine with much else to do is no client that is slow, no operation that takes long, and no thread that hangs.
  const patience = patienceMs / 1000;
  Object.assign(config.http.limits, {
    ...{ header_timeout: patience, request_timeout: patience, answer_timeout: patience },
  });
  Object.assign(config.media, { rtp_ports: [0, 0], thread_timeout: patience });
  if (mediaThreads > 0) config.media.threads = mediaThreads;
  config.recordings.directory = join(directory, 'recordings');
  config.dialplan = conformanceDialplan;
  // A test file keeps its client for as long as the process lives: that must not keep a closed server.
  let running: RunningServer | undefined = await startServer(config);
  const { http, sip } = running.addresses;
  return {
    url: http,
    credentials: 'writer:secret:with colon',
    reader: 'reader:glasses',
    origin: 'https://desk.example.org',
    sip: sip.udp?.[0],
    ours: true,
    usage: async () => {
      if (!running) throw new Error('the server is closed');
      return running.usage();
    },
    close: async () => {
      await running?.close();
      running = undefined;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
