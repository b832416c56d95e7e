import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultIdentity, type EndpointConfig, type IdentityTelling } from '../../../src/drivers/sip/config.ts';
import type { HeaderLines } from '../../../src/sip/message/build.ts';
import type { SipMessage } from '../../../src/sip/message/message.ts';
import type { DialDetails, IncomingCall } from '../../../src/telephony/driver.ts';
import { audioAt, Carrier } from './carrier.ts';
import { anybody, createPhone, type Phone, trunkTo } from './support.ts';

/** What is said and believed of who calls, and of how a call came to be where it is. */
const identity = suite('identity');

const phones: Phone[] = [];
const carriers: Carrier[] = [];

async function carrierOpened(): Promise<Carrier> {
  const carrier = await Carrier.open();
  carriers.push(carrier);
  return carrier;
}

async function phoneWith(...endpoints: EndpointConfig[]): Promise<Phone> {
  const phone = await createPhone({ config: { endpoints } });
  phones.push(phone);
  return phone;
}

identity.after.each(async () => {
  for (const phone of phones.splice(0)) await phone.close();
  for (const carrier of carriers.splice(0)) await carrier.close();
});

const told = ['From', 'P-Asserted-Identity', 'Remote-Party-ID', 'Privacy', 'Diversion', 'History-Info', 'Identity'];

/** Headers of a message about identity; ports and tags taken off. */
const about = (message: SipMessage): Record<string, string[]> =>
  Object.fromEntries(
    told.flatMap((name) => {
      const lines = message.headerLines(name).map((line) => line.replace(/;tag=.*|(?<=127\.0\.0\.1):\d+/g, ''));
      return lines.length === 0 ? [] : [[name, lines]];
    }),
  );

/** What an INVITE of ours says with these settings. */
async function invited(tells: Partial<IdentityTelling>, details: DialDetails, rest: Partial<EndpointConfig> = {}) {
  const carrier = await carrierOpened();
  const phone = await phoneWith(trunkTo(carrier.uri, { identity: { ...defaultIdentity, ...tells }, ...rest }));
  const out = phone.open('600@trunk');
  out.leg.dial(details);
  const invite = await carrier.request('INVITE');
  carrier.reply(invite, 486);
  await out.heard('leg.hungUp');
  return about(invite);
}

/** What call control hears of an INVITE with these headers. */
async function heard(headers: HeaderLines, rest: Partial<EndpointConfig> = {}, from?: string): Promise<IncomingCall> {
  const carrier = await carrierOpened();
  const phone = await phoneWith({ ...anybody, ...rest });
  carrier.send({
    method: 'INVITE',
    port: phone.port,
    headers,
    sdp: audioAt(9000),
    ...(from !== undefined && { from }),
  });
  return (await phone.rung()).call!;
}

const dora = { name: 'Dora', number: '4711' };
const shy = { ...dora, presentation: 0x23 };
const doraFrom = { From: ['Dora <sip:4711@127.0.0.1>'] };
const noFrom = { From: ['Anonymous <sip:anonymous@anonymous.invalid>'] };

for (const [about, tells, caller, rest, expected] of [
  ['in From alone', {}, dora, {}, doraFrom],
  [
    'asserted, where that is wanted',
    { pai: true },
    dora,
    {},
    { ...doraFrom, 'P-Asserted-Identity': ['Dora <sip:4711@127.0.0.1>'] },
  ],
  [
    'by Remote-Party-ID, where that is wanted',
    { rpid: true },
    dora,
    {},
    { ...doraFrom, 'Remote-Party-ID': ['Dora <sip:4711@127.0.0.1>;party=calling;privacy=off;screen=no'] },
  ],
  ['not at all, who does not want to be known', { pai: true, rpid: true }, shy, {}, noFrom],
  [
    'to whom that can be trusted with, with the wish for privacy',
    { pai: true, rpid: true, restricted: true },
    shy,
    {},
    {
      ...doraFrom,
      'P-Asserted-Identity': ['Dora <sip:4711@127.0.0.1>'],
      Privacy: ['id'],
      'Remote-Party-ID': ['Dora <sip:4711@127.0.0.1>;party=calling;privacy=full;screen=no'],
    },
  ],
  [
    'as the line is known, when that is configured, whoever calls',
    {},
    shy,
    { fromUser: 'line7', fromDomain: 'example.org' },
    { From: ['Anonymous <sip:line7@example.org>'] },
  ],
] as const)
  identity(`a caller is told ${about}`, async () => {
    assert.equal(await invited(tells, { caller }, rest), expected);
  });

for (const [about, tells, redirection, expected] of [
  [
    'by Diversion',
    {},
    { from: { name: 'Bob', number: '202' }, reason: 'cfnr' },
    { Diversion: ['Bob <sip:202@127.0.0.1>;reason=no-answer'] },
  ],
  [
    'by Diversion, the newest first, with who was called first of all',
    {},
    {
      from: { name: '', number: '202' },
      orig: { name: '', number: '201' },
      reason: 'cfb',
      origReason: 'cfu',
      count: 3,
    },
    { Diversion: ['<sip:202@127.0.0.1>;reason=user-busy', '<sip:201@127.0.0.1>;reason=unconditional;counter=2'] },
  ],
  [
    'by History-Info, where that is wanted',
    { diversion: false, historyInfo: true },
    { from: { name: 'Bob', number: '202' }, reason: 'cfb' },
    {
      'History-Info': [
        '<sip:202@127.0.0.1?Reason=SIP%3Bcause%3D486>;index=1, <sip:600@127.0.0.1;cause=486>;index=1.1;mp=1',
      ],
    },
  ],
  ['not at all, where that is not wanted', { diversion: false }, { from: { name: 'Bob', number: '202' } }, {}],
  ['not at all, when it does not want to be known', {}, { from: { name: '', number: '202', presentation: 0x20 } }, {}],
  [
    'to whom that can be trusted with, with its wish',
    { restricted: true },
    { from: { name: '', number: '202', presentation: 0x20 }, reason: 'cfu', count: 2 },
    { Diversion: ['<sip:202@127.0.0.1>;reason=unconditional;counter=2;privacy=full'] },
  ],
  [
    'without what makes no header of it',
    {},
    { from: { name: 'B\r\nX: y', number: '2;\u0000"@' } },
    {
      Diversion: ['"B X: y" <sip:2;%20%22%40@127.0.0.1>;reason=unknown'],
    },
  ],
] as const)
  identity(`who redirected a call is told ${about}`, async () => {
    assert.equal(await invited(tells, { caller: dora, redirection }), { ...doraFrom, ...expected });
  });

const bob = { name: 'Bob', number: '202' };
for (const [about, headers, expected] of [
  [
    'Diversion, the newest first',
    [
      ['Diversion', '"Bob" <sip:202@a>;reason=no-answer;counter=2, <tel:+49301>;reason="user-busy";privacy=full'],
      ['Diversion', '<sip:203@a>;reason=strange'],
    ],
    {
      from: bob,
      orig: { name: '', number: '203' },
      reason: 'cfnr',
      origReason: 'unknown',
      count: 4,
    },
  ],
  [
    'one Diversion',
    [['Diversion', '<sip:202@a>;privacy=full']],
    {
      from: { name: '', number: '202', presentation: 0x20 },
      count: 1,
    },
  ],
  [
    'History-Info with mapped targets (RFC 7044)',
    [
      ['History-Info', '<sip:201@a>;index=1, <sip:202@a;cause=302>;index=1.1;mp=1'],
      [
        'History-Info',
        '"Carol" <sip:203@a;cause=486?Privacy=history>;index=1.2;mp=1.1,<sip:203@10.0.0.1>;index=1.2.1;rc=1.2',
      ],
    ],
    {
      from: { name: '', number: '202' },
      orig: { name: '', number: '201' },
      to: { name: 'Carol', number: '203', presentation: 0x20 },
      reason: 'cfb',
      origReason: 'cfu',
      count: 2,
    },
  ],
  [
    'History-Info with the reasons of those that were left (RFC 4244)',
    [['History-Info', '<sip:202@a?Reason=SIP%3Bcause%3D408%3Btext%3D%22x%22>;index=1,<sip:203@a>;index=2']],
    { from: { name: '', number: '202' }, to: { name: '', number: '203' }, reason: 'cfnr', count: 1 },
  ],
  ['no entry that was left', [['History-Info', '<sip:202@a>;index=1, <sip:202@10.0.0.1>;index=1.1;rc=1']], undefined],
  [
    'nothing that can be read',
    [
      ['Diversion', '"'],
      ['History-Info', '<<>'],
      ['Diversion', ''],
    ],
    undefined,
  ],
] as const)
  identity(`how a call came here is read of ${about}`, async () => {
    assert.equal((await heard(headers)).redirection, expected);
  });

for (const [about, headers, rest, from, expected] of [
  ['of From', [], {}, '"Eve" <sip:300@a>', { name: 'Eve', number: '300' }],
  [
    'of From, with a wish for privacy',
    [['Privacy', 'user;critical']],
    {},
    '<sip:300@a>',
    {
      name: '',
      number: '300',
      presentation: 0x20,
    },
  ],
  [
    'of an anonymous From',
    [['Privacy', 'id']],
    {},
    '"Anonymous" <sip:anonymous@anonymous.invalid>',
    {
      name: '',
      number: '',
      presentation: 0x20,
    },
  ],
  [
    'of nobody who is not trusted',
    [['P-Asserted-Identity', '<sip:1@a>']],
    {},
    '<sip:300@a>',
    { name: '', number: '300' },
  ],
  [
    'of who is trusted',
    [
      ['P-Asserted-Identity', '"Real" <sip:1@a>'],
      ['Privacy', 'id'],
    ],
    { trustIdentity: true },
    '<sip:300@a>',
    {
      name: 'Real',
      number: '1',
      presentation: 0x20,
    },
  ],
  [
    'of Remote-Party-ID',
    [['Remote-Party-ID', '"Real" <sip:1@a>;party=calling;privacy=full']],
    { trustIdentity: true },
    '<sip:300@a>',
    {
      name: 'Real',
      number: '1',
      presentation: 0x20,
    },
  ],
  [
    'of the configuration, with the wish',
    [['Privacy', 'none, id']],
    { callerId: bob },
    '<sip:300@a>',
    { ...bob, presentation: 0x20 },
  ],
] as const)
  identity(`who calls is read ${about}`, async () => {
    assert.equal((await heard(headers, rest, from)).caller, expected);
  });

identity('signed identities go on untouched between endpoints that pass them, and nowhere else', async () => {
  const passport = 'eyJhbGciOiJFUzI1NiJ9..c2ln;info=<https://cert.example.org/a.cer>;alg=ES256;ppt="shaken"';
  const carrier = await carrierOpened();
  const passes = { identity: { ...defaultIdentity, identityTokens: true } };
  const phone = await phoneWith({ ...anybody, ...passes }, trunkTo(carrier.uri, passes), {
    ...trunkTo(carrier.uri),
    name: 'other',
  });
  carrier.send({
    method: 'INVITE',
    port: phone.port,
    headers: [
      ['Identity', passport],
      ['y', 'second;info=<a>'],
    ],
    sdp: audioAt(9000),
  });
  const inbound = await phone.rung();
  const identities: string[][] = [];
  for (const [resource, near] of [
    ['600@trunk', inbound.id],
    ['600@other', inbound.id],
    ['600@trunk', 'somebody'],
  ] as const) {
    const out = phone.open(resource, { near });
    out.leg.dial();
    const invite = await carrier.request('INVITE');
    identities.push(invite.headerLines('Identity'));
    carrier.reply(invite, 486);
    await out.heard('leg.hungUp');
  }
  assert.equal(identities, [[passport, 'second;info=<a>'], [], []]);
  inbound.leg.release();
  const late = phone.open('600@trunk', { near: inbound.id });
  late.leg.dial();
  const invite = await carrier.request('INVITE');
  assert.equal(invite.headerLines('Identity'), []);
  carrier.reply(invite, 486);
  await late.heard('leg.hungUp');
});

identity('whom a caller has reached is told it as the one who is called', async () => {
  const carrier = await carrierOpened();
  const phone = await phoneWith({ ...anybody, identity: { ...defaultIdentity, rpid: true } });
  carrier.send({ method: 'INVITE', port: phone.port, sdp: audioAt(9000) });
  const inbound = await phone.rung();
  inbound.leg.present(bob);
  inbound.leg.ring();
  assert.equal(about(await carrier.response('INVITE'))['Remote-Party-ID'], [
    'Bob <sip:202@127.0.0.1>;party=called;privacy=off;screen=no',
  ]);
  inbound.leg.hangup(16);
  await carrier.response('INVITE');
});

identity.run();
