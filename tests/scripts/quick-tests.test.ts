import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const quick = suite('the tests of a quick run');
const { quickFiles } = (await import(new URL('../../scripts/quick-tests.mjs', import.meta.url).href)) as {
  quickFiles(files: readonly string[], root: string): string[];
};
const root = fileURLToPath(new URL('../..', import.meta.url));

quick('have charts, parsers and handlers, and nothing that starts a server, a socket or a process', () => {
  const files = [
    ...['tests/machines/channel.test.ts', 'tests/sip/message/uri.test.ts', 'tests/http/operations.test.ts'],
    ...['tests/e2e/page.test.ts', 'tests/http/outbound-socket.test.ts', 'tests/sip/transport/udp.test.ts'],
    ...['tests/stores/kept-map.test.ts', 'tests/media/threads.test.ts'],
  ];
  assert.equal(quickFiles(files, root), files.slice(0, 3));
});

quick.run();
