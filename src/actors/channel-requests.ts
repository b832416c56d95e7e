import { splitArguments } from '../dialplan/arguments.ts';
import { parseCallerId } from '../dialplan/caller-id.ts';
import type { Direction } from '../machines/channel-audio.ts';
import { AriError } from '../models/errors.ts';
import { type HangupReason, hangupReasons } from '../telephony/causes.ts';
import type { DigitSequence } from '../telephony/media.ts';
import type { Party } from '../telephony/party.ts';

/**
 * Parameters of requests about channels, read and checked. Every refusal is an AriError, and nothing has changed by
 * then.
 */

/** Longest id that a client may give a channel. */
export const longestChannelId = 149;

/** A variable as a request's body gives it. */
export type RequestedVariable = { name: string; value: string; report: boolean | undefined };

/**
 * Reads the `variables` object of a request: name to value, or to `{ value, report_events }`. Empty names are skipped.
 * @throws AriError variablesNotObject, variableValueMissing, variableReportEventsInvalid, variableValueInvalid.
 */
export function readVariables(variables: unknown): RequestedVariable[] {
  if (variables === undefined || variables === null) return [];
  if (typeof variables !== 'object' || Array.isArray(variables)) throw new AriError('variablesNotObject');
  const read: RequestedVariable[] = [];
  for (const [name, entry] of Object.entries(variables)) {
    const variable = readEntry(entry);
    if (name !== '') read.push({ name, ...variable });
  }
  return read;
}

function readEntry(entry: unknown): { value: string; report: boolean | undefined } {
  if (typeof entry === 'string') return { value: entry, report: undefined };
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) throw new AriError('variableValueInvalid');
  const { value, report_events: report } = entry as { value?: unknown; report_events?: unknown };
  if (typeof value !== 'string') throw new AriError('variableValueMissing');
  if (report !== undefined && typeof report !== 'boolean') throw new AriError('variableReportEventsInvalid');
  return { value, report };
}

/** @throws AriError endpointInvalid when it is not `technology/resource`. */
export function readEndpoint(endpoint: string): { technology: string; resource: string } {
  const slash = endpoint.indexOf('/');
  if (slash < 1 || slash === endpoint.length - 1) throw new AriError('endpointInvalid');
  return { technology: endpoint.slice(0, slash), resource: endpoint.slice(slash + 1) };
}

/** `"name" <number>` or a part of it; empty strings where nothing was given. */
export const readCaller = (callerId: string | undefined): Party => parseCallerId(callerId ?? '');

/** One comma string of arguments, as the dialplan splits them; none when it is empty or absent. */
export const readAppArgs = (appArgs: string | undefined): string[] => (appArgs ? splitArguments(appArgs) : []);

/** The formats of a comma list. @throws AriError formatNotFound for the first that `known` does not have. */
export function readFormats(formats: string | undefined, known: ReadonlySet<string>): string[] | undefined {
  if (!formats) return undefined;
  const wanted = formats.split(',').map((format) => format.trim().toLowerCase());
  for (const format of wanted) if (!known.has(format)) throw new AriError('formatNotFound', { format });
  return wanted;
}

/** Seconds until an originate is given up, as ms: 30 s unless a positive number is given; -1 never. */
export function originateTimeoutMs(timeout: number | undefined, never: number): number {
  if (timeout === -1) return never;
  return timeout !== undefined && timeout > 0 ? Math.min(timeout * 1000, never) : 30_000;
}

/**
 * The Q.850 cause of a hang-up request; 16 when it names none, or an empty one.
 * @throws AriError reasonAndReasonCode, reasonCodeInvalid, reasonInvalid.
 */
export function readHangupCause(request: { reason?: string | undefined; reason_code?: string | undefined }): number {
  const { reason, reason_code: code } = request;
  if (reason && code) throw new AriError('reasonAndReasonCode');
  if (code) {
    const cause = Number.parseInt(code, 10);
    if (!Number.isSafeInteger(cause)) throw new AriError('reasonCodeInvalid');
    return cause;
  }
  if (!reason) return hangupReasons.normal;
  if (!Object.hasOwn(hangupReasons, reason)) throw new AriError('reasonInvalid');
  return hangupReasons[reason as HangupReason];
}

/**
 * Digits as a client asks for them. 0 ms between or long means 100; characters that are no digit and no pause are
 * skipped, as Asterisk skips them. @throws AriError dtmfRequired.
 */
export function readDigits(request: {
  dtmf?: string | undefined;
  before?: number | undefined;
  between?: number | undefined;
  duration?: number | undefined;
  after?: number | undefined;
}): DigitSequence {
  if (!request.dtmf) throw new AriError('dtmfRequired');
  return {
    digits: request.dtmf.replaceAll(/[^0-9*#a-dA-DwW]/g, '').replaceAll(/[a-d]/g, (letter) => letter.toUpperCase()),
    beforeMs: Math.max(0, request.before ?? 0),
    betweenMs: request.between && request.between > 0 ? request.between : 100,
    durationMs: request.duration && request.duration > 0 ? request.duration : 100,
    afterMs: Math.max(0, request.after ?? 0),
  };
}

/** The direction to mute; default: both. @throws AriError directionInvalid. */
export function readDirection(direction: string | undefined): Direction {
  if (!direction) return 'both';
  if (direction !== 'both' && direction !== 'in' && direction !== 'out') throw new AriError('directionInvalid');
  return direction;
}

/**
 * The resource behind `technology/`, where to send a channel of that technology.
 * @throws AriError redirectEndpointRequired, redirectEndpointInvalid, redirectResourceMissing, redirectTechnologyMismatch.
 */
export function readRedirect(endpoint: string | undefined, channelTechnology: string): string {
  if (!endpoint) throw new AriError('redirectEndpointRequired');
  const slash = endpoint.indexOf('/');
  if (slash < 1) throw new AriError('redirectEndpointInvalid', { endpoint });
  const technology = endpoint.slice(0, slash);
  const resource = endpoint.slice(slash + 1);
  if (resource === '') throw new AriError('redirectResourceMissing', { endpoint });
  if (technology.toLowerCase() !== channelTechnology.toLowerCase())
    throw new AriError('redirectTechnologyMismatch', { technology, channelTechnology });
  return resource;
}
