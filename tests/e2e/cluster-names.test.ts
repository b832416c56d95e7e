import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import { startBaresipProgram } from '../support/baresip.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { DnsServer } from '../support/dns-server.ts';
import { need } from '../support/need.ts';
import { untilAsked } from '../support/waiting.ts';

/** Phones that find the nodes of a cluster by SRV records (RFC 3263), without a proxy in front. */
const names = suite('nodes by SRV records');
const nats = need('nats-server');
const baresip = need('baresip');

/** It registers again soon. */
const alice = { auth: { username: 'alice', password: 'wonder' }, aor: { minimum_expiration: 5 } };

baresip.test(
  names,
  'a phone registers at another node when its own is lost, and is called there',
  async (phoneProgram) => {
    const cluster = await TestCluster.start(
      nats.path!,
      ['a', 'b', 'c'],
      { request_timeout: 10 },
      { endpoints: { alice } },
    );
    const order = ['a', 'b', 'c'];
    const dns = new DnsServer({
      'pbx.test': [],
      '_sip._tcp.pbx.test': order.map((name, priority) => ({
        ...{
          type: 'SRV',
          priority,
          weight: 1,
          port: Number(cluster.node(name).sip.split(':')[1]),
          name: `${name}.pbx.test`,
        },
      })),
      ...Object.fromEntries(order.map((name) => [`${name}.pbx.test`, [{ type: 'A', address: '127.0.0.1' }]])),
    });
    const address = await dns.start();
    const phone = await startBaresipProgram(phoneProgram, {
      account: '<sip:alice@pbx.test;transport=tcp>;auth_user=alice;auth_pass=wonder;regint=5;answermode=auto',
      settings: [`dns_server ${address}`, 'dns_getaddrinfo no'],
    });
    try {
      /** A node that is gone has no phones. */
      const isRegistered = (): Promise<void> =>
        untilAsked(
          async () =>
            ((await (await cluster.node('c').ask('GET', '/hookswitch/contacts')).json()) as object[]).length > 0,
          () => `the phone is not registered: ${phone.written}`,
        );
      await isRegistered();
      await cluster.node('a').child.end('SIGKILL');
      await cluster.sees(cluster.node('c'), { a: 'away', b: 'member' });
      await isRegistered();
      const app = await cluster.node('c').app('shop');
      const up = app.waitFor('StasisStart');
      await app.ok<Channel>('POST', '/channels?endpoint=PJSIP/alice&app=shop');
      assert.is((await up).channel.state, 'Up');
      assert.ok((await up).channel.id.startsWith('b~'));
    } catch (error) {
      cluster.tell();
      throw error;
    } finally {
      await phone.close();
      dns.close();
      await cluster.close();
    }
  },
);

names.run();
