import {
  type Attributes,
  type Context,
  context,
  defaultTextMapGetter,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { CallLeg } from '../actors/call-leg.ts';
import type { CallEnd, CallListener } from '../actors/call-story.ts';
import type { EffectWatch } from '../actors/turn.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { TraceFields } from '../models/events.ts';

/** A request of a client, as traces show it. */
export type TracedRequest = {
  id: string;
  method: string;
  /** Its path with names in place of ids, e.g. `/ari/channels/:channelId/answer`. */
  route: string;
  path: string;
  user: string;
  /** Its headers, in which it may say where in a trace it is. */
  header(name: string): string | undefined;
};

/** Spans of calls, requests and effects, for the SDK of OpenTelemetry that the process was started with. */
export interface Tracing {
  readonly calls: CallListener;
  /** A request was let in. @returns what to call when it is answered. */
  request(request: TracedRequest): (status: number) => void;
  readonly effects: EffectWatch;
  /** The headers that say where in a trace the call of a channel is; none when it is in none. */
  headersOf(channel: string): Record<string, string>;
  /**
   * The same for an event that follows from a request or concerns a channel (W3C Trace Context). The request's context
   * is used while it is known, else the call's; undefined without one.
   */
  fieldsOf(request: string | undefined, channel: string | undefined): TraceFields | undefined;
}

/** Requests that are remembered, so that late consequences belong to them. */
const mostRequests = 10_000;

/** Our name for OpenTelemetry. */
const name = 'hookswitch';

/**
 * Creates tracing; undefined without a registered SDK.
 * @param requestOf the request that the present step follows from.
 */
const within = (span: Span): Context => trace.setSpan(ROOT_CONTEXT, span);

/** As the SDK writes it into headers. */
const written = (place: Context | undefined): Record<string, string> => {
  const headers: Record<string, string> = {};
  if (place) propagation.inject(place, headers);
  return headers;
};

/** Spans of legs. @param parentOf the context that a leg follows from. */
const callSpans = (tracer: Tracer, legs: SlotMap<string, Span>, parentOf: (leg: CallLeg) => Context): CallListener => ({
  // A request may create a Local channel with events for applications.
  hearsInternal: () => true,
  began(leg) {
    const kind = leg.direction === 'in' ? SpanKind.SERVER : SpanKind.CLIENT;
    legs.set(
      leg.channel,
      tracer.startSpan(`call ${leg.direction}`, { kind, attributes: partiesOf(leg) }, parentOf(leg)),
    );
  },
  answered: ({ channel }) => void legs.get(channel)?.addEvent('answered'),
  entered: ({ channel }, application) =>
    void legs.get(channel)?.addEvent('entered', { 'hookswitch.application': application }),
  joined({ channel, call }, was) {
    const span = legs.get(channel);
    span?.addEvent('joined', { 'hookswitch.was': was });
    span?.setAttribute('hookswitch.call', call);
    const other = legs.get(call)?.spanContext();
    if (other) span?.addLink({ context: other });
  },
  ended({ channel }, end) {
    const span = legs.get(channel);
    span?.setAttributes(endOf(end));
    if (end.by === 'fault') span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
    legs.delete(channel);
  },
});

export function createTracing(version: string, requestOf: () => string | undefined): Tracing | undefined {
  const provider = trace.getTracerProvider();
  if (provider instanceof ProxyTracerProvider && provider.getDelegateTracer(name) === undefined) return undefined;
  const tracer = provider.getTracer(name, version);
  /** By channel. */
  const legs = new SlotMap<string, Span>();
  /** By request id; the oldest go. */
  const requests = new SlotMap<string, Context>();

  const causeOf = (): Context | undefined => {
    const id = requestOf();
    return id === undefined ? undefined : requests.get(id);
  };
  const callOf = (channel: string): Context | undefined => {
    const span = legs.get(channel);
    return span && within(span);
  };

  // A leg that a request made follows from that; one of an older call from the leg that this began with.
  const calls = callSpans(
    tracer,
    legs,
    (leg) => causeOf() ?? (leg.call === leg.channel ? undefined : callOf(leg.call)) ?? ROOT_CONTEXT,
  );

  return {
    calls,

    request({ id, method, route, path, user, header }) {
      // A request that an instrumentation of HTTP has a span for already follows from that.
      const active = context.active();
      const carrier = { traceparent: header('traceparent'), tracestate: header('tracestate') };
      const parent = trace.getSpan(active) ? active : propagation.extract(active, carrier, defaultTextMapGetter);
      const attributes = {
        'http.request.method': method,
        'http.route': route,
        'url.path': path,
        'enduser.id': user,
        'hookswitch.request': id,
      };
      const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
      requests.delete(id);
      requests.set(id, within(span));
      const [oldest] = requests.keys();
      if (requests.size > mostRequests && oldest !== undefined) requests.delete(oldest);
      return (status) => {
        span.setAttribute('http.response.status_code', status);
        if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      };
    },

    effects(actor, effect, run) {
      const call = legs.get(actor.id);
      const parent = causeOf() ?? (call && within(call));
      if (!parent) return run();
      const attributes = { 'hookswitch.chart': actor.chart, 'hookswitch.object': actor.id };
      const links = call ? [{ context: call.spanContext() }] : [];
      const span = tracer.startSpan(`effect ${effect}`, { attributes, links }, parent);
      try {
        run();
      } catch (error) {
        span.recordException(error as Error);
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },

    headersOf: (channel) => written(callOf(channel)),

    fieldsOf(request, channel) {
      const asked = request === undefined ? undefined : requests.get(request);
      const { traceparent, tracestate } = written(asked ?? (channel === undefined ? undefined : callOf(channel)));
      return traceparent === undefined ? undefined : { traceparent, ...(tracestate && { tracestate }) };
    },
  };
}

const partiesOf = ({ channel, call, name, technology, endpoint, from, to, protocolId }: CallLeg): Attributes => ({
  'hookswitch.call': call,
  'hookswitch.channel': channel,
  'hookswitch.channel.name': name,
  'hookswitch.technology': technology,
  ...(endpoint === undefined ? {} : { 'hookswitch.endpoint': endpoint }),
  'hookswitch.from': from.number,
  'hookswitch.to': to,
  'hookswitch.protocol_id': protocolId,
});

const endOf = ({ by, cause, techCause }: CallEnd): Attributes => ({
  'hookswitch.ended_by': by,
  'hookswitch.cause': cause,
  ...(techCause === undefined ? {} : { 'hookswitch.sip_status': techCause }),
});
