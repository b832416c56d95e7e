import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseCallerId } from '../../src/dialplan/caller-id.ts';
import {
  functionNames,
  isFunction,
  readFunction,
  readSystemFunction,
  writeFunction,
  writeSystemFunction,
} from '../../src/dialplan/functions.ts';
import { readVariable, readVariableOrFunction } from '../../src/dialplan/variables.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { FakeChannel } from './fake-channel.ts';

const clock = new ManualClock(1_700_000_000_500);
/** Variables that functions of texts are given by name. */
const variables: Record<string, string> = { LIST: 'a-b-c-d', COMMAS: 'x,y', NUMBER: '+49 (30) 12', EMPTY: '' };
const values = { value: (name: string) => variables[name] ?? '', now: () => clock.now() };

function channelWithEverything(): FakeChannel {
  const channel = new FakeChannel();
  channel.identity = {
    ...{ name: 'Alice', number: '1001', dnid: '600', ani: '1009', presentation: 0x20 },
    redirection: {
      from: { name: 'Bob', number: '700', presentation: 0x20 },
      orig: { name: '', number: '701' },
      reason: 'cfnr',
      count: 2,
    },
  };
  channel.connected = { name: '', number: '2002' };
  channel.globals.set('OFFICE', 'berlin');
  channel.devices.set('PJSIP/alice', 'INUSE');
  channel.headers.set('x-account', ['one', 'two']);
  return channel;
}

for (const [expression, value] of [
  ['CALLERID(all)', '"Alice" <1001>'],
  ['CALLERID(name)', 'Alice'],
  ['CALLERID(num)', '1001'],
  ['CALLERID(shoe)', ''],
  ['callerid(NUMBER)', '1001'],
  ['CALLERID(ani)', '1009'],
  ['CALLERID(dnid)', '600'],
  ['CALLERID(rdnis)', '700'],
  ['REDIRECTING(from-num)', '700'],
  ['REDIRECTING(from-name)', 'Bob'],
  ['REDIRECTING(from-all)', '"Bob" <700>'],
  ['REDIRECTING(orig-all)', '"" <701>'],
  ['REDIRECTING(to-all)', '"" <>'],
  ['REDIRECTING(from-pres)', 'prohib_not_screened'],
  ['REDIRECTING(from-num-valid)', '1'],
  ['REDIRECTING(from-name-valid)', '1'],
  ['REDIRECTING(to-num)', ''],
  ['REDIRECTING(to-num-valid)', '0'],
  ['REDIRECTING(orig-num)', '701'],
  ['redirecting(REASON)', 'cfnr'],
  ['REDIRECTING(orig-reason)', 'unknown'],
  ['REDIRECTING(count)', '2'],
  ['REDIRECTING(from-shoe)', ''],
  ['REDIRECTING(shoe)', ''],
  ['CALLERID(pres)', 'prohib_not_screened'],
  ['CALLERID(num-valid)', '1'],
  ['CONNECTEDLINE(all)', '"" <2002>'],
  ['CONNECTEDLINE(name-valid)', '0'],
  ['CONNECTEDLINE(num,i)', '2002'],
  ['CDR(src)', '1001'],
  ['CDR(clid)', '"Alice" <1001>'],
  ['CDR(dst,u)', 'place'],
  ['cdr(UNIQUEID)', 'c1'],
  ['CDR(userfield)', ''],
  ['CHANNEL(name)', 'PJSIP/alice-00000001'],
  ['CHANNEL(state)', 'Ring'],
  ['CHANNEL(language)', 'en'],
  ['CHANNEL(accountcode)', ''],
  ['CHANNEL(channeltype)', 'PJSIP'],
  ['CHANNEL(uniqueid)', 'c1'],
  ['CHANNEL(context)', 'stored'],
  ['CHANNEL(exten)', 'place'],
  ['CHANNEL(endpoint)', 'alice'],
  ['CHANNEL(pjsip,call-id)', 'call@example'],
  ['CHANNEL(pjsip, remote_addr)', '10.0.0.2:5060'],
  ['PJSIP_HEADER(read,X-Account)', 'one'],
  ['PJSIP_HEADER(read,x-account,2)', 'two'],
  ['GLOBAL(OFFICE)', 'berlin'],
  ['GLOBAL(NOTHING)', ''],
  ['DEVICE_STATE( PJSIP/alice )', 'INUSE'],
  ['DEVICE_STATE(Nobody)', 'UNKNOWN'],
  ['CHANNELS()', 'PJSIP/alice-00000001 Local/s@default-00000002;1'],
  ['CHANNELS(^Local/)', 'Local/s@default-00000002;1'],
  ['CHANNELS(nobody)', ''],
  ['MD5(abc)', '900150983cd24fb0d6963f7d28e17f72'],
  ['MD5()', 'd41d8cd98f00b204e9800998ecf8427e'],
  ['LEN(abc)', '3'],
  ['LEN()', '0'],
  ['TOUPPER(aBc)', 'ABC'],
  ['TOLOWER(aBc)', 'abc'],
  ['EXISTS(x)', '1'],
  ['EXISTS()', '0'],
  ['ISNULL()', '1'],
  ['ISNULL(x)', '0'],
  ['IF(1?yes:no)', 'yes'],
  ['IF(0?yes:no)', 'no'],
  ['IF(?yes)', ''],
  ['IF(1?"a:b":c)', 'a:b'],
  ['IF(0?f(x:y):c:d)', 'c:d'],
  ['CUT(LIST,-,2)', 'b'],
  ['CUT(LIST,,2-)', 'b-c-d'],
  ['CUT(LIST,-,-2)', 'a-b'],
  ['CUT(LIST,-,1&3-4)', 'a-c-d'],
  ['CUT(LIST,-,9)', ''],
  ['CUT(COMMAS,",",2)', 'y'],
  ['FIELDQTY(LIST,-)', '4'],
  ['FIELDQTY(EMPTY,-)', '0'],
  ['FILTER(0-9+,+49 (30) 12x)', '+493012'],
  ['FILTER(\\x41-Z,aBc,D)', 'BD'],
  ['REPLACE(NUMBER, ()+)', '493012'],
  ['REPLACE(LIST,-,_)', 'a_b_c_d'],
  ['REGEX("^a.c$" abc)', '1'],
  ['REGEX("b+" ac)', '0'],
  ['STRFTIME(,UTC,%Y-%m-%d %H:%M:%S %A %j)', '2023-11-14 22:13:20 Tuesday 318'],
  ['STRFTIME(0,Europe/Berlin,%F %T,%I %p)', '1970-01-01 01:00:00,01 AM'],
  ['STRFTIME(86400,UTC)', 'Fri Jan  2 00:00:00 1970'],
  ['STRFTIME(0,UTC,%%%Q%)', '%%Q%'],
  ['MATH(7/2,int)', '3'],
  ['MATH(1.5*2)', '3.000000'],
  ['MATH(2>1)', 'TRUE'],
  ['URIENCODE(a b&)', 'a%20b%26'],
  ['URIDECODE(a%20b)', 'a b'],
  ['TIMEOUT(Digit)', '5'],
  ['TIMEOUT(response)', '10'],
  ['TIMEOUT(absolute)', '0'],
  ['CHANNEL(musicclass)', ''],
  ['CHANNEL(hangupsource)', ''],
  ['CHANNEL(peeraccount)', ''],
  ['HASH(menu,1)', ''],
  ['HASHKEYS(menu)', ''],
  ['LOCAL(nothing)', ''],
  ['QUOTE(a"b\\c,d)', '"a\\"b\\\\c,d"'],
] as const)
  test(`${expression} reads ${JSON.stringify(value)}`, () => {
    assert.equal(readFunction(channelWithEverything(), expression, values), { ok: true, value });
  });

for (const [expression, reason] of [
  ['SHELL(ls)', 'failed'],
  ['shell (ls)', 'failed'],
  ['FILE(/etc/passwd)', 'failed'],
  ['NO_SUCH(x)', 'unknown'],
  ['constructor(x)', 'unknown'],
  ['(x)', 'failed'],
  ['x)', 'failed'],
  ['', 'failed'],
  ['CALLERID()', 'failed'],
  ['CHANNEL(constructor)', 'failed'],
  ['PJSIP_HEADER(read,X-Other)', 'failed'],
  ['PJSIP_HEADER(read,X-Account,0)', 'failed'],
  ['PJSIP_HEADER(add,X-Account)', 'failed'],
  ['IF(1)', 'failed'],
  ['CUT(LIST,-)', 'failed'],
  ['CUT(LIST,-,x)', 'failed'],
  ['FILTER(abc)', 'failed'],
  ['REGEX("(a+)+" aaaa)', 'failed'],
  ['REGEX("a*b*c*" aaaa)', 'failed'],
  ['REGEX(abc)', 'failed'],
  ['STRFTIME(,Nowhere/City,%Y)', 'failed'],
  ['STRFTIME(soon)', 'failed'],
  ['MATH(1/0)', 'failed'],
  ['MATH(1+1+1)', 'failed'],
  ['URIDECODE(%)', 'failed'],
  ['TIMEOUT(always)', 'failed'],
  ['HASH(menu)', 'failed'],
] as const)
  test(`${expression} read is a typed failure: ${reason}`, () => {
    const result = readFunction(channelWithEverything(), expression, values);
    assert.is(result.ok, false);
    assert.is(!result.ok && result.reason, reason);
  });

test('headers of a channel of another technology cannot be read or written', () => {
  const channel = channelWithEverything();
  channel.technology = 'Local';
  assert.is(readFunction(channel, 'PJSIP_HEADER(read,X-Account)', values).ok, false);
  assert.is(writeFunction(channel, 'PJSIP_HEADER(add,X-A)', 'b').ok, false);
});

test('writing CALLERID and CONNECTEDLINE changes only what is named', () => {
  const channel = new FakeChannel();
  for (const [item, value] of [
    ['CALLERID(name)', 'Bob'],
    ['CALLERID(dnid)', '600'],
    ['CALLERID(pres)', 'prohib'],
    ['CONNECTEDLINE(all)', '"Carol" <3003>'],
    ['CONNECTEDLINE(num,i)', '4'],
  ] as const)
    assert.equal(writeFunction(channel, item, value), { ok: true });
  assert.equal(channel.identity, { name: 'Bob', number: '1001', dnid: '600', presentation: 0x23 });
  assert.equal(channel.connected, { name: 'Carol', number: '4' });
});

test('name and number are presented alike unless one is named alone, and pres tells the shyer one', () => {
  const channel = new FakeChannel();
  const read = () =>
    ['pres', 'num-pres', 'name-pres'].map((item) => {
      const found = readFunction(channel, `CALLERID(${item})`, values);
      return found.ok && found.value;
    });
  for (const [item, value, after] of [
    ['num-pres', 'prohib', ['prohib', 'prohib', 'allowed_not_screened']],
    ['pres', 'allowed', ['allowed', 'allowed', 'allowed']],
    ['name-pres', '35', ['prohib', 'allowed', 'prohib']],
    ['name-pres', 'unavailable', ['allowed', 'allowed', 'unavailable']],
  ] as const) {
    assert.equal(writeFunction(channel, `CALLERID(${item})`, value), { ok: true });
    assert.equal(read(), after);
  }
  assert.is(writeFunction(channel, 'CALLERID(pres)', 'perhaps').ok, false);
});

test('writing REDIRECTING changes only what is named, and CALLERID(rdnis) is its number', () => {
  const channel = new FakeChannel();
  for (const [item, value] of [
    ['CALLERID(rdnis)', '700'],
    ['REDIRECTING(from-name)', 'Bob'],
    ['REDIRECTING(from-pres)', 'prohib'],
    ['REDIRECTING(orig-all)', '"Carol" <701>'],
    ['REDIRECTING(to-num,i)', '702'],
    ['REDIRECTING(Reason)', 'CFB'],
    ['REDIRECTING(orig-reason)', 'cfu'],
    ['REDIRECTING(count)', '255'],
  ] as const)
    assert.equal(writeFunction(channel, item, value), { ok: true });
  assert.equal(channel.identity.redirection, {
    from: { name: 'Bob', number: '700', presentation: 0x23 },
    orig: { name: 'Carol', number: '701' },
    to: { name: '', number: '702' },
    reason: 'cfb',
    origReason: 'cfu',
    count: 255,
  });
  for (const [item, value] of [
    ['reason', 'mood'],
    ['count', '256'],
    ['count', '-1'],
    ['from-pres', 'perhaps'],
    ['from-shoe', '1'],
    ['shoe', '1'],
  ])
    assert.is(writeFunction(channel, `REDIRECTING(${item})`, value!).ok, false, item!);
});

test('writing CHANNEL sets language and account code and nothing else', () => {
  const channel = new FakeChannel();
  assert.is(writeFunction(channel, 'CHANNEL(language)', 'de').ok, true);
  assert.is(writeFunction(channel, 'CHANNEL(accountcode)', 'sales').ok, true);
  assert.is(writeFunction(channel, 'CHANNEL(state)', 'Up').ok, false);
  assert.is(writeFunction(channel, 'CHANNEL(peeraccount)', 'support').ok, true);
  assert.is(writeFunction(channel, 'CHANNEL(musicclass)', 'jazz').ok, true);
  const { language, accountCode, peerAccount, musicClass } = channel;
  assert.equal([language, accountCode, peerAccount, musicClass], ['de', 'sales', 'support', 'jazz']);
});

test('HASH keeps items by key, and HASHKEYS lists their keys, the latest first', () => {
  const channel = new FakeChannel();
  for (const [item, value] of [
    ['HASH(menu,1)', 'sales'],
    ['HASH(menu,2)', 'support'],
    ['HASH(menus,3)', 'other'],
  ] as const)
    assert.equal(writeFunction(channel, item, value), { ok: true });
  const read = (text: string) => readFunction(channel, text, values);
  assert.equal(read('HASHKEYS(menu)'), { ok: true, value: '2,1' });
  assert.equal(read('HASH(menu,2)'), { ok: true, value: 'support' });
  assert.equal(read('HASH(menu,3)'), { ok: true, value: '' });
  channel.most = channel.variables.size;
  for (const item of ['HASH(menu,9)', 'HASH(menu)', 'HASH(,1)', 'HASHKEYS(menu)'])
    assert.is(writeFunction(channel, item, 'x').ok, false, item);
});

test('TIMEOUT(absolute) limits the time of a channel, and 0 removes the limit', () => {
  const channel = new FakeChannel();
  const set = (value: string) => writeFunction(channel, 'TIMEOUT(absolute)', value).ok;
  assert.equal([set(' 1.5 '), channel.limitMs], [true, 1_500]);
  assert.equal(readFunction(channel, 'TIMEOUT(absolute)', values), { ok: true, value: '1.5' });
  for (const value of ['soon', '-1', '', '2147484']) assert.is(set(value), false, value);
  assert.is(channel.limitMs, 1_500);
  assert.equal([set('0'), channel.limitMs], [true, undefined]);
});

test('CDR keeps the account code, the user field and fields of your own; the others are read only', () => {
  const channel = new FakeChannel();
  for (const item of ['accountcode', 'userfield', 'Company'])
    assert.equal(writeFunction(channel, `CDR(${item})`, 'acme'), { ok: true }, item);
  assert.is(channel.accountCode, 'acme');
  assert.equal(
    [...channel.variables],
    [
      ['CDR(userfield)', 'acme'],
      ['CDR(company)', 'acme'],
    ],
  );
  assert.equal(readFunction(channel, 'CDR(company)', values), { ok: true, value: 'acme' });
  for (const item of ['', 'src', 'billsec']) assert.is(writeFunction(channel, `CDR(${item})`, '1').ok, false, item);
  for (const item of ['', 'billsec']) assert.is(readFunction(channel, `CDR(${item})`, values).ok, false, item);
  channel.most = 2;
  assert.match((writeFunction(channel, 'CDR(more)', '1') as { message: string }).message, 'too many variables');
});

test('with i a change of CONNECTEDLINE is kept from the far side', () => {
  const channel = new FakeChannel();
  assert.equal(writeFunction(channel, 'CONNECTEDLINE(num)', '1'), { ok: true });
  assert.equal(channel.calls, []);
  assert.equal(writeFunction(channel, 'CONNECTEDLINE(num,i)', '2'), { ok: true });
  assert.equal([channel.calls, channel.connected.number], [['quietly'], '2']);
});

test('the tenant of a channel is read and written', () => {
  const channel = new FakeChannel();
  assert.equal(readFunction(channel, 'CHANNEL(tenantid)', values), { ok: true, value: '' });
  assert.equal(writeFunction(channel, 'CHANNEL(tenantid)', 'acme'), { ok: true });
  assert.equal(readFunction(channel, 'CHANNEL(tenantid)', values), { ok: true, value: 'acme' });
});

test('HOLD_INTERCEPT is set and removed, and nothing else', () => {
  const channel = new FakeChannel();
  assert.equal(writeFunction(channel, 'HOLD_INTERCEPT(set)', ''), { ok: true });
  assert.equal(writeFunction(channel, 'HOLD_INTERCEPT( Remove )', ''), { ok: true });
  assert.is(writeFunction(channel, 'HOLD_INTERCEPT(keep)', '').ok, false);
  assert.is(readFunction(channel, 'HOLD_INTERCEPT(set)', values).ok, false);
  assert.equal(channel.calls, ['interceptHold true', 'interceptHold false']);
});

test('CHANNEL tells the formats of the call', () => {
  const channel = new FakeChannel();
  const read = (item: string) => {
    const result = readFunction(channel, `CHANNEL(${item})`, values);
    return result.ok ? result.value : result.reason;
  };
  const items = ['audionativeformat', 'audioreadformat', 'audiowriteformat', 'videonativeformat', 'priority'];
  assert.equal(items.map(read), ['(alaw|ulaw)', 'alaw', 'alaw', '(nothing)', '7']);
  channel.formats = [];
  channel.videoFormats = ['vp8'];
  assert.equal([...items.slice(0, 2), 'videonativeformat'].map(read), ['(nothing)', 'slin', '(vp8)']);
  assert.is(read('nonsense'), 'failed');
});

/** Asks a function of the system, as a channel and without one: the answers are the same. */
function asked(channel: FakeChannel, call: string): string {
  const read = readFunction(channel, call, values);
  assert.equal(readSystemFunction(channel.system, call), read);
  return read.ok ? read.value : read.reason;
}

test('global variables are functions with and without a channel', () => {
  const channel = new FakeChannel();
  assert.equal(writeSystemFunction(channel.system, 'GLOBAL(A)', '1'), { ok: true });
  assert.equal([asked(channel, 'GLOBAL(A)'), asked(channel, 'GLOBAL_EXISTS(A)')], ['1', '1']);
  assert.equal(writeFunction(channel, 'GLOBAL_DELETE(A)', ''), { ok: true });
  assert.equal([asked(channel, 'GLOBAL(A)'), asked(channel, 'GLOBAL_EXISTS(A)')], ['', '0']);
  for (const call of ['GLOBAL()', 'GLOBAL_DELETE()', 'GLOBAL_EXISTS(A)', 'SHELL(x)', 'CALLERID(num)', 'nonsense'])
    assert.is(writeSystemFunction(channel.system, call, '1').ok, false, call);
  assert.is(asked(channel, 'GLOBAL_DELETE(A)'), 'failed');
});

test('DIALPLAN_EXISTS looks for contexts, extensions, priorities and labels', () => {
  const channel = new FakeChannel();
  for (const place of ['a', 'a,1', 'a,1,2', 'a,1,here']) channel.places.add(place);
  const calls = ['a', 'b', 'a,1', 'a,2', 'a,1,2', 'a,1,3', ' a , 1 , here ', 'a,1,', ''];
  assert.equal(
    calls.map((text) => asked(channel, `DIALPLAN_EXISTS(${text})`)),
    ['1', '0', '1', '0', '1', '0', '1', '1', 'failed'],
  );
});

test('the places and attributes of phones are read', () => {
  const channel = new FakeChannel();
  assert.is(asked(channel, 'PJSIP_DIAL_CONTACTS(alice)'), 'failed', 'there are no phones');
  channel.knownPhones = {
    contacts: (endpoint, aor, user) =>
      endpoint === 'alice' ? (aor === 'other' ? [] : ['alice/sip:a@1.2.3.4', `alice/sip:${user}@b`]) : undefined,
    attribute: (kind, name, attribute) => {
      const known: Record<string, string> = { 'endpoint alice.context': 'default', 'aor desk.max_contacts': '2' };
      return known[`${kind} ${name.toLowerCase()}.${attribute}`];
    },
    places: () => [
      {
        id: 'desk;1',
        uri: 'sip:a@1.2.3.4',
        aor: 'desk',
        endpoint: 'PJSIP/alice',
        status: 'Reachable',
        roundtrip: '12',
      },
      { id: 'hall;2', uri: 'sip:h@1.2.3.4', aor: 'hall', endpoint: 'PJSIP/hall', status: 'Unknown' },
    ],
    uriPart: (uri, part) => (part === 'host' ? uri : undefined),
  };
  for (const [expression, value] of [
    ['PJSIP_AOR(Desk,contact)', 'desk;1'],
    ['PJSIP_AOR(desk,max_contacts)', '2'],
    ['PJSIP_AOR(nowhere,contact)', 'failed'],
    ['PJSIP_AOR(desk,nonsense)', 'failed'],
    ['PJSIP_CONTACT(desk;1,uri)', 'sip:a@1.2.3.4'],
    ['PJSIP_CONTACT(desk;1,aor)', 'desk'],
    ['PJSIP_CONTACT(desk;1,endpoint_name)', 'PJSIP/alice'],
    ['PJSIP_CONTACT(desk;1,Status)', 'Reachable'],
    ['PJSIP_CONTACT(desk;1,rtt)', '12'],
    ['PJSIP_CONTACT(hall;2,rtt)', '0'],
    ['PJSIP_CONTACT(desk;1,nonsense)', 'failed'],
    ['PJSIP_CONTACT(nobody,uri)', 'failed'],
    ['PJSIP_PARSE_URI("sip:a,b@c",Host)', 'sip:a,b@c'],
    ['PJSIP_PARSE_URI(sip:a@c,shoe)', 'failed'],
  ])
    assert.is(asked(channel, expression!), value, expression);
  assert.is(asked(channel, 'PJSIP_DIAL_CONTACTS(alice,,99)'), 'PJSIP/alice/sip:a@1.2.3.4&PJSIP/alice/sip:99@b');
  assert.is(asked(channel, 'PJSIP_DIAL_CONTACTS(alice,other)'), '');
  assert.is(asked(channel, 'PJSIP_DIAL_CONTACTS(nobody)'), 'failed');
  assert.is(asked(channel, 'PJSIP_ENDPOINT(alice,context)'), 'default');
  assert.is(asked(channel, 'PJSIP_ENDPOINT(alice,nonsense)'), 'failed');
  assert.is(writeFunction(channel, 'PJSIP_ENDPOINT(alice,context)', 'x').ok, false);
});

test('DEVICE_STATE says how busy a device of applications is, and refuses others', () => {
  const channel = channelWithEverything();
  assert.is(writeFunction(channel, 'DEVICE_STATE(Stasis:queue)', 'BUSY').ok, true);
  assert.equal(readFunction(channel, 'DEVICE_STATE(Stasis:queue)', values), { ok: true, value: 'BUSY' });
  assert.is(writeFunction(channel, 'DEVICE_STATE(PJSIP/alice)', 'BUSY').ok, false);
  assert.is(readFunction(channel, 'DEVICE_STATE()', values).ok, false);
});

test('PJSIP_HEADER adds, updates and removes', () => {
  const channel = new FakeChannel();
  assert.is(writeFunction(channel, 'PJSIP_HEADER(update,X-A)', 'none').ok, false);
  assert.is(writeFunction(channel, 'PJSIP_HEADER(add,X-A)', '1').ok, true);
  assert.is(writeFunction(channel, 'PJSIP_HEADER(add,X-A)', '2').ok, true);
  assert.is(writeFunction(channel, 'PJSIP_HEADER(update,X-A)', '3').ok, true);
  assert.equal(channel.headers.get('x-a'), ['3', '2']);
  assert.is(writeFunction(channel, 'PJSIP_HEADER(remove,X-A)', '').ok, true);
  assert.is(channel.headers.size, 0);
});

test('a header that is the stack own is refused by name', () => {
  assert.equal(writeFunction(new FakeChannel(), 'PJSIP_HEADER(add,Via)', 'x'), {
    ok: false,
    reason: 'failed',
    message:
      'PJSIP_HEADER(add,Via) cannot be written so: the header Via is not for applications, or the call is under way',
  });
});

test('what SIP calls have beside is asked of them, and of no others', () => {
  const channel = new FakeChannel();
  const asks = [
    'PJSIP_HEADERS(X-)',
    'PJSIP_RESPONSE_HEADER(read,Server)',
    'PJSIP_RESPONSE_HEADERS()',
    'PJSIP_DTMF_MODE()',
    'PJSIP_MEDIA_OFFER(audio)',
    'PJSIP_MEDIA_OFFER(video)',
  ];
  const tells: [string, string][] = [
    ['PJSIP_DTMF_MODE()', 'INFO'],
    ['PJSIP_MEDIA_OFFER(audio)', '!all,alaw,ulaw,!alaw, g722'],
    ['PJSIP_MEDIA_OFFER(video)', '!all,vp8,h264,!vp8'],
    ['PJSIP_SEND_SESSION_REFRESH()', 'invite'],
    ['PJSIP_SEND_SESSION_REFRESH()', 'Update'],
  ];
  const read = (expression: string): string => {
    const found = readFunction(channel, expression, values);
    return found.ok ? found.value : found.reason;
  };
  const nothing = [...asks.map(read), ...tells.map((each) => writeFunction(channel, ...each).ok)];
  assert.equal(nothing, [...asks.map(() => 'failed'), ...tells.map(() => false)]);
  const said: string[] = [];
  const note = (what: string): boolean => said.push(what) > 0;
  channel.abilities = {
    headerNames: (beginning) => [`${beginning}A`, `${beginning}B`],
    responseHeader: (name, index) => `${name} ${index}`,
    responseHeaderNames: (beginning) => [`all of ${beginning}`],
    digitMode: 'rfc4733',
    setDigitMode: (mode) => note(`digits ${mode}`),
    setFormats: (formats) => note(`formats ${formats}`),
    setVideoFormats: (formats) => note(`video ${formats}`),
    refresh: (method) => note(`refresh ${method}`),
  };
  assert.equal([...asks, 'PJSIP_HEADERS(X-*)', 'PJSIP_RESPONSE_HEADER(read,Server,2)'].map(read), [
    'X-A,X-B',
    'Server 1',
    'all of ',
    'rfc4733',
    '(alaw|ulaw)',
    '(nothing)',
    'X-A,X-B',
    'Server 2',
  ]);
  for (const each of tells) assert.is(writeFunction(channel, ...each).ok, true, each[0]);
  assert.equal(said, ['digits info', 'formats ulaw,g722', 'video h264', 'refresh invite', 'refresh update']);
  for (const [expression, value] of [
    ['PJSIP_SEND_SESSION_REFRESH()', 'bye'],
    ['PJSIP_MEDIA_OFFER(text)', 't140'],
    ['PJSIP_RESPONSE_HEADER(add,Server)', 'x'],
  ] as const)
    assert.is(writeFunction(channel, expression, value).ok, false);
  for (const expression of [
    'PJSIP_RESPONSE_HEADER(add,Server)',
    'PJSIP_RESPONSE_HEADER(read,a b)',
    'PJSIP_MEDIA_OFFER(text)',
  ])
    assert.is(read(expression), 'failed');
  channel.headers.set('x-a', ['1']).set('x-b', ['2']).set('y', ['3']);
  assert.is(writeFunction(channel, 'PJSIP_HEADER(remove,X-*)', '').ok, true);
  assert.equal([...channel.headers.keys()], ['y']);
});

test('a header name or value cannot smuggle in another header', () => {
  const channel = new FakeChannel();
  assert.is(writeFunction(channel, 'PJSIP_HEADER(add,X-A)', 'a\r\nVia: evil').ok, false);
  assert.is(writeFunction(channel, 'PJSIP_HEADER(add,X-A: b\r\nVia)', 'evil').ok, false);
  assert.is(channel.headers.size, 0);
});

for (const [expression, reason] of [
  ['SHELL(x)', 'failed'],
  ['NO_SUCH(x)', 'unknown'],
  ['LEN(x)', 'failed'],
  ['CALLERID(shoe)', 'failed'],
  ['CALLERID(pres)', 'failed'],
  ['GLOBAL()', 'failed'],
] as const)
  test(`${expression} written is a typed failure: ${reason}`, () => {
    const result = writeFunction(new FakeChannel(), expression, 'value');
    assert.is(!result.ok && result.reason, reason);
  });

for (const [text, name, number] of [
  ['"Alice" <1001>', 'Alice', '1001'],
  ['Alice <1001>', 'Alice', '1001'],
  ['<1001>', '', '1001'],
  ['1001', '', '1001'],
  ['+49 (30) 123-4', '', '+49 (30) 123-4'],
  ['Alice', 'Alice', ''],
  ['"A \\"the\\" B" <1>', 'A "the" B', '1'],
  ['', '', ''],
] as const)
  test(`the caller id ${JSON.stringify(text)} is read`, () => {
    assert.equal(parseCallerId(text), { name, number });
  });

for (const [name, value] of [
  ['EXTEN', '600'],
  ['CONTEXT', 'default'],
  ['PRIORITY', '3'],
  ['CHANNEL', 'PJSIP/alice-00000001'],
  ['UNIQUEID', 'c1'],
  ['HANGUPCAUSE', '0'],
  ['EPOCH', '1700000000'],
  ['LANGUAGE', 'en'],
  ['MINE', 'channel'],
  ['OFFICE', 'berlin'],
  ['NOTHING', undefined],
  ['exten', undefined],
] as const)
  test(`the variable ${name} reads ${value}`, () => {
    const channel = channelWithEverything();
    channel.variables.set('MINE', 'channel');
    channel.globals.set('MINE', 'global');
    channel.variables.set('EXTEN', 'not this');
    const position = { context: 'default', extension: '600', priority: 3 };
    assert.is(readVariable(channel, name, clock, { position }), value);
  });

test("without a running step the place is the channel's own", () => {
  const read = (name: string) => readVariable(new FakeChannel(), name, clock);
  assert.equal([read('CONTEXT'), read('EXTEN'), read('PRIORITY')], ['stored', 'place', '7']);
});

test('a name that ends with a parenthesis is a function', () => {
  assert.is(isFunction('LEN(x)'), true);
  assert.is(isFunction('LEN'), false);
  assert.equal(readVariableOrFunction(new FakeChannel(), 'LEN(xy)', clock), { ok: true, value: '2' });
  assert.is(readVariableOrFunction(new FakeChannel(), 'NOTHING', clock), undefined);
});

test('no text makes a function throw', () => {
  const expression = fc
    .tuple(
      fc.constantFrom(...functionNames()),
      fc.oneof(fc.string(), fc.constantFrom('all', 'num', 'add,X', 'read,X,1', 'language')),
    )
    .map(([name, text]) => `${name}(${text})`);
  fc.assert(
    fc.property(fc.oneof(expression, fc.string()), fc.string(), (text, value) => {
      const channel = channelWithEverything();
      assert.type(readFunction(channel, text, values).ok, 'boolean');
      assert.type(writeFunction(channel, text, value).ok, 'boolean');
    }),
    { numRuns: 300 },
  );
});

test.run();
