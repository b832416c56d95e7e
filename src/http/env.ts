import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import type { LoopDelay } from '../lib/loop-reader.ts';
import type { KeptAnswerSettings, KeptAnswers } from '../stores/kept-answers.ts';
import type { TokenSettings, Tokens } from '../stores/tokens.ts';
import type { Health } from '../watch/health.ts';
import type { Metrics } from '../watch/metrics.ts';
import type { AnswerCounts } from './answer-counts.ts';
import type { ConnectionLimits } from './connections.ts';
import type { Deps } from './deps.ts';
import type { PageDeps } from './page.ts';
import type { RequestFollowers } from './request-followers.ts';
import type { SessionSettings } from './sessions.ts';
import type { HttpUser } from './user.ts';

/** What every file of the interface is handed: its settings, the owners behind it, and what a request brings along. */

/** Settings of the interface; names and units as in the configuration's `http` and `general`. */
export type HttpOptions = {
  users: readonly HttpUser[];
  auth_realm: string;
  allowed_origins: readonly string[];
  pretty: boolean;
  validate: boolean;
  compatibility: 'hookswitch' | 'asterisk';
  /** WebSockets that servers open for audio. */
  media_sockets: {
    /** They give the password of a user. */
    log_in: boolean;
    /** Largest message that is taken of one, in octets. */
    message: number;
  };
  sessions: SessionSettings;
  tokens: TokenSettings;
  idempotency: KeptAnswerSettings;
  limits: ConnectionLimits & {
    /** Bytes of a request body. */
    body: number;
    /** How long an operation may take, in s. */
    answer_timeout: number;
    /** Passwords that may wait to be checked against a hash. */
    password_queue: number;
    /** Bytes of a message from a client on the WebSocket. */
    websocket_message: number;
    /** Bytes that a client may fall behind on events. */
    websocket_queue: number;
  };
};

/** Where lines of the audit log go; a line that cannot be written is counted there and told. */
export type AuditFile = {
  /** Whether there is one now. Asked at every request. */
  readonly on: boolean;
  write(line: string): void;
};

/** What those who watch over the server may ask it. */
export type Monitoring = {
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  health: Health;
  /** How late the event loop of the main thread was since this was last asked. */
  loopDelay(): LoopDelay;
  /** Networks whose members see metrics without credentials. Read at every request. */
  networks: { allowed: readonly string[] };
};

/** What the interface is made of. */
export type AppDeps = {
  owners: Deps;
  options: HttpOptions;
  /** `asterisk_id` of messages made here. */
  entityId: string;
  /** The page for people. */
  page: Pick<PageDeps, 'version' | 'files'>;
  /** Makes texts that nobody can guess. */
  secret(): string;
  /** Who hears of requests. */
  followers?: RequestFollowers | undefined;
  clock: Clock;
  log: Logger;
  /** Tokens that are kept; without it there are none. */
  tokens?: Tokens;
  /** Answers to requests with an `Idempotency-Key`; without it the header means nothing. */
  keptAnswers?: KeptAnswers;
  /** Takes the lines of the audit log; without it nobody writes down who did what. */
  audit?: AuditFile | undefined;
  /** Counts answers; without it none are. */
  answers?: AnswerCounts;
  /** Hears of the bounds that were met. */
  hit?: LimitHit | undefined;
  /** Without it there are neither metrics nor health. */
  monitoring?: Monitoring;
};

/** What a request brings along besides itself. */
export type Env = {
  Bindings: {
    /** Node's request, when it came over a socket. */
    incoming?: IncomingMessage;
    /** Where its answer goes, when it came over a socket and asks for no WebSocket. */
    outgoing?: ServerResponse;
    /** Carried over a WebSocket, so it cannot become one. */
    overWebSocket?: true;
    /** The body of a GET that came over a WebSocket. */
    getBody?: string;
    /** Whose request it is, when it came over a WebSocket that this system has opened. */
    localUser?: HttpUser;
    /** The application whose WebSocket it came over. */
    application?: string;
    /** Where that WebSocket leads. */
    peer?: string;
    /** What came behind the head of a request that asks for a WebSocket. */
    head?: Buffer;
    /** Set by the route when the connection becomes a WebSocket. */
    upgraded?: boolean;
  };
};
