import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { propagation, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createTracing } from '../../src/watch/tracing.ts';
import { inWorld, type World } from './world.ts';

const tracing = suite('traces');
const seconds = 1_000;
const desk = ({ server }: World) => server.connect({ names: ['desk'], send: () => {}, describe: 'the test' });

/** Runs with the official SDK registered, whose spans are kept. */
async function traced(run: (spans: InMemorySpanExporter) => Promise<void>): Promise<void> {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  try {
    await run(exporter);
  } finally {
    trace.disable();
    propagation.disable();
    await provider.shutdown();
  }
}

/** Each span with the names of those above it, in the order in which they ended. */
function tree(exporter: InMemorySpanExporter): string[] {
  const spans = exporter.getFinishedSpans();
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  return spans.map((span) => {
    const above: string[] = [];
    for (let id = span.parentSpanContext?.spanId; id !== undefined; id = byId.get(id)?.parentSpanContext?.spanId)
      above.push(byId.get(id)?.name ?? 'outside');
    return [span.name, ...above].join(' < ');
  });
}

tracing('are made by nobody where no SDK is registered', () => {
  assert.is(
    createTracing('1', () => undefined),
    undefined,
  );
});

tracing(
  'a request goes on in the trace of its client, with what it leads to; a call has a span from its start to its end',
  () =>
    traced((exporter) =>
      inWorld(
        async (world) => {
          const { clock, call, ask, request, directory } = world;
          await clock.run(1 * seconds);
          desk(world);
          const out = call('desk');
          await clock.run(1 * seconds);
          const [channel] = await ask<{ id: string }[]>('GET', '/ari/channels');
          exporter.reset();
          const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
          const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
          await request('POST', `/ari/channels/${channel?.id}/answer`, undefined, {
            traceparent,
            'x-request-id': 'mine',
          });
          assert.equal(tree(exporter), [
            'effect answerLeg < POST /ari/channels/:channelId/answer < outside',
            'POST /ari/channels/:channelId/answer < outside',
          ]);
          const [effect, command] = exporter.getFinishedSpans();
          assert.equal([effect?.spanContext().traceId, command?.spanContext().traceId], [traceId, traceId]);
          assert.equal(command?.attributes, {
            ...{ 'http.request.method': 'POST', 'http.route': '/ari/channels/:channelId/answer' },
            ...{ 'url.path': `/ari/channels/${channel?.id}/answer`, 'enduser.id': 'tester' },
            ...{ 'hookswitch.request': 'mine', 'http.response.status_code': 204 },
          });
          assert.equal(effect?.attributes, { 'hookswitch.chart': 'channel', 'hookswitch.object': channel?.id });

          exporter.reset();
          await request('POST', '/ari/channels?endpoint=PJSIP/bob&app=desk&channelId=other', undefined, {
            traceparent,
          });
          await clock.run(1 * seconds);
          await ask('DELETE', '/ari/channels/other?reason=busy');
          await clock.run(1 * seconds);
          out.leg.hangup(16);
          await clock.run(1 * seconds);
          const spans = exporter.getFinishedSpans();
          const calls = spans.filter(({ name }) => name.startsWith('call '));
          assert.equal(
            tree(exporter).filter((line) => line.startsWith('call ')),
            ['call out < POST /ari/channels < outside', 'call in'],
          );
          // What links say is held against the span that they name.
          assert.equal(
            spans.find(({ name }) => name === 'effect hangupLeg')?.links.map(({ context }) => context.spanId),
            [calls[0]?.spanContext().spanId],
          );
          const {
            'hookswitch.protocol_id': _id,
            'hookswitch.channel.name': _name,
            ...told
          } = calls[0]?.attributes ?? {};
          assert.equal(told, {
            ...{ 'hookswitch.call': 'other', 'hookswitch.channel': 'other', 'hookswitch.technology': 'PJSIP' },
            ...{ 'hookswitch.endpoint': 'bob', 'hookswitch.from': '', 'hookswitch.to': 'bob' },
            ...{ 'hookswitch.ended_by': 'application', 'hookswitch.cause': 17 },
          });
          assert.equal(
            calls[1]?.events.map(({ name }) => name),
            ['entered', 'answered'],
          );
          await world.server.close();
          const records = readFileSync(join(directory, 'calls.jsonl'), 'utf8').split('\n').filter(Boolean);
          assert.equal(
            records.map((line) => (JSON.parse(line) as { traceparent: string }).traceparent),
            calls.map((span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`),
          );
          assert.is(calls[0]?.spanContext().traceId, traceId);
        },
        { watch: { cdr: { file: 'calls.jsonl' } } },
      ),
    ),
);

tracing('events say where in a trace they are: that of the request they follow from, else that of their call', () =>
  traced((exporter) =>
    inWorld(async (world) => {
      const { clock, call, ask, request, server } = world;
      await clock.run(1 * seconds);
      let heard: { type: string; traceparent?: string; tracestate?: string }[] = [];
      const send = (json: string) => void heard.push(JSON.parse(json) as (typeof heard)[number]);
      server.connect({ names: ['desk'], subscribeAll: true, send, describe: 'the test' });
      const told = () => {
        const events = heard.map(({ type, traceparent, tracestate }) => [type, traceparent, tracestate]);
        heard = [];
        return events.filter(([type]) => !['ChannelDialplan', 'ChannelVarset'].includes(type ?? ''));
      };
      /** Where the spans of that name are, the last one first. */
      const placesOf = (name: string): string[] =>
        exporter
          .getFinishedSpans()
          .filter((span) => span.name === name)
          .map((span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`)
          .reverse();

      const first = call('echo');
      await clock.run(1 * seconds);
      first.leg.hangup(16);
      await clock.run(1 * seconds);
      const [place] = placesOf('call in');
      assert.equal(told(), [
        ['ChannelCreated', place, undefined],
        ['DeviceStateChanged', undefined, undefined],
        ['EndpointStateChange', undefined, undefined],
        ['ChannelStateChange', place, undefined],
        ['ChannelHangupRequest', place, undefined],
        ['ChannelDestroyed', place, undefined],
        ['DeviceStateChanged', undefined, undefined],
        ['EndpointStateChange', undefined, undefined],
      ]);

      const second = call('desk');
      await clock.run(1 * seconds);
      const [{ id } = { id: '' }] = await ask<{ id: string }[]>('GET', '/ari/channels');
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      await request('POST', `/ari/channels/${id}/answer`, undefined, { traceparent, tracestate: 'shop=1' });
      await clock.run(1 * seconds);
      const events = told();
      second.leg.hangup(16);
      await clock.run(1 * seconds);
      const [other] = placesOf('call in');
      assert.equal(events, [
        ['ChannelCreated', other, undefined],
        ['DeviceStateChanged', undefined, undefined],
        ['EndpointStateChange', undefined, undefined],
        ['StasisStart', other, undefined],
        ['ChannelStateChange', placesOf('POST /ari/channels/:channelId/answer')[0], 'shop=1'],
      ]);
      await server.close();
    }),
  ),
);

tracing('a leg that the dialplan calls belongs to the trace of who calls', () =>
  traced((exporter) =>
    inWorld(async ({ clock, call, server }) => {
      await clock.run(1 * seconds);
      const out = call('201');
      await clock.run(2 * seconds);
      out.leg.hangup(16);
      await clock.run(1 * seconds);
      await server.close();
      const shown = tree(exporter);
      assert.equal(
        shown.filter((line) => line.startsWith('call ')),
        ['call out < call in', 'call in'],
      );
      assert.ok(shown.includes('effect dialLeg < call out < call in'), shown.join('\n'));
    }),
  ),
);

tracing.run();
