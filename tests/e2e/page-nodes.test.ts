import { suite } from 'uvu';
import { pageTests } from '../support/browser.ts';
import { NatsServer, NodeProcess } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';

/** The nodes of a cluster, in a real browser. */

const page = suite('the page of a node');
const test = pageTests(page);
const nats = need('nats-server');

let server: NatsServer | undefined;
let other: NodeProcess | undefined;
page.after(async () => {
  await other?.close();
  await server?.close();
});

if (nats.path)
  test(
    'all nodes of the cluster are shown, with their state and calls',
    async ({ open }) => {
      const app = await other!.app('shop');
      await app.ok('POST', '/channels?endpoint=Local/1000@default&app=shop');
      const shown = await open();
      await shown.getByRole('row', { name: /^other member 2 0 1 \d+ %$/ }).waitFor();
      await shown.getByText('The figures below are those of node here.').waitFor();
      await shown.getByRole('link', { name: 'Server', exact: true }).click();
      const nodes = shown.getByRole('table', { name: 'Nodes of the cluster' });
      await nodes.getByRole('row', { name: /^here \(this one\) member 0 0 1 \d+ %$/ }).waitFor();
      await nodes.getByRole('row', { name: /^other member 2 0 1 \d+ %$/ }).waitFor();
      other!.child.signal('SIGSTOP');
      await nodes.getByRole('row', { name: /^other (suspect|away) 2 / }).waitFor();
      other!.child.signal('SIGCONT');
      await nodes.getByRole('row', { name: /^other member 2 / }).waitFor();
      // The call of the other node is in the list, and followed to its end.
      await shown.getByRole('link', { name: 'Calls', exact: true }).click();
      const [start] = app.events.filter(({ type }) => type === 'StasisStart') as { channel: { id: string } }[];
      await shown.getByRole('link', { name: /node other · shop/ }).click();
      await shown.getByText('on node other, updated every 2 s').waitFor();
      await shown.locator('.object').first().waitFor();
      await app.ok('DELETE', `/channels/${start!.channel.id}`);
      await shown.getByText('on node other, updated every 2 s').waitFor({ state: 'detached' });
      await app.close();
    },
    async () => {
      server = await NatsServer.start(nats.path!);
      other = await NodeProcess.start('other', server.url);
      const times = { heartbeat: 0.2, suspect_after: 1, away_after: 3, retry: 0.2 };
      return { cluster: { nats: [server.url], name: 'here', ...times } };
    },
  );
else nats.test(page, 'all nodes of the cluster are shown, with their state and calls', () => {});

page.run();
