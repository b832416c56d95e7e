import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { loadConfig, warnings } from '../../src/config/load.ts';
import { validate } from '../../src/dialplan/parse.ts';
import { startBaresip } from '../support/baresip.ts';
import { freePort } from '../support/free-port.ts';
import { startShippedKamailio } from '../support/kamailio.ts';
import { need } from '../support/need.ts';
import { onServer } from '../support/server.ts';

const compose = suite('Hookswitch behind Kamailio');

const fileOf = (name: string): string => fileURLToPath(new URL(`../../deploy/compose/${name}`, import.meta.url));
const kamailioFile = fileOf('kamailio.cfg');
const settings = {
  HOOKSWITCH_HTTP_BIND: '127.0.0.1',
  HOOKSWITCH_SIP_BIND: '127.0.0.1',
  HOOKSWITCH_RTP_ADDRESS: '127.0.0.1',
  HOOKSWITCH_PASSWORD: 'wonderland',
};

type Service = { volumes: string[]; environment?: Record<string, string>; command?: string[]; build?: string };

compose('the configuration is valid and warns of nothing, and the services are given what is there', () => {
  const config = loadConfig({ file: fileOf('hookswitch.yaml'), env: settings, checkDialplan: validate });
  assert.equal(warnings(config), []);
  const { services, volumes } = parse(readFileSync(fileOf('compose.yaml'), 'utf8')) as {
    services: Record<string, Service>;
    volumes: Record<string, unknown>;
  };
  assert.equal(Object.keys(services['hookswitch']?.environment ?? {}), Object.keys(settings));
  for (const { volumes: mounted } of Object.values(services))
    for (const [source = ''] of mounted.map((each) => each.split(':')))
      if (source.startsWith('./')) assert.ok(readFileSync(fileOf(source)).length > 0);
      else assert.ok(Object.hasOwn(volumes, source), source);
  assert.ok(readFileSync(join(fileOf(services['hookswitch']?.build ?? ''), 'Dockerfile')).length > 0);
  // Where Kamailio sends, Hookswitch listens.
  const [listen] = config.sip.transports;
  const [, port] = /#!define HOOKSWITCH_PORT (\d+)/.exec(readFileSync(kamailioFile, 'utf8')) ?? [];
  assert.equal([listen?.bind, String(listen?.port)], ['127.0.0.1', port]);
});

need('kamailio').test(
  compose,
  'Kamailio takes its configuration, and two phones call each other through it',
  async (program) => {
    const { dialplan, sip } = parse(readFileSync(fileOf('hookswitch.yaml'), 'utf8')) as {
      dialplan: Record<string, Record<string, string[]>>;
      sip: { endpoints: Record<string, { auth: { username: string } }> };
    };
    const endpoints = Object.fromEntries(
      Object.entries(sip.endpoints).map(([name, { auth, ...rest }]) => [
        name,
        { ...rest, auth: { ...auth, password: 'wonderland' }, aor: {} },
      ]),
    );
    await onServer({ dialplan, endpoints }, async (server) => {
      const outer = await freePort();
      const defines = {
        HOST_PORT: outer,
        INNER_PORT: await freePort(),
        HOOKSWITCH_PORT: server.sip().split(':')[1] ?? '',
      };
      server.closing(startShippedKamailio([program], kamailioFile, defines));

      const at = `127.0.0.1:${outer}`;
      const phone = need('baresip').path ?? 'baresip';
      const watcher = await server.app('watcher', { subscribeAll: true });
      await startBaresip(phone, server, 'bob', { at });
      const registered = await watcher.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'bob');
      assert.is(registered.contact_info.contact_status, 'NonQualified');
      await startBaresip(phone, server, 'alice', { at, command: `/dial sip:202@${at}` });
      const { bridge } = await watcher.waitFor('ChannelEnteredBridge', (event) => event.bridge.channels.length === 2);
      const figures = (id: string) =>
        watcher.ok<{ rxcount: number; txcount: number }>('GET', `/channels/${id}/rtp_statistics`);
      for (const id of bridge.channels)
        for (let seen = await figures(id); seen.rxcount < 20 || seen.txcount < 20; ) seen = await figures(id);
      const [alice = '', bob = ''] = bridge.channels;
      await watcher.ok('DELETE', `/channels/${bob}`);
      await watcher.waitFor('ChannelDestroyed', ({ channel: gone }) => gone.id === alice);
    });
  },
);

compose.run();
