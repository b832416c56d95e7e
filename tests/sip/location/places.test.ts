import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNameServer } from '../../../src/build/name-server.ts';
import { cachedNames } from '../../../src/sip/location/cached-names.ts';
import type { NameServer, NaptrRecord, SrvRecord } from '../../../src/sip/location/names.ts';
import { type LocationLimits, placesOf } from '../../../src/sip/location/places.ts';
import { parseUri, type SipUri } from '../../../src/sip/message/uri.ts';
import type { Protocol } from '../../../src/sip/transport/kind.ts';
import { DnsServer } from '../../support/dns-server.ts';
import { ManualClock } from '../../support/manual-clock.ts';

type Zone = {
  naptr?: Record<string, NaptrRecord[]>;
  srv?: Record<string, SrvRecord[]>;
  addresses?: Record<string, string[]>;
};

const namesOf = ({ naptr = {}, srv = {}, addresses = {} }: Zone): NameServer => ({
  naptr: async (name) => naptr[name] ?? [],
  srv: async (name) => srv[name] ?? [],
  addresses: async (name) => (addresses[name] ?? []).map((address) => ({ address, ttl: 60 })),
});

const server = (name: string, priority = 1, weight = 0, port = 5060): SrvRecord => ({ name, priority, weight, port });

const zone: Zone = {
  naptr: {
    'example.com': [
      { order: 20, preference: 1, service: 'SIP+D2U', replacement: '_sip._udp.example.com' },
      { order: 10, preference: 9, service: 'SIP+D2T', replacement: '_sip._tcp.example.com' },
      { order: 10, preference: 5, service: 'SIPS+D2T', replacement: '_sips._tcp.example.com' },
      { order: 1, preference: 1, service: 'E2U+email', replacement: 'example.com' },
    ],
  },
  srv: {
    '_sip._udp.example.com': [server('two.example.com', 2), server('one.example.com', 1)],
    '_sip._tcp.example.com': [server('one.example.com', 1, 0, 5070)],
    '_sips._tcp.example.com': [server('one.example.com', 1, 0, 5071)],
    '_sip._tcp.only-tcp.example.org': [server('two.example.com')],
    '_sip._udp.none.example.org': [server('.')],
  },
  addresses: {
    'one.example.com': ['192.0.2.1', '2001:db8::1'],
    'two.example.com': ['192.0.2.2'],
    'none.example.org': ['192.0.2.9'],
  },
};

type Options = {
  speaks?: Protocol[];
  ipv6?: boolean;
  random?: number;
  names?: NameServer;
  limits?: LocationLimits;
};

/** Where a URI leads, as text. */
async function found(
  uri: string,
  {
    speaks = ['udp', 'tcp', 'tls'] as Protocol[],
    ipv6 = true,
    random = 0,
    names = namesOf(zone),
    ...more
  }: Options = {},
): Promise<string[]> {
  const places = await placesOf(parseUri(uri) as SipUri, {
    names,
    speaks: (protocol, address) => speaks.includes(protocol) && (ipv6 || !address?.includes(':')),
    random: () => random,
    ...more,
  });
  return places.map(
    ({ protocol, address, port, serverName }) =>
      `${protocol} ${address} ${port}${serverName ? ` as ${serverName}` : ''}`,
  );
}

const table: [uri: string, places: string[], options?: Parameters<typeof found>[1]][] = [
  // Literal addresses and ports ask nobody.
  ['sip:192.0.2.7', ['udp 192.0.2.7 5060']],
  ['sip:[2001:db8::7];transport=tcp', ['tcp 2001:db8::7 5060']],
  ['sips:192.0.2.7', ['tls 192.0.2.7 5061']],
  ['sip:a@example.com;maddr=192.0.2.8', ['udp 192.0.2.8 5060']],
  ['sip:one.example.com:5099', ['udp 192.0.2.1 5099', 'udp 2001:db8::1 5099']],
  ['sips:one.example.com:5099', ['tls 192.0.2.1 5099 as one.example.com', 'tls 2001:db8::1 5099 as one.example.com']],
  // The domain's preference, and what of it we speak; over TLS it is the domain that is proved.
  ['sip:example.com', ['tls 192.0.2.1 5071 as example.com', 'tls 2001:db8::1 5071 as example.com']],
  ['sip:example.com', ['tcp 192.0.2.1 5070', 'tcp 2001:db8::1 5070'], { speaks: ['udp', 'tcp'] }],
  ['sip:example.com', ['udp 192.0.2.1 5060', 'udp 192.0.2.2 5060'], { speaks: ['udp'], ipv6: false }],
  ['sips:example.com', ['tls 192.0.2.1 5071 as example.com'], { ipv6: false }],
  ['sip:example.com;transport=udp', ['udp 192.0.2.1 5060', 'udp 192.0.2.2 5060'], { ipv6: false }],
  // Without NAPTR: what there are servers for; without those: UDP.
  ['sip:only-tcp.example.org', ['tcp 192.0.2.2 5060']],
  ['sip:one.example.com', ['udp 192.0.2.1 5060', 'udp 2001:db8::1 5060']],
  ['sip:none.example.org', ['udp 192.0.2.9 5060']],
  ['sip:unknown.example.org', []],
  ['sips:example.com;transport=udp', []],
  ['sip:example.com;transport=sctp', []],
];

for (const [uri, places, options] of table)
  test(`${uri} leads to ${places.join(', ') || 'nowhere'}`, async () => {
    assert.equal(await found(uri, options), places);
  });

test('the settings bound how many servers and addresses of a domain are tried', async () => {
  const hosts = Array.from({ length: 12 }, (_, index) => `h${index}.example`);
  const names = namesOf({
    srv: { '_sip._udp.many.example': hosts.map((host, index) => server(host, index)) },
    addresses: Object.fromEntries(hosts.map((host, index) => [host, [`192.0.2.${index}`, `198.51.100.${index}`]])),
  });
  const ports = async (limits?: { records: number; addresses: number }) =>
    (await found('sip:many.example', { names, ...(limits && { limits }) })).map((place) => place.split(' ')[1]);
  assert.is((await ports()).length, 8);
  assert.is((await ports({ records: 12, addresses: 100 })).length, 24);
  assert.equal(await ports({ records: 1, addresses: 100 }), ['192.0.2.0', '198.51.100.0']);
  assert.equal(await ports({ records: 12, addresses: 3 }), ['192.0.2.0', '198.51.100.0', '192.0.2.1']);
});

test('servers of one priority are chosen by their weights', async () => {
  const srv = {
    '_sip._udp.w.example': [server('a.example', 1, 60), server('b.example', 1, 20), server('c.example', 1, 0)],
  };
  const addresses = { 'a.example': ['192.0.2.1'], 'b.example': ['192.0.2.2'], 'c.example': ['192.0.2.3'] };
  const names = namesOf({ srv, addresses });
  const first = async (random: number) => (await found('sip:w.example', { names, random }))[0];
  assert.equal(
    [await first(0), await first(0.2), await first(0.26), await first(0.99)],
    ['udp 192.0.2.3 5060', 'udp 192.0.2.2 5060', 'udp 192.0.2.1 5060', 'udp 192.0.2.1 5060'],
  );
});

/** How often each address is the first of 6,000 draws that are spread evenly over all that chance may give. */
async function shares(...weights: number[]): Promise<number[]> {
  const names = namesOf({
    srv: { '_sip._udp.w.example': weights.map((weight, at) => server(`${at}.example`, 1, weight)) },
    addresses: Object.fromEntries(weights.map((_weight, at) => [`${at}.example`, [`192.0.2.${at}`]])),
  });
  const counts = weights.map(() => 0);
  for (let draw = 0; draw < 6_000; draw++) {
    const [place = ''] = await found('sip:w.example', { names, random: (draw + 0.5) / 6_000 });
    counts[Number(/192\.0\.2\.(\d)/.exec(place)![1])]!++;
  }
  return counts;
}

test('over many draws each server of a priority is the first as often as its weight says', async () => {
  assert.equal(await shares(10, 30, 60), [600, 1800, 3600]);
  assert.equal(await shares(60, 1, 59), [3000, 50, 2950]);
});

test('servers of weight 0 share the calls evenly, and get few beside others', async () => {
  assert.equal(await shares(0, 0, 0), [2000, 2000, 2000]);
  assert.equal(await shares(0, 59, 0), [50, 5900, 50]);
});

test('answers are believed for their time, within bounds, and asked for once at a time', async () => {
  const clock = new ManualClock();
  const asked: string[] = [];
  const names: NameServer = {
    naptr: async () => [],
    srv: async (name) => {
      asked.push(name);
      throw new Error('nobody answers');
    },
    addresses: async (name) => {
      asked.push(name);
      return [{ address: '192.0.2.1', ttl: name === 'long' ? 86_400 : 1 }];
    },
  };
  const cached = cachedNames(names, clock, { minimumMs: 10_000, maximumMs: 60_000, most: 3 });
  await Promise.all([cached.addresses('long'), cached.addresses('LONG'), cached.addresses('short')]);
  await cached.srv('dead').catch(() => {});
  await cached.srv('dead').catch(() => {});
  assert.equal(asked.splice(0), ['long', 'short', 'dead']);
  clock.advance(10_000);
  for (const name of ['long', 'short']) await cached.addresses(name);
  await cached.srv('dead').catch(() => {});
  assert.equal(asked.splice(0), ['short', 'dead']);
  clock.advance(50_000);
  await cached.addresses('long');
  assert.equal(asked, ['long']);
  await cached.addresses('one more');
  assert.is(cached.size, 3);
});

test('a name server that is named is asked over the network', async () => {
  const dns = new DnsServer({
    'example.com': [
      { type: 'NAPTR', order: 1, preference: 1, service: 'SIP+D2T', replacement: '_sip._tcp.example.com' },
    ],
    '_sip._tcp.example.com': [
      { type: 'SRV', priority: 2, weight: 0, port: 5062, name: 'b.example.com' },
      { type: 'SRV', priority: 1, weight: 0, port: 5061, name: 'a.example.com' },
    ],
    'a.example.com': [{ type: 'A', address: '192.0.2.1' }],
    'b.example.com': [{ type: 'A', address: '192.0.2.2' }],
  });
  const names = createNameServer([await dns.start()]);
  assert.equal(await found('sip:example.com', { names }), ['tcp 192.0.2.1 5061', 'tcp 192.0.2.2 5062']);
  assert.equal(await found('sip:nobody.example.com', { names }), []);
  dns.close();
});

test('a domain that lists very many servers draws questions about eight of them', async () => {
  const many = Array.from({ length: 1500 }, (_, index) => server(`${index}.nowhere.example`, index));
  const asked: string[] = [];
  const names = namesOf({ srv: { '_sip._udp.many.example': many } });
  const counted: NameServer = {
    ...names,
    addresses: (name) => {
      asked.push(name);
      return names.addresses(name);
    },
  };
  assert.equal(await found('sip:many.example', { names: counted }), []);
  const first = Array.from({ length: 8 }, (_, index) => `${index}.nowhere.example`);
  assert.equal(asked, [...first, 'many.example']);
});

test.run();
