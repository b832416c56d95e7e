import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { directoryFiles } from '../../packages/importer/src/directory.ts';
import { readSections } from '../../packages/importer/src/source.ts';
import { applicationsOnly, carrier, checked, company, imported, line, linesUnder, withDirectory } from './fixtures.ts';

const importing = suite('the configuration of Asterisk brought along');

importing('a company of 40 phones: what is taken means the same, and nothing is less safe', () => {
  const { yaml, report } = imported(company);
  const config = checked(yaml);
  const { endpoints } = config.sip;
  assert.is(Object.keys(endpoints).length, 43);
  const { context, auth, aor, codecs, caller_id, variables, match } = endpoints['117']!;
  assert.equal(
    { context, auth, codecs, caller_id, variables, match, most: aor.max_contacts },
    {
      context: 'internal',
      auth: { username: '117', password: 'pw117' },
      codecs: ['ulaw', 'alaw'],
      caller_id: '"Phone 117" <117>',
      variables: { OFFICE: 'Berlin' },
      match: [],
      most: 2,
    },
  );
  assert.equal([endpoints['lobby']?.match, endpoints['lobby']?.auth], [['127.0.0.1', '10.2.0.0/16'], undefined]);
  assert.equal([endpoints['browser']?.webrtc, endpoints['anonymous']], [true, undefined]);
  assert.equal(endpoints['office']?.allow.sources, ['10.0.0.0/8']);
  assert.equal(config.sip.local_networks, ['192.168.0.0/16']);
  assert.equal(config.sip.transports, [{ protocol: 'udp', bind: '0.0.0.0', port: 5060 }]);
  assert.equal([config.sip.external_address, config.media.rtp_ports], ['203.0.113.5', [12_000, 12_999]]);
  assert.equal(config.http.bind, '127.0.0.1');
  assert.equal(config.dialplan, {
    ring: { s: ['NoOp(ring ${ARG1})', 'Dial(${ARG1},20,tTrL(60000))', 'Return(${DIALSTATUS})'] },
    internal: {
      include: ['services'],
      hints: { 100: 'PJSIP/100&Custom:night' },
      _1XX: [
        'Gosub(ring,s,1(PJSIP/${EXTEN}))',
        'GotoIf($["${GOSUB_RETVAL}" = "BUSY"]?busy:unavail)',
        { label: 'unavail', app: 'Stasis(voicemail,${EXTEN}@default,u)' },
        'Hangup()',
        { label: 'busy', app: 'Stasis(voicemail,${EXTEN}@default,b)' },
      ],
      0: ['Dial(PJSIP/101)'],
      700: ['Answer()', 'Stasis(queue,support,t,,,60)'],
      701: ['Hangup(FACILITY_NOT_IMPLEMENTED)', 'Dial(PJSIP/102)'],
      702: [
        'Set(GLOBAL(COUNT)=1)',
        'NoOp',
        'GotoIf($["${DB(closed/now)}" = "1"]?nowhere,1,1)',
        'Hangup',
        'Congestion()',
      ],
      703: ['Hangup'],
      '_9.': ['Dial(PJSIP/carrier/${EXTEN:1}&DAHDI/g1/${EXTEN:1},60)'],
    },
    services: {
      '*97': ['Stasis(voicemail-main,${CALLERID(num)}@default)'],
      600: ['Goto(menu,s,1)'],
    },
    menu: {
      s: ['Answer()', { label: 'again', app: 'Background(demo-menu)' }, 'WaitExten(5)'],
      1: ['Goto(internal,101,1)'],
      i: ['Playback(invalid)', 'Goto(s,again)'],
      t: ['Hangup()'],
    },
  });
  assert.equal(linesUnder(report, 'Imported').includes('43 endpoints'), true);
  const missing = linesUnder(report, 'Not supported').join('\n');
  for (const words of [
    'match lobby.example.org is dropped: host names are not resolved',
    'codec g729 is not supported',
    'CustomPresence:night of a hint is dropped: BLF shows devices only',
    'the device DAHDI/1 of a hint is not supported',
    'unknown application "Authenticate": the call is hung up there',
    'the function DB reads as empty',
    'the function CONFBRIDGE cannot be written',
    'the technology DAHDI is not supported',
    'extensions for one caller (704/101)',
    'the included context gone does not exist',
    'the included context night does not exist',
    'switch: switches are not supported',
    'queues.conf: queues are an application',
    'music of the mode custom',
  ])
    assert.ok(missing.includes(words), `${words}\n${missing}`);
  const approximated = linesUnder(report, 'Approximated').join('\n');
  for (const words of [
    'VoiceMail is an application here',
    'SIP/… is dialed as PJSIP/…',
    'services includes internal, which includes it',
    'there is no location nowhere,1,1: the call is hung up there',
    'the class default is the directory of that name',
  ])
    assert.ok(approximated.includes(words), `${words}\n${approximated}`);
  assert.not(report.includes('pw117'));
});

importing('a line of the wizard', () => {
  const { yaml, report } = imported(carrier(5099));
  const { carrier: line } = checked(yaml).sip.endpoints;
  assert.equal(
    [line?.match, line?.outbound_auth, line?.aor.contacts, line?.from_user, line?.codecs, line?.context],
    [
      ['127.0.0.1'],
      { username: '4930123456', password: 'secret' },
      ['sip:127.0.0.1:5099'],
      '4930123456',
      ['alaw', 'ulaw'],
      'from-carrier',
    ],
  );
  assert.equal(
    line?.registrations.map(({ server, retry, expiration }) => ({ server, retry, expiration })),
    [{ server: 'sip:127.0.0.1:5099', retry: 30, expiration: 3_600 }],
  );
  assert.ok(linesUnder(report, 'Imported').includes('1 registrations at providers'));
});

importing('a line that registers: its objects are one endpoint, its calls are asked about and cut off', () => {
  const { yaml, report } = imported(line({ provider: 5098, phone: 5097 }));
  const config = checked(yaml);
  const { provider, home } = config.sip.endpoints;
  assert.equal(
    [provider?.match, provider?.outbound_auth, provider?.aor.contacts, provider?.from_user, provider?.send_pai],
    [['127.0.0.1/32'], { username: '49301', password: 'secret' }, ['sip:127.0.0.1:5098'], '49301', true],
  );
  assert.equal(
    provider?.registrations.map(({ server, client, contact_user, retry, expiration }) => ({
      ...{ server, client, contact_user, retry, expiration },
    })),
    [
      {
        ...{ server: 'sip:127.0.0.1:5098', client: 'sip:49301@127.0.0.1:5098', contact_user: '49301' },
        ...{ retry: 30, expiration: 600 },
      },
    ],
  );
  assert.equal([home?.match, home?.auth, home?.aor.contacts], [[], undefined, ['sip:home@127.0.0.1:5097']]);
  assert.equal([config.sip.stun_server, config.sip.external_address], ['stun.example.org:3478', '']);
  assert.equal(config.dialplan, {
    'from-line': {
      49301: [
        'Verbose(1,call from ${CALLERID(num)})',
        'Dial(PJSIP/home,30,tU(ask^${CALLERID(num)})L(3600000:60000)g)',
        'Goto(closed,s,1)',
      ],
    },
    ask: {
      s: [
        'Read(KEY,,1,,1,10)',
        'GotoIf($["${KEY}" = "1"]?taken)',
        'Set(GOSUB_RESULT=CONTINUE)',
        { label: 'taken', app: 'Return()' },
      ],
    },
    closed: { s: ['Stasis(mailbox,${DIALSTATUS})', 'Hangup()'] },
    internal: { '_0X.': ['Set(TIMEOUT(absolute)=3600)', 'Dial(PJSIP/${EXTEN:1}@provider,60,TS(3600))'] },
  });
  assert.equal(linesUnder(report, 'Not supported'), [
    'extensions.conf:4: option k of Dial (parking by keys: there are no parking lots; let an application park calls in a holding bridge) is dropped',
  ]);
});

const dialed: readonly [options: string, ours: string | undefined, told: string][] = [
  ['g', 'g', ''],
  ['rm(jazz)g', 'rm(jazz)g', ''],
  ['A(beep)D(1w2:3)hHS(60)', 'A(beep)D(1w2:3)hHS(60)', ''],
  ['D(1:2:3)', 'D(1:2:3)', 'digits are sent after the answer, not before'],
  ['L(5000:1000)', 'L(5000:1000)', 'but without warnings before'],
  ['U(screen^${CALLERID(num)}^x)g', 'U(screen^${CALLERID(num)}^x)g', ''],
  ['M(screen^a)', 'U(macro-screen^a)', 'option M of Dial becomes U: the called party runs macro-screen, s, 1'],
  ['R', 'r', 'option R of Dial becomes r'],
  ['aCENnoz', '', ''],
  ['cdeg', 'cdeg', ''],
  ['i', '', 'option i of Dial (calls are forwarded if the endpoint has a redirect_method'],
  [
    'f(200)',
    '',
    'option f of Dial (the caller identity of forwarded calls: they show the caller and the forwarder) is dropped',
  ],
  ['o(100)', '', 'option o of Dial (it is not supported) is dropped'],
  ['F(c^1^1)b(screen^s^1(x^y))B(screen^s^1)', 'F(c^1^1)b(screen^s^1(x^y))B(screen^s^1)', ''],
  ['Fg', 'Fg', ''],
  ['b(gone^s^1)', 'gone', 'there is no location gone,s,1: the call is hung up there'],
  ['tTwWxX', 'tTwWxX', ''],
  ['kKIOQ(17)s(x)y', '', 'option K of Dial (parking by keys: there are no parking lots'],
  ['G(c^s^1)', undefined, 'option G of Dial (both parties continue in the dialplan'],
  ['gP(x)', undefined, 'option P of Dial (call screening by name'],
  ['p', undefined, 'call screening: use U(context) and ask there): the call is hung up there'],
  ['u(prohib)', undefined, 'write Set(CALLERID(pres)=…) before Dial'],
  ['${OPTIONS}', '${OPTIONS}', 'options of Dial in a variable (${OPTIONS})'],
  ['U(gone)', 'gone', 'there is no location gone,s,1: the call is hung up there'],
];
for (const [options, ours, told] of dialed)
  importing(`the options ${options} of Dial`, () => {
    const { yaml, report } = imported({
      'extensions.conf': `[c]\nexten => 1,1,Dial(PJSIP/a,20,${options})\n[screen]\nexten => s,1,Return()\n[macro-screen]\nexten => s,1,Return()\n`,
    });
    const step = ours === '' ? 'Dial(PJSIP/a,20)' : `Dial(PJSIP/a,20,${ours})`;
    const hangup = ours === undefined ? 'Hangup(FACILITY_NOT_IMPLEMENTED)' : 'Hangup';
    assert.equal(checked(yaml).dialplan['c'], { 1: [ours === undefined || ours === 'gone' ? hangup : step] });
    const [, missing = ''] = report.split('Not supported:');
    if (told === '') assert.not.match(missing, /option/);
    else assert.ok(report.includes(told), report);
  });

importing('keys during calls: codes and times of features.conf, what is not there by name', () => {
  const { yaml, report } = imported({
    'extensions.conf': '[c]\nexten => 1,1,Dial(PJSIP/a,20,tX)\n',
    'features.conf': `
[general]
featuredigittimeout => 500
transferdigittimeout => 2.5
transferdialattempts = 1
courtesytone = beep
atxfernoanswertimeout = 20
atxferdropcall = yes
pickupexten = *8
[featuremap]
blindxfer => ##
disconnect => *0
automixmon => *3x
atxfer => *2
atxferabort => *9
atxferthreeway => *3
parkcall => #72
[applicationmap]
say => #9,peer,Playback,hello
`,
  });
  assert.equal(checked(yaml).features, {
    ...{ blindxfer: '##', disconnect: '*0', automon: '', automixmon: '' },
    ...{ atxfer: '*2', atxferabort: '*9', atxfercomplete: '*2', transfer_no_answer_timeout: 20_000 },
    ...{ digit_timeout: 500, transfer_digit_timeout: 2_500, transfer_attempts: 1, recording_beep: true },
  });
  const missing = linesUnder(report, 'Not supported').join('\n');
  for (const words of [
    'automixmon: "*3x" is not a code',
    'atxferthreeway *3 (a three-way call',
    'atxferswap *4 (switching between',
    'parkcall #72 (parking',
    'pickupexten (',
    'say (',
  ])
    assert.ok(missing.includes(words), `${words}\n${missing}`);
  assert.match(linesUnder(report, 'Approximated').join(), /courtesytone: a beep/);
  assert.match(linesUnder(report, 'Approximated').join(), /atxferdropcall, .*the transferor is called back once/);
});

importing('attended transfers by keys: what Asterisk adds by default is reported, but not where there are none', () => {
  const told = (map: string) =>
    imported({ 'extensions.conf': '[c]\nexten => 1,1,Hangup\n', 'features.conf': `[featuremap]\n${map}\n` }).report;
  const report = told('atxfer => *2');
  assert.match(report, /atxferthreeway \*3 /);
  assert.match(report, /atxferswap \*4 /);
  assert.match(report, /the transferor is called back once/);
  assert.not.match(told('blindxfer => #1'), /atxfer/);
});

importing('without features.conf the codes are those that Asterisk has then', () => {
  const { yaml } = imported({ 'extensions.conf': '[c]\nexten => 1,1,Dial(PJSIP/a,20,h)\n' });
  const { blindxfer, disconnect, automon, automixmon, atxfer } = checked(yaml).features;
  assert.equal([blindxfer, disconnect, automon, automixmon, atxfer], ['#', '*', '', '', '']);
});

importing('wizards: hints, patterns of URIs, a proxy; what they hold beside is told', () => {
  const { yaml, report } = imported({
    'pjsip_wizard.conf': `
[phone](!)
type=wizard
accepts_registrations=yes
accepts_auth=yes
endpoint/allow=ulaw
endpoint/context=in
has_hint=yes
hint_application=Gosub(ring,s,1(\${HINT}))
[alice](phone)
hint_exten=101
inbound_auth/username=alice
inbound_auth/password=a
has_phoneprov=yes
phoneprov/MAC=001122
[bob](phone)
hint_context=lamps
hint_exten=102
hint_application=
inbound_auth/username=bob
inbound_auth/password=b
[eve](phone)
inbound_auth/username=eve
inbound_auth/password=e
[trunk]
type=wizard
remote_hosts=192.0.2.7:5070
sends_auth=yes
sends_registrations=yes
outbound_auth/username=77
outbound_auth/password=t
outbound_proxy=sip:192.0.2.8\\;lr
server_uri_pattern=sip:\${REMOTE_HOST}\\;transport=tcp
client_uri_pattern=sip:\${USERNAME}@example.org
contact_pattern=sip:\${REMOTE_HOST}\\;transport=tcp
endpoint/allow=alaw
colour=green
`,
    'extensions.conf': '[in]\nexten => 1,1,Hangup()\n[ring]\nexten => s,1,Dial(${ARG1},20)\n same => n,Return()\n',
  });
  const config = checked(yaml);
  assert.equal(config.dialplan, {
    in: { hints: { 101: 'PJSIP/alice' }, 1: ['Hangup()'], 101: ['Gosub(ring,s,1(PJSIP/alice))'] },
    ring: { s: ['Dial(${ARG1},20)', 'Return()'] },
    lamps: { hints: { 102: 'PJSIP/bob' } },
    default: {},
  });
  const { trunk } = config.sip.endpoints;
  assert.equal(
    [trunk?.aor.contacts, trunk?.outbound_proxy, trunk?.registrations.map(({ server, client }) => [server, client])],
    [
      ['sip:192.0.2.7:5070;transport=tcp'],
      'sip:192.0.2.8;lr',
      [['sip:192.0.2.7:5070;transport=tcp', 'sip:77@example.org']],
    ],
  );
  for (const words of [
    'has_hint without hint_exten',
    'has_phoneprov is dropped',
    'phoneprov/MAC',
    'colour of a wizard',
  ])
    assert.ok(linesUnder(report, 'Not supported').join('\n').includes(words), `${words}\n${report}`);
});

importing('a server of applications: users, addresses, outbound WebSockets', () => {
  const { yaml, report } = imported(applicationsOnly);
  const config = checked(yaml);
  assert.equal(config.http.users, [
    { name: 'desk', password: 'desk-secret', read_only: false, may_register: false },
    { name: 'wall', password: 'wall-secret', read_only: true, may_register: false },
    { name: 'old', password: 'made up', read_only: false, may_register: false },
  ]);
  assert.equal([config.http.bind, config.http.port, config.general.pretty], ['127.0.0.1', 9088, true]);
  assert.not.match(report, 'pretty');
  assert.equal(config.http.allowed_origins, ['https://desk.example.org']);
  assert.equal(Object.keys(config.applications), ['robot', 'safe']);
  assert.is(config.applications['safe']?.url, 'wss://robots.example.org/ari');
  const { url, apps, local_user, subscribe_all, connection_timeout, reconnect_attempts } =
    config.applications['robot']!;
  assert.equal(
    { url, apps, local_user, subscribe_all, connection_timeout, reconnect_attempts },
    {
      url: 'ws://127.0.0.1:9000/ari',
      apps: ['robot', 'robot2'],
      local_user: 'desk',
      subscribe_all: true,
      connection_timeout: 2,
      reconnect_attempts: 7,
    },
  );
  assert.equal(Object.keys(config.external_media.websockets), ['voice']);
  for (const words of [
    'the password of old is an unsupported hash',
    'prefix asterisk is dropped',
    'or not wss:// although it has to be encrypted',
  ])
    assert.ok(report.includes(words), words);
});

for (const { what, pjsip, endpoint, told } of [
  {
    what: 'a password that is a hash is made up',
    pjsip: '[a]\ntype=endpoint\nauth=a\nallow=ulaw\n[a]\ntype=auth\nauth_type=md5\nusername=a\nmd5_cred=00\n',
    endpoint: { auth: { username: 'a', password: 'made up' }, match: [] },
    told: 'until then it is random',
  },
  {
    what: 'an endpoint that names credentials that are not there lets nobody in',
    pjsip: '[a]\ntype=endpoint\nauth=gone\nallow=ulaw\n[a]\ntype=identify\nendpoint=a\nmatch=10.0.0.1\n',
    endpoint: { auth: { username: 'gone', password: 'made up' }, match: [] },
    told: 'auth gone does not exist',
  },
  {
    what: 'addresses of a line remain where a header or a request URI is another criterion',
    pjsip: '[a]\ntype=endpoint\nallow=ulaw\n[a]\ntype=identify\nendpoint=a\nmatch=192.0.2.9\nmatch_header=X-Line: 7\n',
    endpoint: { auth: undefined, match: ['192.0.2.9'] },
    told: 'match_header and match_request_uri are dropped',
  },
  {
    what: 'an endpoint that anybody could claim lets nobody in',
    pjsip: '[a]\ntype=endpoint\nallow=ulaw\naors=a\n[a]\ntype=aor\nmax_contacts=1\n',
    endpoint: { auth: undefined, match: [] },
    told: 'the endpoint admits no calls here',
  },
  {
    what: 'an address does not stand in for a password',
    pjsip:
      '[a]\ntype=endpoint\nauth=a\nallow=ulaw\nidentify_by=ip\n[a]\ntype=auth\nusername=a\npassword=p\n[a]\ntype=identify\nendpoint=a\nmatch=10.0.0.1\n',
    endpoint: undefined,
    told: 'endpoint a is dropped: Asterisk requires both its address and its password',
  },
  {
    what: 'audio that is to be encrypted in a way that is not there is not sent in the clear',
    pjsip: '[a]\ntype=endpoint\nauth=a\nallow=ulaw\nmedia_encryption=dtls\n',
    endpoint: undefined,
    told: 'its media encryption is not supported (dtls)',
  },
])
  importing(what, () => {
    const { yaml, report } = imported({ 'pjsip.conf': pjsip, 'extensions.conf': '[default]\nexten => 1,1,Answer()\n' });
    const found = checked(yaml).sip.endpoints['a'];
    assert.equal(found && { auth: found.auth, match: found.match }, endpoint);
    assert.ok(report.includes(told), report);
  });

importing('secret audio stays so, and a registration finds its line by its credentials', () => {
  const { yaml, report } = imported({
    'pjsip.conf': `[a]\ntype=endpoint\nauth=a\nallow=ulaw\nmedia_encryption=sdes\n[a]\ntype=auth\nusername=a\npassword=p
[b](!)\ntype=endpoint\nallow=alaw\nmedia_encryption=sdes\nmedia_encryption_optimistic=yes\noutbound_auth=out\n[b](b)\n[out]\ntype=auth\nusername=u\npassword=q
[reg]\ntype=registration\noutbound_auth=out\nserver_uri=sip:example.org\\;transport=tls\nclient_uri=sip:u@example.org\ncontact_user=77\nexpiration=600\n
[stray]\ntype=registration\noutbound_auth=other\nserver_uri=sip:other.example.org\n`,
    'extensions.conf': '[default]\nexten => 1,1,Answer()\n',
  });
  const { a, b } = checked(yaml).sip.endpoints;
  assert.equal([a?.media_encryption, b?.media_encryption], ['required', 'best_effort']);
  const [registration] = b?.registrations ?? [];
  assert.equal(
    [registration?.server, registration?.client, registration?.contact_user, registration?.expiration],
    ['sip:example.org;transport=tls', 'sip:u@example.org', '77', 600],
  );
  assert.ok(report.includes('the registration at sip:other.example.org belongs to no known endpoint'));
});

importing('calls that phones forward go on as it was said, and to the user that they name where nothing was', () => {
  const section = (name: string, method: string) =>
    `[${name}]\ntype=endpoint\nauth=${name}\n${method && `redirect_method=${method}\n`}[${name}]\ntype=auth\nusername=${name}\npassword=pw-${name}\n`;
  const { yaml, report } = imported({
    'pjsip.conf': ['user', 'uri_core', 'uri_pjsip', '']
      .map((method, index) => section(`phone${index}`, method))
      .join(''),
  });
  const { endpoints } = checked(yaml).sip;
  assert.equal(
    ['phone0', 'phone1', 'phone2', 'phone3'].map((name) => endpoints[name]?.redirect_method),
    ['user', 'uri_core', 'uri_core', 'user'],
  );
  assert.not(report.includes('redirect_method'));
});

importing('users of the HTTP interface come from where they may come there, or are dropped', () => {
  const user = (name: string, lines: string) => `[${name}]\ntype=user\npassword=pw\n${lines}\n`;
  const { yaml, report } = imported({
    'acl.conf': '[office]\ndeny=0.0.0.0/0\npermit=10.1.0.0/16\n',
    'ari.conf': [
      '[general]\nenabled=yes\nchannelvars=ACCOUNT,CHANNEL(language)\n',
      user('anywhere', ''),
      user('permitted', 'deny=0.0.0.0/0.0.0.0\npermit=192.168.7.0/255.255.255.0,[2001:db8::1]\ndeny=192.168.7.9'),
      user('denied', 'deny=10.0.0.0/8'),
      user('listed', 'acl=office'),
      user('nobody', 'deny=0.0.0.0/0'),
      user('excepted', 'deny=10.0.0.0/8\npermit=10.1.0.0/16'),
      user('odd', 'colour=green'),
    ].join(''),
  });
  const { http, general } = checked(yaml);
  assert.equal(
    http.users.map(({ name, allowed_addresses: allowed, denied_addresses: denied }) => [name, allowed, denied]),
    [
      ['anywhere', undefined, undefined],
      ['permitted', ['192.168.7.0/24', '2001:db8::1'], ['192.168.7.9']],
      ['denied', undefined, ['10.0.0.0/8']],
      ['listed', ['10.1.0.0/16'], []],
      ['odd', undefined, undefined],
    ].map(([name, allowed, denied]) => [name, allowed, denied?.length ? denied : undefined]),
  );
  assert.equal(general.channelvars, ['ACCOUNT', 'CHANNEL(language)']);
  for (const words of ['the user nobody is dropped', 'the user excepted is dropped', 'colour of users'])
    assert.ok(report.includes(words), report);
});

importing('an interface that is off there has no users here', () => {
  const { yaml, report } = imported({ 'ari.conf': '[general]\nenabled=no\n[a]\ntype=user\npassword=p\n' });
  assert.not.match(yaml, /name: a/);
  assert.ok(report.includes('ARI is off'), report);
});

importing('what an endpoint may not do there it may not do here, and what cannot be said is reported', () => {
  const { yaml, report } = imported({
    'pjsip.conf': `[a]\ntype=endpoint\nauth=a,b\nallow_transfer=no\nallow_subscribe=no\nsend_connected_line=no\ntimers=required
timers_sess_expires=600\ntimers_min_se=120\ntrust_connected_line=no\nrtp_timeout=60\naors=a
[a]\ntype=aor\nmailboxes=1@default\nmax_contacts=1
[a]\ntype=auth\nusername=a\npassword=p\nrealm=here
[b]\ntype=auth\nusername=b\npassword=q
[stray]\ntype=auth\nusername=s\npassword=r
[stray]\ntype=aor\nmax_contacts=1
[stray]\ntype=identify\nendpoint=gone\nmatch=10.0.0.1
[t]\ntype=transport\nbind=127.0.0.1\ncipher=AES
[global]\ntype=global\nendpoint_identifier_order=username,ip\n`,
  });
  const { a } = checked(yaml).sip.endpoints;
  assert.equal(
    [
      a?.allow_transfer,
      a?.subscribe_context,
      a?.send_connected_line,
      a?.timers,
      a?.timers_sess_expires,
      a?.timers_min_se,
    ],
    [false, 'no-subscriptions', false, 'required', 600, 120],
  );
  assert.equal(checked(yaml).dialplan['no-subscriptions'], {});
  for (const words of [
    'auth b is dropped: an endpoint has one user name',
    'auth stray belongs to no endpoint',
    'aor stray belongs to no endpoint',
    'identify stray belongs to no endpoint',
    'trust_connected_line of endpoints is not supported',
    'rtp_timeout of endpoints is not supported',
    'mailboxes of AORs is not supported',
    'realm of auth objects is not supported',
    'cipher of SIP transports is not supported',
    'endpoint_identifier_order of [global] of pjsip.conf is not supported',
  ])
    assert.ok(linesUnder(report, 'Not supported').join('\n').includes(words), `${words}\n${report}`);
});

importing('addresses of identify: IPv6 in brackets, and with a port, which is reported', () => {
  const { yaml, report } = imported({
    'pjsip.conf':
      '[a]\ntype=endpoint\n[a]\ntype=identify\nendpoint=a\nmatch=[::1],192.0.2.1:5060,[2001:db8::]/32,[2001:db9::1]:5080,2001:dba::1,192.0.2.0/24\n',
    'pjsip_wizard.conf': '[w]\ntype=wizard\nremote_hosts=[2001:db8::9]:5070,2001:db8::7\n',
  });
  const { a, w } = checked(yaml).sip.endpoints;
  assert.equal(a?.match, ['::1', '192.0.2.1', '2001:db8::/32', '2001:db9::1', '2001:dba::1', '192.0.2.0/24']);
  assert.equal(w?.match, ['2001:db8::9', '2001:db8::7']);
  const approximated = linesUnder(report, 'Approximated').join('\n');
  assert.ok(approximated.includes('match 192.0.2.1:5060: calls from any port of 192.0.2.1 are let in'), report);
  assert.ok(approximated.includes('match [2001:db9::1]:5080: calls from any port'), report);
});

importing('credentials of a registration are those of its line; others than the line has are reported', () => {
  const file = (own: string) => `[a]\ntype=endpoint\n${own}[r]\ntype=registration\nendpoint=a\noutbound_auth=out
server_uri=sip:example.org\noutbound_proxy=sip:proxy.example.org
[out]\ntype=auth\nusername=u\npassword=q\n[other]\ntype=auth\nusername=o\npassword=q\n`;
  const outbound = (own: string) => {
    const { yaml, report } = imported({ 'pjsip.conf': file(own) });
    return [checked(yaml).sip.endpoints['a']?.outbound_auth?.username, report] as const;
  };
  const [taken, told] = outbound('');
  assert.is(taken, 'u');
  assert.ok(told.includes('outbound_proxy of registrations is not supported'), told);
  const [kept, said] = outbound('outbound_auth=other\n');
  assert.is(kept, 'o');
  assert.ok(said.includes('outbound_auth out is dropped: an endpoint has one, other'), said);
});

importing('a server of audio gets the user and password that Asterisk sent it', () => {
  const { yaml, report } = imported({
    'websocket_client.conf':
      '[voice]\ntype=websocket_client\nuri=ws://192.0.2.1/media\nprotocols=media\nusername=name\npassword=a:secret\n',
  });
  assert.equal(checked(yaml).external_media.websockets['voice']?.headers, [
    'Authorization: Basic bmFtZTphOnNlY3JldA==',
  ]);
  assert.equal(linesUnder(report, 'Not supported'), []);
});

importing('a server of audio that is to be encrypted is not connected to in the clear', () => {
  const { yaml, report } = imported({
    'websocket_client.conf':
      '[voice]\ntype=websocket_client\nuri=ws://192.0.2.1/media\ntls_enabled=yes\nca_list_file=/ca.pem\n',
  });
  assert.equal(checked(yaml).external_media.websockets, {});
  assert.ok(report.includes('ws://192.0.2.1/media is dropped'), report);
  assert.ok(report.includes('ca_list_file of WebSockets is not supported'), report);
});

importing('a file that is not read makes the import fail, and the report says how to mend it', () =>
  withDirectory((directory) => {
    const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
    let count = 0;
    const run = (make: (place: string) => void) => {
      const place = join(directory, `asterisk${++count}`);
      mkdirSync(place);
      writeFileSync(join(place, 'pjsip.conf'), '[a]\ntype=endpoint\n');
      make(place);
      const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'import', '--from', place], {
        encoding: 'utf8',
      });
      assert.equal([status, stdout], [1, ''], stderr);
      assert.ok(stderr.includes('nothing was imported'), stderr);
      return linesUnder(stderr, 'Not read').join('\n');
    };
    writeFileSync(join(directory, 'elsewhere.conf'), '[c]\nexten => 1,1,Hangup\n');
    const file = 'extensions.conf';
    const link = (target: string) => (place: string) => symlinkSync(target, join(place, file));
    assert.match(
      run(link(join(directory, 'elsewhere.conf'))),
      /^extensions\.conf: .* symbolic link out of the directory/,
    );
    assert.match(run(link(join(directory, 'gone.conf'))), /^extensions\.conf: .* link to a missing file/);
    assert.match(
      run((place) => writeFileSync(join(place, 'Extensions.Conf'), '[c]\n')),
      /^extensions\.conf: extensions\.conf is missing, but Extensions\.Conf exists; rename/,
    );
    assert.match(
      run((place) => writeFileSync(join(place, file), '#include Phones.conf\n')),
      /^extensions\.conf:1: Phones\.conf does not exist$/,
    );
  }),
);

importing('sip.conf: the report names the converter', () => {
  assert.match(imported({ 'sip.conf': '[general]\n' }).report, /sip_to_pjsip\.py/);
});

importing('files that a pattern fits are included: * for any letters, ? for one', () =>
  withDirectory((directory) => {
    for (const name of ['ab.conf', 'axxb.conf', 'a1.conf', 'b.conf', 'a.txt']) writeFileSync(join(directory, name), '');
    const { matching } = directoryFiles(directory);
    assert.equal(
      ['a*b.conf', 'a?.conf', '*', '*.t*t', 'gone/*', '?'].map((pattern) => matching(pattern)),
      [
        ['ab.conf', 'axxb.conf'],
        ['a1.conf', 'ab.conf'],
        ['a.txt', 'a1.conf', 'ab.conf', 'axxb.conf', 'b.conf'],
        ['a.txt'],
        [],
        [],
      ],
    );
  }),
);

importing('an access list for everybody keeps SIP on this machine', () => {
  const { yaml, report } = imported({
    'pjsip.conf': '[t]\ntype=transport\nbind=0.0.0.0\n[list]\ntype=acl\ndeny=10.0.0.0/8\n',
  });
  assert.equal(checked(yaml).sip.transports[0]?.bind, '127.0.0.1');
  assert.ok(report.includes('a SIP access list cannot be expressed by allow.sources'));
});

importing('access lists that name whom they let in say so of the endpoints; others leave these out', () => {
  const phone = (name: string, more: string) =>
    `[${name}]\ntype=endpoint\nauth=${name}\naors=${name}\ncontext=c\nallow=ulaw\n${more}\n[${name}]\ntype=aor\nmax_contacts=1\n[${name}]\ntype=auth\nusername=${name}\npassword=pw\n`;
  const files = {
    'pjsip.conf': [
      '[t]\ntype=transport\nbind=0.0.0.0\nlocal_net=192.168.0.0/255.255.0.0\nlocal_net=10.0.0.0/8\n',
      phone('open', ''),
      phone('listed', 'acl=office'),
      phone('own', 'deny=0.0.0.0/0.0.0.0\npermit=192.168.7.0/255.255.255.0\npermit=10.1.2.3'),
      phone('both', 'acl=office,office\ndeny=0.0.0.0/0\npermit=10.9.0.0/16'),
      phone('excepted', 'deny=10.0.0.0/8'),
      phone('nobody', 'acl=closed'),
      phone('gone', 'acl=nowhere'),
    ].join(''),
    'acl.conf': '[office]\ndeny=0.0.0.0/0\npermit=10.1.0.0/16\n[closed]\npermit=10.0.0.0/8\ndeny=0.0.0.0/0\n',
    'extensions.conf': '[c]\nexten => 1,1,Hangup\n',
  };
  const { yaml, report } = imported(files);
  const { sip } = checked(yaml);
  assert.equal(
    Object.entries(sip.endpoints).map(([name, { allow }]) => [name, allow.sources]),
    [
      ['open', []],
      ['listed', ['10.1.0.0/16']],
      ['own', ['192.168.7.0/24', '10.1.2.3']],
    ],
  );
  assert.equal(sip.local_networks, ['192.168.0.0/16', '10.0.0.0/8']);
  for (const name of ['both', 'excepted', 'gone'])
    assert.ok(report.includes(`endpoint ${name} is dropped: its access`));
  assert.ok(report.includes('endpoint nobody is dropped: its access list admits no address'));

  const all = imported({ ...files, 'pjsip.conf': `${files['pjsip.conf']}[all]\ntype=acl\nacl=office\n` });
  const both = checked(all.yaml).sip;
  assert.equal(
    [both.transports[0]?.bind, Object.entries(both.endpoints).map(([name, { allow }]) => [name, allow.sources])],
    [
      '0.0.0.0',
      [
        ['open', ['10.1.0.0/16']],
        ['listed', ['10.1.0.0/16']],
      ],
    ],
  );
});

importing('what is included at certain times is gone to at these, and elsewhere or nowhere at others', () => {
  const { yaml, report } = imported({
    'extensions.conf': [
      '[main]\nexten => 100,1,NoOp\ninclude => day,9:00-17:00,mon-fri\ninclude => night,17:00-9:00,*,*,*\ninclude => always',
      '[day]\nexten => 100,1,Hangup\nexten => 200,1,NoOp(day)\nexten => _3XX,1,NoOp(day)',
      '[night]\nexten => 200,1,NoOp(night)',
      '[always]\nexten => _3XX,1,NoOp(always)',
    ].join('\n'),
  });
  assert.equal(checked(yaml).dialplan['main'], {
    include: ['always'],
    '100': ['NoOp'],
    '200': [
      'GotoIfTime(9:00-17:00,mon-fri,*,*?day,${EXTEN},1)',
      'GotoIfTime(17:00-9:00,*,*,*?night,${EXTEN},1)',
      'Hangup(UNALLOCATED)',
    ],
    _3XX: ['GotoIfTime(9:00-17:00,mon-fri,*,*?day,${EXTEN},1)', 'Goto(always,${EXTEN},1)'],
  });
  assert.ok(report.includes('day is included at certain times'));
});

importing('nothing is read outside of the directory, and what includes itself ends', () =>
  withDirectory((directory) => {
    const inside = join(directory, 'asterisk');
    mkdirSync(inside);
    writeFileSync(join(directory, 'secret.conf'), '[secret]\npassword=outside\n');
    symlinkSync(join(directory, 'secret.conf'), join(inside, 'link.conf'));
    writeFileSync(join(inside, 'round.conf'), '#include round.conf\n');
    writeFileSync(
      join(inside, 'a.conf'),
      '#include ../secret.conf\n#include /etc/passwd\n#include link.conf\n#include round.conf\n#include gone.conf\n#tryinclude gone.conf\n#include ../*.conf\n#include /etc/asterisk/b.conf\n#exec /bin/date\n',
    );
    writeFileSync(join(inside, 'b.conf'), '[b]\nx=1\n');
    const told: string[] = [];
    const sections = readSections(directoryFiles(inside), 'a.conf', (place, message) =>
      told.push(`${place} ${message}`),
    );
    assert.equal(sections, [
      {
        name: 'b',
        place: '/etc/asterisk/b.conf:1',
        entries: [{ key: 'x', value: '1', place: '/etc/asterisk/b.conf:2' }],
      },
    ]);
    assert.equal(told, [
      'a.conf:1 ../secret.conf is outside the directory and was not read',
      'a.conf:2 /etc/passwd is outside the directory and was not read',
      'a.conf:3 link.conf is a symbolic link out of the directory and was not read; copy the files with `cp -RL` first',
      'round.conf:1 more than 10 files include one another',
      'a.conf:5 gone.conf does not exist',
      'a.conf:7 ../*.conf is outside the directory and was not read',
      'a.conf:9 #exec /bin/date is not run; put its output into a file',
    ]);
  }),
);

/** Files of memory. */
const memory = (files: Record<string, string>) => ({
  read: (name: string) => (files[name] === undefined ? { missing: true as const } : { text: files[name] }),
  matching: () => [],
});

importing('templates, lists that go on, and comments', () => {
  const text =
    '[a](!)\nx = 1 ; one\nlist = a\n[b](!,a)\ny => 2\\;3\n[c](b)\nlist += b\nx=4\n;-- out\n[d]\n--;z=5\n[c](+)\nw=6\n[e](nobody)\nlost\n';
  const told: string[] = [];
  const sections = readSections(memory({ 'a.conf': text }), 'a.conf', (place, message) =>
    told.push(`${place} ${message}`),
  );
  assert.equal(
    sections?.map(({ name, entries }) => [name, entries.map(({ key, value }) => `${key}=${value}`)]),
    [
      ['c', ['x=1', 'list=a,b', 'y=2;3', 'x=4', 'z=5', 'w=6']],
      ['e', []],
    ],
  );
  assert.equal(told, ['a.conf:14 there is no template "nobody"', 'a.conf:15 is not key=value and is dropped']);
});

importing('templates that double do not eat the memory', () => {
  let text = '[t0](!)\nx=1\n';
  for (let n = 1; n < 60; n++) text += `[t${n}](!,t${n - 1},t${n - 1})\n`;
  const sections = readSections(memory({ 'a.conf': `${text}[end](t59)\n` }), 'a.conf', () => {});
  assert.is(sections?.length, 1);
});

importing('whatever stands in the files, something comes out that check accepts', () => {
  const word = fc.constantFrom(
    'type',
    'endpoint',
    'auth',
    'aor',
    'exten',
    'same',
    'include',
    'a',
    's',
    '1',
    'n',
    'hint',
    '_X.',
    'Dial(PJSIP/a)',
    'Goto(b,c)',
    'ExecIf(1?Hangup():Nope())',
    '${',
    '$[',
    '(',
    ')',
    ',',
    '=>',
    '=',
    '[',
    ']',
    '(!)',
    '+=',
    '\n',
    '\n[a]',
    ';--',
    'match',
    '0.0.0.0/0',
    'Set(X=1)',
    'n(l)',
  );
  const text = fc.array(fc.oneof(word, fc.string()), { maxLength: 40 }).map((words) => words.join(' '));
  fc.assert(
    fc.property(text, text, text, (pjsip, extensions, ari) => {
      const { yaml } = imported({ 'pjsip.conf': pjsip, 'extensions.conf': extensions, 'ari.conf': ari });
      checked(yaml);
    }),
    { numRuns: 60 },
  );
});

importing('the command writes the configuration on standard output and the report on standard error', () =>
  withDirectory((directory) => {
    const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
    const run = (...args: string[]) => spawnSync(process.execPath, [cli, 'import', ...args], { encoding: 'utf8' });
    for (const [name, text] of Object.entries(applicationsOnly)) writeFileSync(join(directory, name), text);
    const made = run('--from', directory);
    assert.is(made.status, 0);
    assert.equal(checked(made.stdout).http.port, 9088);
    assert.match(made.stderr, /^Imported:\n(?: .*\n)* {2}3 users of the HTTP interface\n/);
    assert.equal([run().status, run('--from', join(directory, 'gone')).status], [2, 1]);
    mkdirSync(join(directory, 'empty'));
    const empty = run('--from', join(directory, 'empty'));
    assert.equal([empty.status, empty.stdout], [1, '']);
    assert.match(empty.stderr, /no Asterisk configuration found in/);
  }),
);

importing.run();
