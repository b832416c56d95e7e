import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultAor, defaultEndpoint } from '../../../src/drivers/sip/config.ts';
import { objectsOf } from '../../../src/drivers/sip/configured-objects.ts';
import { endpointOf, type SipObject, type SipObjectKind, sipObjectTypes } from '../../../src/drivers/sip/objects.ts';
import { anyCodePoint } from '../../support/any-text.ts';

const callerIds = {
  parse: (text: string) => ({ name: text, number: '' }),
  format: ({ name }: { name: string }) => name,
};

type Attribute = { initial: string; read(given: string, before: string, again: boolean): string | undefined };

/** What an attribute makes of a value. */
const read = (kind: SipObjectKind, name: string, given: string, before = '', again = false) => {
  const attributes = sipObjectTypes[kind].attributes as Record<string, Attribute>;
  return attributes[name]?.read(given, before, again);
};

const objects = suite('SIP objects');

objects('codecs are allowed and disallowed item by item; formats without a codec are left out', () => {
  const allow = (given: string, before = '', again = false) => read('endpoint', 'allow', given, before, again);
  assert.is(allow('alaw'), 'alaw');
  assert.is(allow('alaw,ulaw'), 'alaw,ulaw');
  const all = 'ulaw,alaw,g722,opus,slin,slin12,slin16,slin24,slin32,slin44,slin48';
  assert.is(allow('all'), all);
  assert.is(allow('!all,alaw'), 'alaw');
  assert.is(allow('all,!ulaw'), all.replace('ulaw,', ''));
  assert.is(allow('opus,g729,G722,ULAW:20'), 'opus,g722,ulaw');
  assert.is(allow('ulaw', 'alaw'), 'ulaw', 'the first of a request starts anew');
  assert.is(allow('ulaw', 'alaw', true), 'alaw,ulaw', 'further ones are added');
  assert.is(allow('ulow'), undefined);
  assert.is(allow('ulaw,vp8,h263,h264'), 'ulaw,vp8,h264', 'video has to be named');
  assert.is(read('endpoint', 'disallow', 'all', 'ulaw,alaw,vp8'), '');
  assert.is(read('endpoint', 'disallow', 'ulaw', 'ulaw,alaw'), 'alaw');
  assert.is(sipObjectTypes.endpoint.check({ allow: '' }), 'no codec is left');
  assert.is(sipObjectTypes.endpoint.check({ allow: 'vp8' }), 'no codec is left');
  assert.is(sipObjectTypes.endpoint.check({ allow: 'ulaw' }), undefined);
});

const readings: readonly [kind: SipObjectKind, name: string, given: string, kept: string | undefined][] = [
  ['endpoint', 'direct_media', 'False', 'no'],
  ['endpoint', 'direct_media', '1', 'yes'],
  ['endpoint', 'direct_media', 'maybe', undefined],
  ['endpoint', 'media_encryption', 'no', 'no'],
  ['endpoint', 'media_encryption', 'sdes', undefined],
  ['endpoint', 'media_encryption', 'dtls', undefined],
  ['endpoint', 'dtmf_mode', 'INFO', 'info'],
  ['endpoint', 'dtmf_mode', 'inband', 'inband'],
  ['endpoint', 'dtmf_mode', 'outband', undefined],
  ['endpoint', 'context', ' internal ', 'internal'],
  ['endpoint', 'callerid', 'a\r\nX: y', undefined],
  ['endpoint', 'from_domain', 'sip.example.org', 'sip.example.org'],
  ['endpoint', 'from_domain', 'a b', undefined],
  ['endpoint', 'outbound_proxy', 'sip:10.0.0.1;lr', 'sip:10.0.0.1;lr'],
  ['endpoint', 'outbound_proxy', '10.0.0.1', undefined],
  ['endpoint', 'outbound_proxy', '', ''],
  ['aor', 'max_contacts', '3', '3'],
  ['aor', 'max_contacts', '-1', undefined],
  ['aor', 'max_contacts', '1.5', undefined],
  ['aor', 'max_contacts', 'many', undefined],
  ['aor', 'qualify_timeout', '2.5', '2.5'],
  ['aor', 'qualify_timeout', '0', undefined],
  ['aor', 'contact', 'sip:a@10.0.0.1:5070, sip:b@10.0.0.2', 'sip:a@10.0.0.1:5070,sip:b@10.0.0.2'],
  ['aor', 'contact', 'tel:123', undefined],
  ['aor', 'contact', '', ''],
  ['auth', 'auth_type', 'md5', 'md5'],
  ['auth', 'auth_type', 'google_oauth', undefined],
  ['auth', 'password', ' with spaces ', ' with spaces '],
  ['auth', 'password', 'a\nb', undefined],
  ['auth', 'md5_cred', '0123456789abcdef0123456789ABCDEF', '0123456789abcdef0123456789ABCDEF'],
  ['auth', 'md5_cred', 'abc', undefined],
];
for (const [kind, name, given, kept] of readings)
  objects(`${kind}: ${name}=${JSON.stringify(given)} is ${kept === undefined ? 'refused' : `kept as ${kept}`}`, () => {
    assert.is(read(kind, name, given), kept);
  });

objects('every attribute takes what it is to begin with', () => {
  for (const [kind, { attributes }] of Object.entries(sipObjectTypes))
    for (const [name, { initial }] of Object.entries(attributes as Record<string, Attribute>))
      if (name !== 'disallow') assert.is(read(kind as SipObjectKind, name, initial), initial, `${kind}.${name}`);
});

objects('a new endpoint hears whom it is connected to, as in Asterisk', () => {
  const { initial } = (sipObjectTypes.endpoint.attributes as Record<string, Attribute>)['send_connected_line']!;
  assert.is(initial, 'yes');
  assert.ok(endpointOf({ id: 'a', values: bare('endpoint', {}) }, () => undefined, callerIds).sendConnectedLine);
});

objects('an id is the name of a phone', () => {
  const { isId } = sipObjectTypes.endpoint;
  for (const id of ['alice', '100', 'a-b_c.d', 'é']) assert.ok(isId(id), id);
  for (const id of ['', 'a b', 'a/b', 'a@b', 'a;b', 'a,b', 'a\n', 'x'.repeat(81)]) assert.not(isId(id), id);
});

objects('no text makes an attribute fail, and none brings a second line along', () => {
  for (const [kind, { attributes }] of Object.entries(sipObjectTypes))
    for (const name of Object.keys(attributes))
      fc.assert(
        fc.property(fc.string({ unit: anyCodePoint }), fc.boolean(), (given, again) => {
          const kept = read(kind as SipObjectKind, name, given, '', again);
          return kept === undefined || !/[\r\n]/.test(kept);
        }),
        { numRuns: 50 },
      );
});

const finder = (all: Partial<Record<SipObjectKind, SipObject[]>>) => (kind: SipObjectKind, id: string) =>
  all[kind]?.find((object) => object.id === id);

const bare = (kind: SipObjectKind, values: Record<string, string>): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(sipObjectTypes[kind].attributes as Record<string, Attribute>).map(([name, { initial }]) => [
      name,
      initial,
    ]),
  ),
  ...values,
});

objects('an endpoint, its AORs and credentials become settings of the driver', () => {
  const find = finder({
    aor: [
      { id: 'desk', values: bare('aor', { max_contacts: '2', contact: 'sip:a@10.0.0.1', qualify_frequency: '30' }) },
      { id: 'hall', values: bare('aor', { contact: 'sip:b@10.0.0.2' }) },
    ],
    auth: [
      { id: 'in', values: bare('auth', { username: 'carol', password: 'secret' }) },
      { id: 'out', values: bare('auth', { auth_type: 'md5', username: 'us', md5_cred: 'A'.repeat(32), realm: 'r' }) },
    ],
  });
  const values = bare('endpoint', {
    context: 'internal',
    auth: 'in',
    outbound_auth: 'out',
    aors: 'desk,nowhere,hall',
    allow: 'h264,alaw,vp8',
    max_video_streams: '5',
    max_video_bandwidth: '512',
    callerid: 'Carol',
    language: 'de',
    accountcode: 'sales',
    dtmf_mode: 'info',
    rewrite_contact: 'no',
    trust_id_inbound: 'yes',
    send_connected_line: 'no',
    trust_id_outbound: 'yes',
    send_pai: 'yes',
    send_rpid: 'no',
    send_diversion: 'no',
    send_history_info: 'yes',
    '100rel': 'peer_supported',
    timers: 'forced',
    timers_sess_expires: '600',
    timers_min_se: '120',
    from_user: 'us',
    from_domain: 'example.org',
    outbound_proxy: 'sip:10.0.0.9',
  });
  assert.equal(endpointOf({ id: 'carol', values }, find, callerIds), {
    name: 'carol',
    context: 'internal',
    auth: { username: 'carol', password: 'secret' },
    outboundAuth: { username: 'us', ha1: 'a'.repeat(32), realm: 'r' },
    match: [],
    aor: {
      name: 'desk',
      maxContacts: 2,
      contacts: ['sip:a@10.0.0.1', 'sip:b@10.0.0.2'],
      qualifyFrequencyMs: 30_000,
      qualifyTimeoutMs: 3_000,
      minimumExpirationSeconds: 60,
      maximumExpirationSeconds: 7_200,
      defaultExpirationSeconds: 3_600,
    },
    codecs: ['alaw'],
    videoCodecs: ['h264', 'vp8'],
    maxVideoStreams: 5,
    maxVideoBitrate: 512_000,
    digits: 'info',
    callerId: { name: 'Carol', number: '' },
    trustIdentity: true,
    identity: { pai: true, rpid: false, restricted: true, diversion: false, historyInfo: true, identityTokens: false },
    sendConnectedLine: false,
    reliable: 'peer_supported',
    timers: 'always',
    sessionSeconds: 600,
    shortestSessionSeconds: 120,
    redirects: 'user',
    allowTransfer: true,
    allowReplaces: false,
    transferHandling: 'core',
    symmetric: false,
    webrtc: false,
    mediaEncryption: 'off',
    fromUser: 'us',
    fromDomain: 'example.org',
    outboundProxy: 'sip:10.0.0.9',
    language: 'de',
    accountCode: 'sales',
  });
});

objects('without the objects that it names an endpoint lets nobody in', () => {
  const object = { id: 'carol', values: bare('endpoint', { auth: 'carol', aors: 'carol' }) };
  const nothing = endpointOf(object, finder({}), callerIds);
  assert.equal([nothing.auth, nothing.match, nothing.aor.maxContacts], [undefined, [], 0]);
  const nameless = finder({ auth: [{ id: 'carol', values: bare('auth', { password: 'x' }) }] });
  assert.is(endpointOf(object, nameless, callerIds).auth, undefined);
  const withoutPassword = finder({ auth: [{ id: 'carol', values: bare('auth', { username: 'carol' }) }] });
  assert.is(endpointOf(object, withoutPassword, callerIds).auth, undefined);
});

objects('endpoints of the configuration file are objects, and mean the same when read back', () => {
  const trunk = {
    ...defaultEndpoint,
    name: 'trunk',
    context: 'in',
    auth: { username: 'them', ha1: 'b'.repeat(32) },
    outboundAuth: { username: 'us', password: 'p', realm: 'r' },
    aor: { ...defaultAor, contacts: ['sip:10.0.0.7'], qualifyTimeoutMs: 2_500 },
    codecs: ['alaw' as const],
    callerId: { name: 'Trunk', number: '' },
    fromUser: 'us',
  };
  const phone = { ...defaultEndpoint, name: 'phone' };
  const all = objectsOf([trunk, phone], callerIds);
  assert.equal(
    all.auth.map(({ id }) => id),
    ['trunk', 'trunk-outbound'],
  );
  const back = all.endpoint.map((object) => endpointOf(object, finder(all), callerIds));
  assert.equal(back, [
    { ...trunk, aor: { ...trunk.aor, name: 'trunk' } },
    { ...phone, aor: { ...defaultAor, name: 'phone' } },
  ]);
});

objects.run();
