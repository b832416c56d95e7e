import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConfigError, loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import { validate } from '../../src/dialplan/parse.ts';

const directory = mkdtempSync(join(tmpdir(), 'hookswitch-config-'));
const file = join(directory, 'hookswitch.yaml');

type Env = Record<string, string>;
const load = (yaml: string, env: Env = {}): Config => {
  writeFileSync(file, yaml);
  return loadConfig({ file, env, checkDialplan: validate, secret: () => 'made up' });
};

/** The problems as `line:column path: message`, or none. */
const problemsOf = (yaml: string, env: Env = {}): string[] => {
  try {
    load(yaml, env);
    return [];
  } catch (error) {
    assert.instance(error, ConfigError);
    return (error as ConfigError).problems.map(({ where, path, message }) =>
      [where.replace(`${file}:`, ''), path, message].join(' '),
    );
  }
};

test('no message about a wrong address shows the password in it', () => {
  for (const address of [
    'http:/me:SECRET@h o',
    'wss//me:SECRET@host',
    'me:SECRET@host:1',
    '://x:SECRET@',
    'ftp://h/?token=SECRET',
  ])
    for (const yaml of [
      `applications: { a: { url: '${address}' } }`,
      `external_media: { websockets: { a: { url: '${address}' } } }`,
      `cdr: { webhook: { url: '${address}' } }`,
      `hep: { server: '${address}' }`,
      `sip: { stun_server: '${address}' }`,
      `sip: { dns: { servers: ['${address}'] } }`,
      `sip: { endpoints: { a: { registrations: [{ server: '${address}' }] } } }`,
      `sip: { endpoints: { a: { outbound_proxy: '${address}' } } }`,
      `http: { allowed_origins: ['${address}'] }`,
      `http: { port: '${address}' }`,
    ]) {
      const shown = problemsOf(yaml).join('\n');
      assert.not.match(shown, 'SECRET', `${yaml}\n${shown}`);
    }
});

test('without a file the server serves this machine only, with two phones and a user', () => {
  const config = loadConfig({ env: {}, secret: () => 'made up' });
  assert.is(config.http.bind, '127.0.0.1');
  assert.is(config.http.port, 8088);
  assert.equal(config.http.users, [{ name: 'hookswitch', read_only: false, may_register: false, password: 'made up' }]);
  assert.equal(config.sip.transports, [
    { protocol: 'udp', bind: '127.0.0.1', port: 5060 },
    { protocol: 'tcp', bind: '127.0.0.1', port: 5060 },
  ]);
  assert.is(config.media.rtp_address, '127.0.0.1');
  assert.equal(config.media.rtp_ports, [10_000, 20_000]);
  assert.equal(Object.keys(config.sip.endpoints), ['alice', 'bob', 'anonymous']);
  assert.equal(config.sip.endpoints['alice']?.auth, { username: 'alice', password: 'made up' });
  assert.is(config.sip.endpoints['anonymous']?.auth, undefined);
  assert.equal(config.sip.endpoints['anonymous']?.match, ['127.0.0.1', '::1']);
  assert.equal(config.dialplan, {
    default: {
      hints: { '201': 'PJSIP/alice', '202': 'PJSIP/bob' },
      '_X.': ['Stasis(hello,${EXTEN})'],
      '201': ['Dial(PJSIP/alice,30)'],
      '202': ['Dial(PJSIP/bob,30)'],
      echo: ['Answer', 'Echo'],
      s: ['Answer', 'Wait(60)'],
      '1000': ['Answer', 'Wait(60)'],
    },
  });
  assert.is(config.generated_password, 'made up');
});

test('one password is made up for all that have none, and not told when the environment gives it', () => {
  let made = 0;
  const config = loadConfig({ env: {}, secret: () => `secret ${++made}` });
  assert.is(made, 1);
  assert.is(config.sip.endpoints['bob']?.auth?.password, config.http.users[0]?.password);

  const given = loadConfig({ env: { HOOKSWITCH_PASSWORD: 'given' }, secret: () => 'made up' });
  assert.is(given.http.users[0]?.password, 'given');
  assert.is(given.sip.endpoints['bob']?.auth?.password, 'given');
  assert.is(given.generated_password, undefined);
});

test('a password of one’s own stays, and with a hash none is made up', () => {
  const config = load(
    `http: { users: [{ name: a, password: own }, { name: b, password_hash: 'scrypt$2$1$1$AAAA$AAAAAAAAAAAAAAAAAAAAAA==' }] }
sip: { endpoints: { carol: { auth: { username: carol, password: hers } } } }`,
    { HOOKSWITCH_PASSWORD: 'given' },
  );
  assert.equal(
    config.http.users.map(({ password }) => password),
    ['own', undefined],
  );
  assert.is(config.sip.endpoints['carol']?.auth?.password, 'hers');
  assert.is(config.generated_password, undefined);
});

test('the standard password maker makes 20 letters that differ each time', () => {
  const [one, two] = [loadConfig({ env: {} }), loadConfig({ env: {} })];
  assert.match(one.generated_password ?? '', /^[A-Za-z0-9]{20}$/);
  assert.is.not(one.generated_password, two.generated_password);
});

test('what the file leaves out keeps its default; lists and named things are replaced', () => {
  const config = load(`
http: { port: 9000 }
sip:
  endpoints:
    carol: { context: inside }
dialplan:
  inside: { 100: [Answer] }
`);
  assert.is(config.http.port, 9000);
  assert.is(config.http.bind, '127.0.0.1');
  assert.equal(Object.keys(config.sip.endpoints), ['carol']);
  assert.is(config.sip.endpoints['carol']?.aor.qualify_timeout, 3);
  assert.equal(config.dialplan, { inside: { '100': ['Answer'] } });
});

test('an empty file is the default configuration', () => {
  assert.equal(problemsOf(''), []);
  assert.equal(problemsOf('# nothing\nhttp:\n'), []);
});

test('a setting is read by its old name, too; its new name wins', () => {
  const warmUp = (media: string) => load(`media: { ${media} }`).media.warm_up;
  assert.equal(['rehearsal: false', 'warm_up: false', 'rehearsal: true, warm_up: false', ''].map(warmUp), [
    ...[false, false, false, true],
  ]);
  assert.equal(problemsOf('media: { rehearsal: 1 }'), ['1:1 media.warm_up expected true or false, found 1']);
  const away = (text: string) => load(text).away_policies['desk']?.after;
  assert.is(away('absences: { desk: { after: 5 } }'), 5);
  assert.is(away('absences: { desk: { after: 5 } }\naway_policies: { desk: { after: 7 } }'), 7);
});

test('an away policy that moves calls names another application', () => {
  const problems = (policy: string) => problemsOf(`away_policies: { desk: ${policy} }`).join();
  assert.is(problems('{ action: move, move_to: night }'), '');
  assert.is(problems('{ action: hangup }'), '');
  assert.match(problems('{ action: move }'), /away_policies\.desk\.move_to `action: move` needs move_to/);
  assert.match(problems('{ action: move, move_to: desk }'), /names the application that is away itself/);
});

test('the environment stands above the file', () => {
  const config = load('http: { port: 9000, bind: 10.0.0.1 }\nsip: { transports: [{ protocol: tcp, port: 7000 }] }', {
    HOOKSWITCH_HTTP_PORT: '0',
    HOOKSWITCH_HTTP_BIND: '::1',
    HOOKSWITCH_SIP_PORT: '5070',
    HOOKSWITCH_SIP_BIND: '0.0.0.0',
    HOOKSWITCH_RTP_PORTS: '30000-30100',
    HOOKSWITCH_RTP_ADDRESS: '10.0.0.2',
    HOOKSWITCH_LOG_LEVEL: 'debug',
    HOOKSWITCH_DATA: '/var/lib/hookswitch',
    HOOKSWITCH_RECORDINGS: '/var/spool/hookswitch',
  });
  assert.is(config.http.port, 0);
  assert.is(config.http.bind, '::1');
  assert.equal(config.sip.transports, [{ protocol: 'tcp', bind: '0.0.0.0', port: 5070 }]);
  assert.equal(config.media.rtp_ports, [30_000, 30_100]);
  assert.is(config.media.rtp_address, '10.0.0.2');
  assert.is(config.general.log_level, 'debug');
  assert.is(config.general.data_directory, '/var/lib/hookswitch');
  assert.is(config.recordings.directory, '/var/spool/hookswitch');
});

test('the environment alone changes both default transports, and an empty variable changes nothing', () => {
  const config = loadConfig({ env: { HOOKSWITCH_SIP_PORT: '0', HOOKSWITCH_HTTP_PORT: '' }, secret: () => 'x' });
  assert.equal(
    config.sip.transports.map(({ port }) => port),
    [0, 0],
  );
  assert.is(config.http.port, 8088);
});

test('HOOKSWITCH_CONFIG names the file unless the command line does', () => {
  writeFileSync(file, 'http: { port: 9001 }');
  assert.is(loadConfig({ env: { HOOKSWITCH_CONFIG: file } }).http.port, 9001);
  const other = join(directory, 'other.yaml');
  writeFileSync(other, 'http: { port: 9002 }');
  assert.is(loadConfig({ file: other, env: { HOOKSWITCH_CONFIG: file } }).http.port, 9002);
});

test('relative directories start at the file; builtin prompts are those of the program', () => {
  const config = load(
    'general: { data_directory: d }\nrecordings: { directory: /r }\nsounds: { directories: [mine, builtin] }',
  );
  assert.is(config.general.data_directory, join(directory, 'd'));
  assert.is(config.recordings.directory, '/r');
  assert.equal(config.sounds.directories, [join(directory, 'mine'), new URL('../../sounds', import.meta.url).pathname]);
});

test('extensions and names of digits stay as they are written', () => {
  const config = load('dialplan: { default: { 0100: [Answer], 1e3: [Answer], +49: [Answer] } }');
  assert.equal(Object.keys(config.dialplan['default'] ?? {}), ['0100', '1e3', '+49']);
});

const problems = suite('what is wrong');

problems('everything wrong is told at once, with its line, its path and what was meant', () => {
  const yaml = `general:
  log_levl: debug
  validate: maybe
http:
  port: 99999
  limits: { body: 5.5 }
  users:
    - nme: y
sip:
  endpoints:
    carol:
      context: defualt
      auth: { username: 1000, password: "0100" }
      match: [300.1.1.1]
media: { codecs: [ulow], rtp_ports: [1] }
dialplan:
  default:
    100: [ Anser() ]
`;
  assert.equal(problemsOf(yaml), [
    '2:3 general.log_levl unknown key; did you mean `log_level`?',
    '3:3 general.validate expected true or false, found "maybe"',
    '5:3 http.port expected a whole number from 0 to 65535, found 99999',
    '6:13 http.limits.body expected a whole number from 1024 to 16777216 (bytes), found 5.5',
    '8:7 http.users[0].nme unknown key; did you mean `name`?',
    '8:7 http.users[0] `name` is missing',
    '13:15 sip.endpoints.carol.auth.username expected text: put it in quotes, found 1000',
    '14:15 sip.endpoints.carol.match[0] expected an IP address or a network such as 10.1.0.0/16, found "300.1.1.1"',
    '15:19 media.codecs[0] expected one of ulaw, alaw, g722, opus, slin, slin12, slin16, slin24, slin32, slin44, slin48, found "ulow"; did you mean `ulaw`?',
    '15:26 media.rtp_ports expected 2 values, found [1]',
    '18:12 dialplan.default.100[0] unknown application "Anser"',
  ]);
});

problems('a wrong value of the environment is told with the name of the variable', () => {
  assert.equal(problemsOf('', { HOOKSWITCH_HTTP_PORT: 'web', HOOKSWITCH_RTP_PORTS: '20000-10000' }), [
    'HOOKSWITCH_HTTP_PORT http.port expected a whole number from 0 to 65535, found "web"',
    'HOOKSWITCH_RTP_PORTS media.rtp_ports the first port (20000) must not exceed the last (10000)',
  ]);
});

problems('a connection to a program has a URL, applications and protocols that can be', () => {
  const yaml = `applications:
  one: { url: 'http://10.0.0.9/', apps: [], local_user: a, protocols: ['a b'] }
  two: { url: 'ws://me:secret@10.0.0.9/', apps: ['c,d'], local_user: a, type: percall }
`;
  assert.equal(problemsOf(yaml), [
    '2:10 applications.one.url expected a URL such as ws://10.0.0.9:9000/ari, without a user, found "http://10.0.0.9/"',
    '2:35 applications.one.apps the list is empty; expected at least one entry',
    '2:72 applications.one.protocols[0] expected the name of a protocol, such as ari, found "a b"',
    '3:10 applications.two.url expected a URL such as ws://10.0.0.9:9000/ari, without a user, found "ws://***@10.0.0.9/"',
    '3:50 applications.two.apps[0] expected 1 to 73 characters without a comma, found "c,d"',
    '3:73 applications.two.type expected one of persistent, per_call, found "percall"; did you mean `per_call`?',
  ]);
});

problems('a connection to a program has a user that there is, and applications that no other has', () => {
  const yaml = `http: { users: [{ name: a, password: b }] }
applications:
  one: { url: 'ws://10.0.0.9:9000/ari', apps: [x, y], local_user: a }
  two: { url: 'ws://10.0.0.9/', apps: [z, x], local_user: b }
`;
  assert.equal(problemsOf(yaml), [
    '4:43 applications.two.apps[1] `x` is already listed under `one`',
    '4:47 applications.two.local_user there is no user `b` in http.users',
  ]);
});

problems('a connection to a program has a token or a user name, and tokens that can be', () => {
  const of = (more: string) =>
    problemsOf(`http: { users: [{ name: a, password: b }] }
applications:
  one: { url: 'ws://10.0.0.9:9000/ari', apps: [x], local_user: a, ${more} }
`);
  assert.equal(of('username: me, token: abc'), ['3:81 applications.one.token give `token` or `username`, not both']);
  assert.equal(of("token: 'a b'"), [
    '3:67 applications.one.token not a bearer token (RFC 6750 2.1); allowed are letters, digits and -._~+/, then =',
  ]);
  assert.equal(of('local_token: secret'), [
    '3:67 applications.one.local_token not a token of this server; its tokens begin with hst_',
  ]);
  assert.equal(of('token: abc.def==, local_token: hst_abc'), []);
});

problems('a context that the dialplan does not have is told', () => {
  assert.equal(problemsOf('sip:\n  endpoints:\n    carol:\n      context: defualt\n'), [
    '4:7 sip.endpoints.carol.context the dialplan has no context `defualt`; did you mean `default`?',
  ]);
});

problems('what the dialplan itself objects to is told with its line', () => {
  const yaml = `dialplan:
  default:
    s:
      - Answer
      - Wait(60
      - { label: a, app: Jump() }
    a/b~c: [Jump()]
    _[12X: [Answer]
`;
  const found = problemsOf(yaml).map((line) => line.split(' ').slice(0, 2).join(' '));
  assert.equal(found, [
    '5:9 dialplan.default.s[1]',
    '6:9 dialplan.default.s[2]',
    '7:13 dialplan.default["a/b~c"][0]',
    '8:5 dialplan.default["_[12X"]',
  ]);
});

problems('a step with a label names an app, and the other way round', () => {
  assert.equal(problemsOf('dialplan: { default: { s: [{ app: Answer }, { label: a }, 60] } }'), [
    '1:28 dialplan.default.s[0] `label` is missing',
    '1:45 dialplan.default.s[1] `app` is missing',
    '1:59 dialplan.default.s[2] expected text: put it in quotes, found 60',
  ]);
});

for (const [what, yaml, wanted] of [
  [
    'users of one name',
    'http: { users: [{ name: a }, { name: a }] }',
    'there are two users named `a`; give each a name of its own',
  ],
  [
    'two kinds of password',
    'http: { users: [{ name: a, password: p, password_hash: scrypt$2$1$1$AAAA$AAAAAAAAAAAAAAAAAAAAAA== }] }',
    'not both',
  ],
  ['an empty password', 'http: { users: [{ name: a, password: "" }] }', 'the password is empty'],
  ['a hash that is none', 'http: { users: [{ name: a, password_hash: md5 }] }', 'a hash made by `hookswitch hash`'],
  ['a user name with a colon', 'http: { users: [{ name: "a:b" }] }', 'without a colon'],
  ['an origin with a path', 'http: { allowed_origins: "https://a.example/x" }', 'expected an origin'],
  ['an address that is a name', 'http: { bind: localhost }', 'expected an IP address'],
  ['a transport twice', 'sip: { transports: [{ protocol: udp }, { protocol: udp }] }', 'is configured twice'],
  [
    'a codec that is not here',
    'media: { codecs: [ulaw, g729] }',
    'g729 is not supported; expected one of ulaw, alaw, g722, opus,',
  ],
  [
    'a video codec that is not here',
    'sip: { endpoints: { a: { video_codecs: [H265] } } }',
    'H265 is not supported; expected one of vp8,',
  ],
  ['an unknown transport', 'sip: { transports: [{ protocol: udb }] }', 'did you mean `udp`?'],
  ['a SIP URI without a scheme', 'sip: { endpoints: { a: { aor: { contacts: [10.0.0.1] } } } }', 'expected a SIP URI'],
  ['a name with a slash', 'sip: { endpoints: { a/b: {} } }', 'a name must not contain spaces, "/", "@" or ";"'],
  ['no codec', 'media: { codecs: [] }', 'the list is empty; expected at least one entry'],
  ['one RTP port', 'media: { rtp_ports: [10000, 10000] }', 'each call needs two ports'],
  [
    'a certificate for browsers without its key',
    'media: { webrtc: { certificate: calls.pem } }',
    'media.webrtc.key give `certificate` and `key`, or neither',
  ],
  [
    'a port of all browsers that is one of RTP',
    'media: { webrtc: { udp_port: 10001 } }',
    'media.webrtc.udp_port the port (10001) is one of media.rtp_ports',
  ],
  ['no ICE candidate', 'media: { webrtc: { candidates: 0 } }', 'media.webrtc.candidates'],
  ['one that is a port of SIP', 'media: { webrtc: { udp_port: 5060 } }', 'is a port of SIP by UDP'],
  ['one with two media threads', 'media: { threads: 2, webrtc: { udp_port: 443 } }', 'needs one media thread'],
  [
    'one with a TURN server by UDP',
    "media: { webrtc: { udp_port: 443, gathering: { turn: 'turn:192.0.2.1' } } }",
    'needs a TURN server by TCP or TLS',
  ],
  ['a list where keys belong', 'http: [1]', 'expected a mapping of keys and values, found [1]'],
  ['a list at the top', '[1]', 'expected a mapping of keys and values at the top'],
  ['a section twice', 'http: {}\nhttp: {}', 'Map keys must be unique'],
  ['broken YAML', 'http: { port: 1', 'Flow map'],
] as const)
  problems(`${what} is refused`, () => {
    const found = problemsOf(yaml);
    assert.is(found.length, 1, found.join('\n'));
    assert.ok(found[0]?.includes(wanted), found[0]);
  });

problems('a file that is not there is told by its name', () => {
  assert.throws(
    () => loadConfig({ file: '/no/such/file.yaml', env: {} }),
    (error: Error) =>
      error instanceof ConfigError && error.message.startsWith('/no/such/file.yaml: cannot be read: ENOENT'),
  );
});

problems('a file of aliases that would unfold without end is refused', () => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
  for (const [to, from] of ['ba', 'cb', 'dc', 'ed'].map((pair) => [pair[0], pair[1]]))
    bomb.push(`${to}: &${to} [*${from}, *${from}, *${from}, *${from}, *${from}, *${from}, *${from}, *${from}]`);
  assert.equal(
    problemsOf(bomb.join('\n')).map((line) => line.replace(/^.*?yaml /, '')),
    [' Excessive alias count indicates a resource exhaustion attack'],
  );
});

test.after(() => rmSync(directory, { recursive: true }));

test('endpoints have what their templates say; later ones win, and what they say themselves over all', () => {
  const { endpoints, templates } = load(`sip:
  templates:
    base: { context: default, codecs: [alaw], aor: { max_contacts: 3, qualify_frequency: 60 } }
    desk: { extends: base, language: de, aor: { max_contacts: 2 } }
    loud: { language: en, auth: { username: shared, password: p } }
  endpoints:
    carol: { extends: [desk, loud], auth: { username: carol }, aor: { qualify_timeout: 5 } }
    dave: { extends: 'loud, desk', codecs: [ulaw], language: }
`).sip;
  const { carol, dave } = endpoints;
  assert.equal(
    [
      carol?.language,
      carol?.codecs,
      carol?.auth,
      carol?.aor.max_contacts,
      carol?.aor.qualify_frequency,
      carol?.aor.qualify_timeout,
    ],
    ['en', ['alaw'], { username: 'carol', password: 'p' }, 2, 60, 5],
  );
  assert.equal([dave?.language, dave?.codecs, dave?.auth?.username], ['de', ['ulaw'], 'shared']);
  assert.equal(templates, {});
});

for (const { what, yaml, problems } of [
  {
    what: 'a template that is not there',
    yaml: 'sip:\n  templates: { desk: {} }\n  endpoints:\n    carol: { extends: [dsek] }\n',
    problems: ['4:14 sip.endpoints.carol.extends sip.templates has no template `dsek`; did you mean `desk`?'],
  },
  {
    what: 'templates that extend themselves',
    yaml: 'sip:\n  templates:\n    a: { extends: b }\n    b: { extends: c }\n    c: { extends: a }\n  endpoints:\n    carol: { extends: a }\n',
    problems: ['3:10 sip.templates.a.extends the template extends itself: a → b → c → a'],
  },
  {
    what: 'wrong settings of a template, told once',
    yaml: 'sip:\n  templates:\n    a: { codec: ulaw, symmetric: loud }\n  endpoints:\n    carol: { extends: a }\n',
    problems: [
      '3:10 sip.templates.a.codec unknown key; did you mean `codecs`?',
      '3:23 sip.templates.a.symmetric expected true or false, found "loud"',
    ],
  },
  {
    what: 'a template that is none',
    yaml: 'sip:\n  templates: { a: 1 }\n  endpoints: { carol: {} }\n',
    problems: ['2:16 sip.templates.a expected a mapping of keys and values, found 1'],
  },
])
  test(`${what}`, () => assert.equal(problemsOf(yaml), problems));

problems.run();
test.run();
