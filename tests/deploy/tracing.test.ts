import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const file = fileURLToPath(new URL('../../deploy/opentelemetry/tracing.mjs', import.meta.url));

/** Starts a program that does nothing, with tracing; in a directory without packages unless another file is named. */
function start(tracing: string, env: Record<string, string>) {
  const { status, stderr } = spawnSync(process.execPath, ['--import', tracing, '--eval', ''], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    encoding: 'utf8',
  });
  return { status, stderr };
}

test('tracing without its packages says which one to install', () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-tracing-'));
  try {
    cpSync(file, join(directory, 'tracing.mjs'));
    const says = (name: string) => ({
      status: 1,
      stderr: `hookswitch: tracing needs a package that is not installed: npm install ${name}\n`,
    });
    assert.equal(start(join(directory, 'tracing.mjs'), {}), says('@opentelemetry/sdk-trace-node'));
    const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    assert.equal(start(file, collector), says('@opentelemetry/exporter-trace-otlp-proto'));
    assert.equal(start(file, {}), { status: 0, stderr: '' });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test.run();
