import { fileURLToPath } from 'node:url';
import { pageToken } from '../support/browser-pages.ts';
import { Command } from '../support/program.ts';
import { onServer } from '../support/server.ts';

/** A call of webrtcbin, which takes no ICE candidates of 127.0.0.1, in a network with another address. */
const [python = '', address = ''] = process.argv.slice(2);
const script = fileURLToPath(new URL('../support/webrtcbin.py', import.meta.url));

await onServer(
  { dialplan: { default: { echo: ['Answer', 'Echo'] } }, media: { rtp_address: address } },
  async (server) => {
    const whip = `${server.url.replace(/\/ari$/, '/hookswitch')}/webrtc?extension=echo`;
    const caller = server.closing(new Command(python, [script, whip, await pageToken(server, 'alice')]));
    await caller.until(/webrtcbin hears itself/);
    const client = server.client();
    for (const { id } of await client.ok<{ id: string }[]>('GET', '/channels'))
      await client.ok('DELETE', `/channels/${id}`);
  },
);
process.stdout.write('webrtcbin has heard itself\n');
process.exit(0);
