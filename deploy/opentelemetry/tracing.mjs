// Starts the SDK of OpenTelemetry before the server: node --import ./deploy/opentelemetry/tracing.mjs dist/cli.js serve
// Spans go to the collector at OTEL_EXPORTER_OTLP_ENDPOINT; without one they are shown on standard output.
import { BatchSpanProcessor, ConsoleSpanExporter, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const exporter = process.env.OTEL_EXPORTER_OTLP_ENDPOINT
  ? new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter()
  : new ConsoleSpanExporter();
const provider = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 1_000 })],
});
provider.register();
