import { headerKey } from './header-names.ts';
import { type RawHeaders, SipRequest, SipResponse } from './message.ts';
import { formatNameAddr, type NameAddr } from './name-addr.ts';
import { oneLine } from './scan.ts';
import { reasonPhrase } from './status.ts';
import { formatUri, type Uri } from './uri.ts';

export type HeaderLines = readonly (readonly [name: string, value: string])[];

type BuildRequestOptions = {
  readonly method: string;
  /** The Request-URI. */
  readonly uri: Uri | string;
  /** With its tag. */
  readonly from: NameAddr | string;
  readonly to: NameAddr | string;
  readonly callId: string;
  /** The sequence number; the method is the request's. */
  readonly cseq: number;
  /** 70 when left out (RFC 3261 8.1.1.6). */
  readonly maxForwards?: number | undefined;
  /** Route, top first. */
  readonly routes?: readonly (NameAddr | string)[] | undefined;
  readonly contact?: NameAddr | string | undefined;
  /** Other headers, in order. */
  readonly headers?: HeaderLines | undefined;
  readonly contentType?: string | undefined;
  readonly body?: string | Buffer | undefined;
};

export type BuildResponseOptions = {
  /** The registered phrase when left out. */
  readonly reason?: string | undefined;
  /** Added to To when the request has no tag there; left out for 100 (RFC 3261 8.2.6.2). */
  readonly toTag?: string | undefined;
  readonly contact?: NameAddr | string | undefined;
  readonly headers?: HeaderLines | undefined;
  readonly contentType?: string | undefined;
  readonly body?: string | Buffer | undefined;
};

/** A request with everything but Via, which the transaction layer puts on top (RFC 3261 8.1.1). */
export function buildRequest(options: BuildRequestOptions): SipRequest {
  const raw = emptyHeaders();
  for (const route of options.routes ?? []) add(raw, 'Route', addressText(route));
  add(raw, 'Max-Forwards', String(options.maxForwards ?? 70));
  add(raw, 'From', addressText(options.from));
  add(raw, 'To', addressText(options.to));
  add(raw, 'Call-ID', options.callId);
  add(raw, 'CSeq', `${options.cseq} ${options.method}`);
  const uri = typeof options.uri === 'string' ? options.uri : formatUri(options.uri);
  return new SipRequest({ method: options.method, text: uri }, finish(raw, options), bodyBytes(options.body));
}

/**
 * A response to a request, RFC 3261 8.2.6: Via, From, Call-ID, CSeq copied, To with a tag, Timestamp for 100; Record-Route
 * copied for 101-299, as it makes the dialog's route set (12.1.1).
 */
export function buildResponse(request: SipRequest, status: number, options: BuildResponseOptions = {}): SipResponse {
  const raw = emptyHeaders();
  for (const via of request.headerLines('Via')) add(raw, 'Via', via);
  if (status > 100 && status < 300)
    for (const route of request.headerLines('Record-Route')) add(raw, 'Record-Route', route);
  const to = request.header('To') ?? '';
  const addTag = options.toTag !== undefined && status > 100 && request.toTag === undefined;
  add(raw, 'From', request.header('From') ?? '');
  add(raw, 'To', addTag ? `${to};tag=${options.toTag}` : to);
  add(raw, 'Call-ID', request.callId);
  add(raw, 'CSeq', request.header('CSeq') ?? '');
  const timestamp = status === 100 ? request.header('Timestamp') : undefined;
  if (timestamp !== undefined) add(raw, 'Timestamp', timestamp);
  return new SipResponse(status, options.reason ?? reasonPhrase(status), finish(raw, options), bodyBytes(options.body));
}

/** Header names and values of an addressee, as text. */
function addressText(address: NameAddr | string): string {
  return typeof address === 'string' ? address : formatNameAddr(address);
}

function finish(
  raw: RawHeaders,
  options: Pick<BuildResponseOptions, 'contact' | 'headers' | 'contentType' | 'body'>,
): RawHeaders {
  if (options.contact !== undefined) add(raw, 'Contact', addressText(options.contact));
  for (const [name, value] of options.headers ?? []) add(raw, name, value);
  if (options.contentType !== undefined) add(raw, 'Content-Type', options.contentType);
  return raw;
}

function bodyBytes(body: string | Buffer | undefined): Buffer | undefined {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

function emptyHeaders(): RawHeaders {
  return { names: [], keys: [], values: [] };
}

function add(raw: RawHeaders, name: string, value: string): void {
  raw.names.push(oneLine(name));
  raw.keys.push(headerKey(name));
  raw.values.push(oneLine(value));
}
