import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const guide = suite('the guide to testing');

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(root, 'docs/guides/testing.md'), 'utf8');
const programs = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);

/** The application that the guide tests: it greets, and # hangs up. */
const application = `
import { connect } from 'hookswitch/client';
const { HOOKSWITCH_URL: url, HOOKSWITCH_USERNAME: username, HOOKSWITCH_PASSWORD: password } = process.env;
const ari = await connect({ url, username, password, app: 'hello' });
ari.on('ChannelDtmfReceived', ({ digit, channel }) => digit === '#' && ari.channels.hangup({ channelId: channel.id }).catch(() => {}));
ari.on('StasisStart', async ({ channel: { id: channelId } }) => {
  try {
    await ari.channels.answer({ channelId });
    await ari.channels.play({ channelId, media: 'sound:hello-world' });
  } catch {
    // The caller has gone.
  }
});`;

/** Runs code of the guide in a project with the package. */
function run(code: string): void {
  const place = mkdtempSync(join(tmpdir(), 'hookswitch-guide-'));
  try {
    mkdirSync(join(place, 'node_modules'));
    symlinkSync(root, join(place, 'node_modules/hookswitch'));
    writeFileSync(join(place, 'package.json'), JSON.stringify({ type: 'module' }));
    writeFileSync(join(place, 'my-application.js'), application);
    writeFileSync(join(place, 'test.js'), code);
    const { status, stdout, stderr } = spawnSync(process.execPath, ['test.js'], { cwd: place, encoding: 'utf8' });
    assert.is(status, 0, stdout + stderr);
  } finally {
    rmSync(place, { recursive: true });
  }
}

guide('has two programs, which are JavaScript', () => assert.is(programs.length, 2));

guide('its first test passes', () => run(programs[0] ?? ''));

guide('its disturbed calls find nothing in an application that survives', () =>
  run((programs[1] ?? '').replace("app: 'hello' },", "app: 'hello' },\n  most: 6,")),
);

guide('the client that it uses is smaller than 20,000 octets', () =>
  assert.ok(statSync(join(root, 'dist/client.js')).size < 20_000),
);

guide.run();
