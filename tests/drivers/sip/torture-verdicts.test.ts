import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { settle } from '../../sip/transaction/fake-transports.ts';
import { createVictim } from './victim.ts';

/*
 * Every message of RFC 4475 (SIP torture tests) and RFC 5118 (the same for IPv6), with what makes it what it is, thrown at a
 * whole user agent, with the verdict that the RFC asks for. A call that is taken ends busy here (486); a registration is kept
 * (200), for an address of record that there is. A request of a dialog that is not there is answered 481. `silence`: nothing
 * is said, as to every response. Sections are those of the RFCs; headers that a message does not name are the usual ones.
 */

type Parts = {
  /** The first line; its method is that of CSeq when that says nothing else. */
  start: string;
  /** In the place of the usual ones; '' leaves one out. */
  headers?: Readonly<Record<string, string | readonly string[]>>;
  body?: string | Buffer;
};

const sdp = (address = 'IN IP4 192.0.2.9') =>
  `v=0\r\no=- 1 1 ${address}\r\ns=-\r\nc=${address}\r\nt=0 0\r\nm=audio 49217 RTP/AVP 0 12\r\nm=video 3227 RTP/AVP 31\r\na=rtpmap:31 LPC\r\n`;
/** What the calls of RFC 5118 offer: audio that nobody here has, and video. */
const feed = (address: string) =>
  `v=0\r\no=assistant 971731711378798081 0 ${address}\r\ns=Live video feed for today's meeting\r\nc=${address}\r\n` +
  't=3338481189 3370017201\r\nm=audio 6000 RTP/AVP 2\r\na=rtpmap:2 G726-32/8000\r\n' +
  'm=video 6024 RTP/AVP 107\r\na=rtpmap:107 H263-1998/90000\r\n';

let calls = 0;

function message({ start, headers = {}, body = '' }: Parts): Buffer {
  const method = start.startsWith('SIP/') ? 'OPTIONS' : start.split(' ')[0]!;
  const octets = Buffer.from(body);
  const all: Record<string, string | readonly string[]> = {
    Via: `SIP/2.0/UDP 192.0.2.9:5070;branch=z9hG4bK${++calls}`,
    'Max-Forwards': '70',
    From: '<sip:caller@192.0.2.9>;tag=1',
    To: method === 'REGISTER' ? '<sip:everybody@192.0.2.1>' : '<sip:service@192.0.2.1>',
    'Call-ID': `torture-${calls}`,
    CSeq: `1 ${method}`,
    ...(method === 'INVITE' && { Contact: '<sip:caller@192.0.2.9:5070>', 'Content-Type': 'application/sdp' }),
    'Content-Length': String(octets.length),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === '' ? [] : [value].flat().map((one) => `${name}: ${one}`),
  );
  return Buffer.concat([Buffer.from([start, ...lines, '', ''].join('\r\n')), octets]);
}

const invite = (
  headers: Parts['headers'] = {},
  uri = 'sip:service@192.0.2.1',
  body: string | Buffer = sdp(),
): Parts => ({
  start: `INVITE ${uri} SIP/2.0`,
  headers,
  body,
});
const register = (headers: Parts['headers'] = {}, uri = 'sip:192.0.2.1'): Parts => ({
  start: `REGISTER ${uri} SIP/2.0`,
  headers: { Contact: '<sip:everybody@192.0.2.9:5070>', ...headers },
});
const options = (headers: Parts['headers'] = {}, uri = 'sip:service@192.0.2.1'): Parts => ({
  start: `OPTIONS ${uri} SIP/2.0`,
  headers,
});

type Verdict = number | 'silence';

/** 3.1.1.1: white space, folding, compact forms and letter case wherever the grammar has room for them. */
const tortuous = (to: string): Parts =>
  invite(
    {
      To: '',
      Via: '',
      From: '',
      'Max-Forwards': '',
      'Call-ID': 'wsinv.ndaksdj@192.0.2.1',
      CSeq: '',
      Contact: '',
      'Content-Type': '',
      'TO ': `\r\n sip:vivekg@chair-dnrc.example.com ${to}`,
      'from   ': '"J Rosenberg \\\\\\""       <sip:jdrosen@example.com>\r\n  ;\r\n  tag = 98asjd8',
      'MaX-fOrWaRdS': '0068',
      cseq: '0009\r\n  INVITE',
      'Via  ': 'SIP  /   2.0\r\n /UDP\r\n    192.0.2.2;branch=390skdjuw',
      's ': ' ',
      NewFangledHeader: '  newfangled value\r\n continued newfangled value',
      UnknownHeaderWithUnusualValue: ';;,,;;,;',
      'Content-type': 'application/sdp',
      Route: '\r\n <sip:services.example.com;lr;unknownwith=value;unknown-no-value>',
      v: ' SIP  / 2.0  / TCP     spindle.example.com   ;\r\n  branch  =   z9hG4bK9ikj8  ,\r\n SIP  /    2.0   / UDP  192.168.255.111   ; branch=\r\n z9hG4bK30239',
      m: '"Quoted string \\"\\"" <sip:jdrosen@example.com> ; newparam =\r\n      newvalue ;\r\n  secondparam ; q = 0.33',
    },
    'sip:vivekg@chair-dnrc.example.com;unknownparam',
  );

const rfc4475: [section: string, about: string, sent: Parts | Buffer, verdict: Verdict][] = [
  ['3.1.1.1', 'a short tortuous INVITE, within a call that is not there', tortuous(';   tag    = 1918181833n'), 481],
  ['3.1.1.1', 'the same as the first of a call', tortuous(''), 486],
  [
    '3.1.1.2',
    'a wide range of valid characters',
    {
      start:
        "!interesting-Method0123456789_*+`.%indeed'~ sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com SIP/2.0",
      headers: {
        Via: "SIP/2.0/UDP 192.0.2.9:5070;branch=z9hG4bK-.!%66*_+`'~",
        To: '"BEL:\\\u0007 NUL:\\\u0000 DEL:\\\u007F" <sip:1_unusual.URI~(to-be!sure)&isn\'t+it$/crazy?,/;;*@example.com>',
        From: "token1~` token2'+_ token3*%!.- <sip:mundane@example.com>;fromParam''~+*_!.-%=\"работающий\";tag=_token~1'+`*%!-.",
        'Call-ID': 'intmeth.word%ZK-!.*_+\'@word`~)(><:\\/"][?}{',
        "extensionHeader-!.%*+_`'~": '大停電',
        'Max-Forwards': '255',
      },
    },
    405,
  ],
  [
    '3.1.1.3',
    'valid use of the percent sign',
    invite(
      {
        To: 'sip:%75se%72@example.com',
        From: '<sip:I%20have%20spaces@example.net>;tag=938',
        'Max-Forwards': '87',
        Contact: '\r\n  <sip:cal%6Cer@192.0.2.9;%6C%72;n%61me=v%61lue%25%34%31>',
      },
      'sip:sips%3Auser%40example.com@192.0.2.1',
    ),
    486,
  ],
  [
    '3.1.1.4',
    'escaped nulls in URIs',
    register({
      From: '<sip:null-%00-null@example.com>;tag=839923423',
      Contact: ['<sip:%00@192.0.2.9>', '<sip:%00%00@192.0.2.9>'],
    }),
    200,
  ],
  [
    '3.1.1.5',
    'a percent sign where nothing is escaped',
    {
      start: 'RE%47IST%45R sip:registrar.example.com SIP/2.0',
      headers: {
        To: '"%Z%45" <sip:resource@example.com>',
        From: '"%Z%45" <sip:resource@example.com>;tag=f232jadfj23',
        Via: 'SIP/2.0/TCP host.example.com;branch=z9hG4bK209%fzsnel234',
        Contact: ['<sip:alias1@host1.example.com>', '<sip:alias3@host3.example.com>'],
        'C%6Fntact': '<sip:alias2@host2.example.com>',
      },
    },
    405,
  ],
  ['3.1.1.6', 'no space between display name and <', options({ From: 'caller<sip:caller@example.com>;tag=323' }), 200],
  [
    '3.1.1.7',
    'long values in header fields, and Via in every spelling',
    invite({
      To: `"I have a user name of ${'extreme'.repeat(10)} proportion"<sip:user@example.com:6000;unknownparam1=very${'long'.repeat(20)}value;longparam${'name'.repeat(25)}=shortvalue;very${'long'.repeat(25)}ParameterNameWithNoValue>`,
      From: `sip:${'amazinglylongcallername'.repeat(5)}@example.net;tag=12${'982'.repeat(50)}424;unknownheaderparam${'name'.repeat(20)}=unknowheaderparam${'value'.repeat(15)};unknownValueless${'paramname'.repeat(10)}`,
      'Call-ID': `longreq.one${'really'.repeat(20)}longcallid`,
      [`Unknown-${'Long'.repeat(20)}-Name`]: `unknown-${'long'.repeat(20)}-value; unknown-${'long'.repeat(20)}-parameter-name = unknown-${'long'.repeat(20)}-parameter-value`,
      Via: '',
      ...Object.fromEntries(
        ['via', 'v', 'V', 'ViA', 'VIa', 'VIA', 'viA', 'vIa', 'vIA', 'V ', 'v ', 'V  ', 'v  ', 'Via ', 'Via  '].map(
          (name, at) => [name, `${name.endsWith(' ') ? ' ' : ''}SIP/2.0/TCP sip${33 - at}.example.com`],
        ),
      ),
      vIa: [
        ...Array.from({ length: 18 }, (_, at) => `SIP/2.0/TCP sip${18 - at}.example.com`),
        `SIP/2.0/TCP host.example.com;received=192.0.2.5;branch=very${'long'.repeat(50)}branchvalue`,
      ],
      Contact: `<sip:${'amazinglylongcallername'.repeat(5)}@host5.example.net>`,
    }),
    486,
  ],
  [
    '3.1.1.8',
    'extra octets behind the body of a datagram',
    Buffer.concat([message(register()), Buffer.from('\r\n'), message(invite())]),
    200,
  ],
  ['3.1.1.9', 'semicolons in the user part', options({}, 'sip:user;par=u%40example.net@192.0.2.1'), 200],
  [
    '3.1.1.10',
    'Via of unknown and varied transports',
    options({
      Via: ['UDP', 'SCTP', 'TLS', 'UNKNOWN', 'TCP'].map(
        (transport, at) => `SIP/2.0/${transport} t${at + 1}.example.com;branch=z9hG4bKvaried${at}`,
      ),
    }),
    200,
  ],
  [
    '3.1.1.11',
    'a multipart body with binary parts',
    {
      start: 'MESSAGE sip:service@192.0.2.1 SIP/2.0',
      headers: { 'Content-Type': 'multipart/mixed;boundary=7a9cbec02ceef655' },
      body: Buffer.concat([Buffer.from('--7a9cbec02ceef655\r\n\r\nHello\r\n'), Buffer.of(0, 255, 128, 13, 10)]),
    },
    415,
  ],
  [
    '3.1.1.12',
    'a reason phrase that is not ASCII',
    { start: 'SIP/2.0 200 = 2**3 * 5**2 но сто девяносто девять - простое' },
    'silence',
  ],
  ['3.1.1.13', 'an empty reason phrase', { start: 'SIP/2.0 100 ' }, 'silence'],
  [
    '3.1.2.1',
    'needless separators between header fields',
    invite({ Via: 'SIP/2.0/UDP 192.0.2.15;;,;,,', Contact: '"Joe" <sip:joe@example.org>;;;;', 'Max-Forwards': '7' }),
    400,
  ],
  ['3.1.2.2', 'Content-Length larger than the message', invite({ 'Content-Length': '9999' }), 400],
  [
    '3.1.2.3',
    'a negative Content-Length',
    invite({ 'Content-Length': '-999', 'Max-Forwards': '254', CSeq: '0 INVITE' }),
    400,
  ],
  [
    '3.1.2.4',
    'numbers that are too large in a request',
    register({
      CSeq: '36893488147419103232 REGISTER',
      'Max-Forwards': '300',
      Expires: `1${'0'.repeat(100)}`,
      Contact: '<sip:everybody@192.0.2.9>;expires=280297596632815',
    }),
    400,
  ],
  [
    '3.1.2.5',
    'numbers that are too large in a response',
    {
      start: 'SIP/2.0 503 Service Unavailable',
      headers: {
        CSeq: '9292394834772304023312 OPTIONS',
        'Retry-After': '949302838503028349304023988',
        Warning: '1812 overture "In Progress"',
      },
    },
    'silence',
  ],
  ['3.1.2.6', 'a quoted string that does not end', invite({ To: '"Mr. J. User <sip:j.user@example.com>' }), 400],
  ['3.1.2.7', '<> around a Request-URI', invite({}, '<sip:user@example.com>'), 400],
  [
    '3.1.2.8',
    'white space in a Request-URI',
    invite({ To: 'sip:user@example.com;tag=3xfe-9921883-z9f', CSeq: '2130706432 INVITE' }, 'sip:user@example.com; lr'),
    400,
  ],
  [
    '3.1.2.9',
    'several spaces in the request line',
    { start: 'INVITE  sip:user@example.com  SIP/2.0', body: sdp() },
    400,
  ],
  ['3.1.2.10', 'a space at the end of the request line', { start: 'OPTIONS sip:user@example.com SIP/2.0  ' }, 400],
  ['3.1.2.11', 'escaped headers in a Request-URI', invite({}, 'sip:user@192.0.2.1?Route=%3Csip:example.com%3E'), 486],
  ['3.1.2.12', 'a Date in a zone that is not GMT', invite({ Date: 'Fri, 01 Jan 2010 16:00:00 EST' }), 486],
  [
    '3.1.2.13',
    'a Contact with headers and without <>',
    register({ Contact: 'sip:everybody@192.0.2.9?Route=%3Csip:sip.example.com%3E' }),
    400,
  ],
  ['3.1.2.14', 'spaces within an address', options({ To: '"Watson, Thomas" < sip:t.watson@example.org >' }), 400],
  [
    '3.1.2.15',
    'display names that should be quoted',
    options({
      From: 'Bell, Alexander <sip:a.g.bell@example.com>;tag=43',
      To: 'Watson, Thomas <sip:t.watson@example.org>',
    }),
    200,
  ],
  [
    '3.1.2.16',
    'an unknown version',
    {
      start: 'OPTIONS sip:t.watson@example.org SIP/7.0',
      headers: { Via: 'SIP/7.0/UDP 192.0.2.9:5070;branch=z9hG4bKv7' },
    },
    505,
  ],
  ['3.1.2.17', 'another method in CSeq', options({ CSeq: '8 INVITE' }), 400],
  [
    '3.1.2.18',
    'an unknown method, and another in CSeq',
    { start: 'NEWMETHOD sip:user@example.com SIP/2.0', headers: { CSeq: '8 INVITE' } },
    400,
  ],
  [
    '3.1.2.19',
    'a response code that is none',
    { start: 'SIP/2.0 4294967301 better not break the receiver' },
    'silence',
  ],
  [
    '3.2.1',
    'a branch that is the magic cookie alone',
    options({ Via: 'SIP/2.0/UDP 192.0.2.9:5070;branch=z9hG4bK' }),
    200,
  ],
  [
    '3.3.1',
    'required headers that are missing',
    { start: 'INVITE sip:user@example.com SIP/2.0', headers: { From: '', To: '', 'Call-ID': '' } },
    400,
  ],
  ['3.3.2', 'a Request-URI of an unknown scheme', options({}, 'nobodyKnowsThisScheme:totallyopaquecontent'), 416],
  ['3.3.3', 'a Request-URI of a known scheme that is not SIP', options({}, 'soap.beep://192.0.2.103:3002'), 416],
  [
    '3.3.4',
    'unknown schemes in headers',
    register({ To: 'isbn:2983792873', From: '<http://www.example.com>;tag=3234233', Contact: '<name:John_Smith>' }),
    400,
  ],
  [
    '3.3.5',
    'Require of what nobody knows',
    options({
      Require: 'nothingSupportsThis, nothingSupportsThisEither',
      'Proxy-Require': 'noProxiesSupportThis, norDoAnyProxiesSupportThis',
    }),
    420,
  ],
  ['3.3.6', 'a body of an unknown type', invite({ 'Content-Type': 'application/unknownformat' }), 415],
  [
    '3.3.7',
    'an unknown scheme of authorization',
    register({ Authorization: 'NoOneKnowsThisScheme opaque-data=here' }),
    200,
  ],
  [
    '3.3.7',
    'the same of a phone that has to prove its password',
    register({
      From: '<sip:alice@192.0.2.9>;tag=1',
      To: '<sip:alice@192.0.2.1>',
      Authorization: 'NoOneKnowsThisScheme opaque-data=here',
    }),
    401,
  ],
  [
    '3.3.8',
    'several values where there may be one',
    invite({
      CSeq: ['5 INVITE', '59 INVITE'],
      'Call-ID': ['multi01.98asdh@192.0.2.1', 'multi01.98asdh@192.0.2.2'],
      From: ['sip:caller@example.com;tag=3413415', 'sip:caller@example.net;tag=2923420123'],
      To: ['sip:user@example.com', 'sip:other@example.net'],
      'Max-Forwards': ['70', '5'],
      Contact: ['<sip:caller@host25.example.net>', '<sip:caller@host36.example.net>'],
    }),
    400,
  ],
  [
    '3.3.9',
    'several Content-Length',
    {
      ...options({ 'Content-Length': ['13', '5'], 'Content-Type': 'text/plain' }),
      body: "There's no way to know how many octets are supposed to be here.\r\n",
    },
    400,
  ],
  [
    '3.3.10',
    'a response to a broadcast address',
    {
      start: 'SIP/2.0 200 OK',
      headers: {
        Via: ['SIP/2.0/UDP 192.0.2.198;branch=z9hG4bK1324923', 'SIP/2.0/UDP 255.255.255.255;branch=z9hG4bK1saber23'],
        CSeq: '35 INVITE',
        From: 'sip:user@example.com;tag=11141343',
        To: 'sip:user@example.edu;tag=2229',
        Contact: '<sip:user@host28.example.com>',
        'Content-Type': 'application/sdp',
      },
      body: sdp('IN IP4 192.0.2.198'),
    },
    'silence',
  ],
  ['3.3.11', 'Max-Forwards of zero', options({ 'Max-Forwards': '0' }), 200],
  [
    '3.3.12',
    'REGISTER with a parameter of the header',
    register({ Contact: 'sip:+19725552222@gw1.example.net;unknownparam' }),
    200,
  ],
  [
    '3.3.13',
    'REGISTER with a parameter of the URI',
    register({ Contact: '<sip:+19725552222@gw1.example.net;unknownparam>' }),
    200,
  ],
  [
    '3.3.14',
    'REGISTER with an escaped header in its URI',
    register({ Contact: '<sip:user@example.com?Route=%3Csip:sip.example.com%3E>' }),
    200,
  ],
  [
    '3.3.15',
    'an offer that asks for an unknown description in return',
    invite({ Accept: 'text/nobodyKnowsThis', 'Max-Forwards': '5' }),
    406,
  ],
  [
    '3.4.1',
    'an INVITE of RFC 2543',
    invite(
      {
        Via: 'SIP/2.0/UDP iftgw.example.com',
        'Max-Forwards': '',
        Contact: '',
        From: '<sip:+13035551111@ift.client.example.net;user=phone>',
        'Record-Route': '<sip:UserB@example.com;maddr=ss1.example.com>',
        To: 'sip:+16505552222@ss1.example.net;user=phone',
        'Content-Length': '',
      },
      'sip:UserB@192.0.2.1',
    ),
    486,
  ],
];

const six = 'SIP/2.0/UDP [2001:db8::9:1];branch=z9hG4bKas3-111';
const rfc5118: typeof rfc4475 = [
  [
    '4.1',
    'a good reference to an IPv6 address',
    register({ Via: six, Contact: '<sip:everybody@[2001:db8::1]>' }, 'sip:[2001:db8::10]'),
    200,
  ],
  ['4.2', 'an IPv6 address without brackets', register({ Via: six }, 'sip:2001:db8::10'), 400],
  ['4.3', 'a port that may be part of the address', register({ Via: six }, 'sip:[2001:db8::10:5070]'), 200],
  ['4.4', 'a port that is none', register({ Via: six }, 'sip:[2001:db8::10]:5070'), 200],
  [
    '4.5',
    'received with brackets, in a BYE to a call that is not there',
    {
      start: 'BYE sip:[2001:db8::10] SIP/2.0',
      headers: { Via: `${six};received=[2001:db8::9:255]`, To: 'sip:user@example.com;tag=bd76ya' },
    },
    481,
  ],
  [
    '4.5',
    'received without brackets',
    options(
      { Via: `${six};received=2001:db8::9:255`, Contact: '"Caller" <sip:caller@[2001:db8::9:1]>' },
      'sip:[2001:db8::10]',
    ),
    200,
  ],
  [
    '4.6',
    'IPv6 addresses in SDP, with audio that we have not',
    invite({ Via: six }, 'sip:user@[2001:db8::10]', feed('IN IP6 2001:db8::20')),
    488,
  ],
  [
    '4.6',
    'the same with audio that we have',
    invite({ Via: six }, 'sip:user@[2001:db8::10]', sdp('IN IP6 2001:db8::20')),
    486,
  ],
  [
    '4.7',
    'addresses of both families in the headers of a BYE to a call that is not there',
    {
      start: 'BYE sip:user@host.example.net SIP/2.0',
      headers: {
        Via: [
          'SIP/2.0/UDP [2001:db8::9:1]:6050;branch=z9hG4bKas3-111',
          'SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKjhja8781hjuaij65144',
          'SIP/2.0/TCP [2001:db8::9:255];branch=z9hG4bK451jj;received=192.0.2.200',
        ],
        To: 'sip:user@example.net;tag=9817--94',
      },
    },
    481,
  ],
  [
    '4.8',
    'addresses of both families in SDP, one in each media line',
    invite(
      { Via: six },
      'sip:user@[2001:db8::10]',
      'v=0\r\no=bob 280744730 28977631 IN IP4 host.example.com\r\ns=\r\nt=0 0\r\nm=audio 22334 RTP/AVP 0\r\n' +
        'c=IN IP4 192.0.2.1\r\nm=video 6024 RTP/AVP 107\r\nc=IN IP6 2001:db8::1\r\na=rtpmap:107 H263-1998/90000\r\n',
    ),
    486,
  ],
  ...(
    [
      ['with audio that we have not', feed, 488],
      ['with audio that we have', sdp, 486],
    ] as const
  ).map(([what, body, verdict]): (typeof rfc4475)[number] => [
    '4.9',
    `IPv4 addresses in IPv6 addresses, ${what}`,
    invite(
      {
        Via: [
          'SIP/2.0/UDP [::ffff:192.0.2.10]:19823;branch=z9hG4bKbh19',
          'SIP/2.0/UDP [::ffff:192.0.2.2];branch=z9hG4bKas3-111',
        ],
        Contact: '"T. desk phone" <sip:ted@[::ffff:192.0.2.2]>',
      },
      'sip:user@example.com',
      body('IN IP6 ::ffff:192.0.2.2'),
    ),
    verdict,
  ]),
  [
    '4.10',
    'three colons, which an old grammar wrote',
    options({ To: 'sip:user@[2001:db8:::192.0.2.1]' }, 'sip:user@[2001:db8:::192.0.2.1]'),
    200,
  ],
  [
    '4.10',
    'two colons, as is right',
    options({ To: 'sip:user@[2001:db8::192.0.2.1]' }, 'sip:user@[2001:db8::192.0.2.1]'),
    200,
  ],
];

/** What a user agent makes of a message. */
async function verdictOf(sent: Parts | Buffer): Promise<{ verdict: Verdict; errors: string[] }> {
  const victim = createVictim((leg) => leg.hangup(17));
  victim.transports.keepsMalformed = true;
  const octets = Buffer.isBuffer(sent) ? sent : message(sent);
  victim.transports.deliverOctets(octets);
  await settle();
  const statuses = [
    ...victim.transports.sent.flatMap(({ message: said }) => (said.kind === 'response' ? [said.status] : [])),
    ...victim.transports.malformed.map((said) => Number(said.toString('latin1', 8, 11))),
  ];
  return { verdict: statuses.find((status) => status >= 200) ?? 'silence', errors: victim.errors };
}

for (const [rfc, table] of [
  ['RFC 4475', rfc4475],
  ['RFC 5118', rfc5118],
] as const)
  for (const [section, about, sent, verdict] of table)
    test(`${rfc} ${section}: ${about}`, async () => {
      assert.equal(await verdictOf(sent), { verdict, errors: [] });
    });

test.run();
