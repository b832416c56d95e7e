import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Turn } from '../actors/turn.ts';
import type { Kind } from '../cluster/claims.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { TurnChanges } from '../lib/changes.ts';
import type { Clock } from '../lib/clock.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import type { LoopDelay, LoopReader } from '../lib/loop-reader.ts';
import type { AriError, AriErrorCode } from '../models/errors.ts';
import type { Recorder } from '../recorder/recorder.ts';
import type { KeptAnswers } from '../stores/kept-answers.ts';
import type { TokenSettings, Tokens } from '../stores/tokens.ts';
import type { Health } from '../watch/health.ts';
import type { Metrics } from '../watch/metrics.ts';
import type { TracedRequest } from '../watch/tracing.ts';
import type { AnswerCounts } from './answer-counts.ts';
import type { ConnectionLimits } from './connections.ts';
import type { Deps } from './deps.ts';
import type { PageDeps } from './page.ts';
import type { SessionSettings } from './sessions.ts';
import type { HttpUser } from './user.ts';

/** Types for all files of the interface: settings, owners, and the context of a request. */

/** Listeners of requests: steps follow from them, and they are recorded. */
export type RequestFollowers = {
  /** Carries a request out, so that what it leads to is known to follow from it. */
  following: Turn['following'];
  /** Records requests while it is on. */
  recorder?: Pick<Recorder, 'on' | 'requested' | 'isBehind' | 'settled'> | undefined;
  /** Tells traces of a request. @returns what to call when it is answered. Left out, nothing is traced. */
  traced?: ((request: TracedRequest) => (status: number) => void) | undefined;
  /** Put in front of the ids that are made here, so that those of two runs differ. */
  prefix: string;
};

/** Settings of the interface; names and units as in the configuration's `http` and `general`. */
export type HttpOptions = {
  users: readonly HttpUser[];
  auth_realm: string;
  allowed_origins: readonly string[];
  pretty: boolean;
  validate: boolean;
  /** A refusal as it leaves, from Hookswitch's own and the errors that the operation declares. */
  refusalForm: (refusal: AriError, declared: readonly AriErrorCode[]) => AriError;
  /** WebSockets that servers open for audio. */
  media_sockets: {
    /** They give the password of a user. */
    log_in: boolean;
    /** Largest message that is taken of one, in octets. */
    message: number;
  };
  sessions: SessionSettings;
  tokens: TokenSettings;
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

/** Destination of the audit log; it counts and reports lines that cannot be written. */
export type AuditFile = {
  /** Whether there is one now. Asked at every request. */
  readonly on: boolean;
  write(line: string): void;
};

/** Monitoring of the server: metrics and health. */
export type Monitoring = {
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  health: Health;
  /** How late the event loop of the main thread was since this reader last asked. */
  loopDelay(reader: LoopReader): LoopDelay;
  /** Networks whose members see metrics without credentials. Read at every request. */
  networks: { allowed: readonly string[] };
};

/** Parts of the interface. */
export type AppDeps = {
  owners: Deps;
  options: HttpOptions;
  /** `asterisk_id` of messages made here. */
  entityId: string;
  /** The page for people. */
  page: Pick<PageDeps, 'version' | 'files'>;
  /** Creates random secrets. */
  secret(): string;
  /** Listeners of requests. */
  followers?: RequestFollowers | undefined;
  clock: Clock;
  log: Logger;
  /** What requests change, and outputs that leave when it is written; left out: nothing is written. */
  changes?: Pick<TurnChanges, 'commit' | 'leave'> | undefined;
  /** Tokens that are kept; without it there are none. */
  tokens?: Tokens;
  /** Answers to requests with an `Idempotency-Key`; without it the header means nothing. */
  keptAnswers?: KeptAnswers;
  /** Destination of the audit log; left out: none. */
  audit?: AuditFile | undefined;
  /** Counts answers; without it none are. */
  answers?: AnswerCounts;
  /** Counts limits that were reached. */
  hit?: LimitHit | undefined;
  /** The cluster that this server is a node of, and whether this node has an object; left out: none. */
  cluster?:
    | {
        cluster: Cluster;
        isHere(kind: Kind, id: string): boolean;
        isOnline(endpoint: string): boolean | undefined;
        isActive(application: string): boolean;
      }
    | undefined;
  /** Left out: neither metrics nor health. */
  monitoring?: Monitoring;
};

/** Context of a request. */
export type Env = {
  Bindings: {
    /** Node's request, when it came over a socket. */
    incoming?: IncomingMessage;
    /** The response, if the request came over a socket and is no upgrade. */
    outgoing?: ServerResponse;
    /** Carried over a WebSocket, so it cannot become one. */
    overWebSocket?: true;
    /** The body of a GET that came over a WebSocket. */
    getBody?: string;
    /** Whose request it is, when it came over a WebSocket that this system has opened, or from another node. */
    localUser?: HttpUser;
    /** Another node of the cluster has let it in and decided that it is carried out here. */
    forwarded?: true;
    /** The application whose WebSocket it came over. */
    application?: string;
    /** Address of the WebSocket's peer. */
    peer?: string;
    /** Bytes after the head of an upgrade request. */
    head?: Buffer;
    /** Set by the route when the connection becomes a WebSocket. */
    upgraded?: boolean;
  };
};
