// Starts the SDK of OpenTelemetry before the server: node --import ./deploy/opentelemetry/tracing.mjs dist/cli.js serve
// Spans go to the collector at OTEL_EXPORTER_OTLP_ENDPOINT; without one they are shown on standard output.

/** Loads a package that has to be installed where this file is; without it the server does not start. */
async function load(name) {
  try {
    return await import(name);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    process.stderr.write(`hookswitch: tracing needs a package that is not installed: npm install ${name}\n`);
    process.exit(1);
  }
}

const { BatchSpanProcessor, ConsoleSpanExporter, NodeTracerProvider } = await load('@opentelemetry/sdk-trace-node');
const exporter = process.env.OTEL_EXPORTER_OTLP_ENDPOINT
  ? new (await load('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter()
  : new ConsoleSpanExporter();
const provider = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 1_000 })],
});
provider.register();
