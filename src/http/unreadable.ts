import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { createTally } from '../lib/tally.ts';
import { AriError } from '../models/errors.ts';
import type { Responder } from './responses.ts';

/** How long a client may take, in s; names as in the configuration's `http.limits`. */
type ReadingLimits = { header_timeout: number; request_timeout: number };

/** Answers on a connection on which no request could be read, and closes it; never throws. */
export type Unreadable = (error: NodeJS.ErrnoException, socket: Socket, limits: ReadingLimits) => void;

type UnreadableDeps = {
  responder: Pick<Responder, 'bare'>;
  clock: Clock;
  log: Logger;
  /** Counts limits that were reached. */
  hit?: LimitHit | undefined;
};

/** Node keeps the answer under way where its own listener for such errors looks for it. */
type Answering = Socket & { _httpMessage?: ServerResponse | null };

/** The setting that cut off a client that was too slow: whether the head of its request had come decides. */
function slowLimit({ _httpMessage: answer }: Answering, limits: ReadingLimits): string {
  const reading = answer !== undefined && answer !== null && !answer.req.complete;
  const whole = reading || limits.request_timeout < limits.header_timeout;
  return whole ? 'http.limits.request_timeout' : 'http.limits.header_timeout';
}

/** Bytes that are looked at for the line of a request: as many as Asterisk takes of one. */
const longestLine = 4096;
const requestLine = /^[A-Z]+ \/[^\s]* HTTP\/1\.[01]\r\n/;

/** Whether the bytes look like a request with an unknown method (RFC 9110 9.1). */
const hasLine = (bytes: Uint8Array | undefined): boolean =>
  bytes !== undefined && requestLine.test(Buffer.from(bytes.subarray(0, longestLine)).toString('latin1'));

/** Node's record of bytes that its parser refused. */
type ParseError = NodeJS.ErrnoException & { rawPacket?: Uint8Array };

/** The answer, and the limit that was reached, if any; undefined for input that is not HTTP. */
function refusalOf(
  { code = '', rawPacket }: ParseError,
  socket: Socket,
  limits: ReadingLimits,
): { refusal: AriError; limit?: string } | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') return { refusal: new AriError('headersTooLarge'), limit: 'http.limits.headers' };
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return { refusal: new AriError('requestBodyTooLarge') };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { refusal: new AriError('requestTooSlow'), limit: slowLimit(socket, limits) };
  // The connection itself failed, or its TLS handshake did.
  if (!code.startsWith('HPE_')) return undefined;
  const isMethod = code === 'HPE_INVALID_METHOD' && hasLine(rawPacket);
  return { refusal: new AriError(isMethod ? 'methodInvalid' : 'requestUnreadable') };
}

/**
 * Handles requests that Node's parser refused: too large heads, too slow clients, and input that is not HTTP. The
 * statuses are Node's own (431, 408, 413, 400), and 405 for unknown methods.
 */
export function createUnreadable({ responder, clock, log, hit = uncounted }: UnreadableDeps): Unreadable {
  const tellLimit = createTally(clock, log, 'a request was cut off: it was too large or too slow to be read');
  const tellNonsense = createTally(clock, log, 'a connection was closed: what came was no request');
  return (error, socket: Answering, limits) => {
    // Further errors of a closing connection.
    if (socket.destroyed || socket.writableEnded) return;
    const found = refusalOf(error, socket, limits);
    if (!found) return void socket.destroy();
    const { refusal, limit } = found;
    const client = socket.remoteAddress;
    if (limit === undefined) tellNonsense({ client, reason: error.code });
    else {
      hit(limit);
      tellLimit({ client, limit });
    }
    // In the middle of an answer another one cannot be understood.
    if (socket._httpMessage?.headersSent) return void socket.destroy();
    socket.write(responder.bare(refusal));
    socket.destroySoon();
  };
}
