import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SipMessage } from '../../../src/sip/message/message.ts';
import { formatRejection, parseMessage } from '../../../src/sip/message/parse.ts';

/*
 * The cases of RFC 4475 (SIP torture test messages) in messages of our own. Section numbers are those of the RFC.
 */

type Parts = { start?: string; headers?: Record<string, string | string[]>; lines?: string[]; body?: string };

/** A good OPTIONS with `headers` put in the place of its own ('' removes one) and `lines` added. */
function bytes({ start = 'OPTIONS sip:bob@example.com SIP/2.0', headers = {}, lines = [], body = '' }: Parts): Buffer {
  const all: Record<string, string | string[]> = {
    Via: 'SIP/2.0/UDP host.example.com;branch=z9hG4bKt',
    'Max-Forwards': '70',
    From: '<sip:alice@example.com>;tag=1',
    To: '<sip:bob@example.com>',
    'Call-ID': 'torture',
    CSeq: '1 OPTIONS',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const text = Object.entries(all).flatMap(([name, value]) =>
    value === '' ? [] : [value].flat().map((one) => `${name}: ${one}`),
  );
  return Buffer.from([start, ...text, ...lines, '', body].join('\r\n'));
}

function parsed(parts: Parts | Buffer): SipMessage {
  const result = parseMessage(Buffer.isBuffer(parts) ? parts : bytes(parts));
  if (!result.ok) throw new Error(result.failure.problem);
  return result.message;
}

function problem(parts: Parts | Buffer): string {
  const result = parseMessage(Buffer.isBuffer(parts) ? parts : bytes(parts));
  if (result.ok) throw new Error('the message was accepted');
  return `${result.failure.status} ${result.failure.problem}`;
}

test('3.1.1.1 crazy but legal white space, folding, compact forms and letter case are understood', () => {
  const message = parsed(
    Buffer.from(
      [
        'INVITE sip:vivekg@chair-dnrc.example.com;unknownparam SIP/2.0',
        'TO :',
        ' sip:vivekg@chair-dnrc.example.com ;   tag    = 1918181833n',
        'from   : "J Rosenberg \\\\\\""       <sip:jdrosen@example.com>',
        '  ;',
        '  tag = 98asjd8',
        'MaX-fOrWaRdS: 0068',
        'Call-ID: wsinv.ndaksdj@192.0.2.1',
        'Content-Length   : 3',
        'cseq: 0009',
        '  INVITE',
        'Via  : SIP  /   2.0',
        ' /UDP',
        '    192.0.2.2;branch=390skdjuw',
        's :',
        'NewFangledHeader:   newfangled value',
        ' continued newfangled value',
        'UnknownHeaderWithUnusualValue: ;;,,;;,;',
        'Content-Type: application/sdp',
        'Route:',
        ' <sip:services.example.com;lr;unknownwith=value;unknown-no-value>',
        'v:  SIP  / 2.0  / TCP     spindle.example.com   ;',
        '  branch  =   z9hG4bK9ikj8  ,',
        ' SIP  /    2.0   / UDP  192.168.255.111   ; branch=',
        ' z9hG4bK30239',
        'm:"Quoted string \\"\\"" <sip:jdrosen@example.com> ; newparam =',
        '      newvalue ;',
        '  secondparam ; q = 0.33',
        '',
        'v=0',
      ].join('\r\n'),
    ),
  );
  assert.equal(message.to, {
    displayName: undefined,
    uri: {
      scheme: 'sip',
      user: 'vivekg',
      password: undefined,
      host: 'chair-dnrc.example.com',
      port: undefined,
      params: {},
      headers: {},
    },
    params: { tag: '1918181833n' },
  });
  assert.is(message.from.displayName, 'J Rosenberg \\"');
  assert.is(message.fromTag, '98asjd8');
  assert.is(message.maxForwards, 68);
  assert.equal(message.cseq, { number: 9, method: 'INVITE' });
  assert.equal(message.topVia, {
    transport: 'UDP',
    host: '192.0.2.2',
    port: undefined,
    params: { branch: '390skdjuw' },
  });
  assert.is(message.viaCount, 3);
  assert.is(message.header('Subject'), '');
  assert.is(message.header('newfangledheader'), 'newfangled value continued newfangled value');
  assert.is(message.header('UnknownHeaderWithUnusualValue'), ';;,,;;,;');
  assert.equal(message.routes[0]!.uri.scheme === 'sip' && message.routes[0]!.uri.params, {
    lr: '',
    unknownwith: 'value',
    'unknown-no-value': '',
  });
  assert.equal(message.contact!.params, { newparam: 'newvalue', secondparam: '', q: '0.33' });
  assert.is(message.bodyText, 'v=0');
});

test('3.1.1.2 every character of the token, user and parameter grammars may be used', () => {
  const method = "!interesting-Method0123456789_*+`.%indeed'~";
  const user = "1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*";
  const message = parsed({
    start: `${method} sip:${user}:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com SIP/2.0`,
    headers: {
      CSeq: `139122385 ${method}`,
      To: '"BEL:\\\u0007 NUL:\\\u0000 DEL:\\\u007f" <sip:1_unusual.URI~(to-be!sure)@example.com>',
      From: "token1~` token2'+_ token3*%!.- <sip:mundane@example.com>;fromParam''~+*_!.-%=\"\u0440\u0430\u0431\";tag=_token~1'+`*%!-.",
      'Call-ID': 'intmeth.word%ZK-!.*_+\'@word`~)(><:\\/"][?}{',
    },
  });
  assert.is(message.kind === 'request' && message.method, method);
  const uri = message.kind === 'request' ? message.uri : undefined;
  assert.is(uri?.scheme === 'sip' && uri.user, user);
  assert.is(message.to.displayName, 'BEL:\u0007 NUL:\u0000 DEL:\u007f');
  assert.is(message.from.displayName, "token1~` token2'+_ token3*%!.-");
  assert.is(message.fromTag, "_token~1'+`*%!-.");
});

test('3.1.1.3 to 3.1.1.5 escapes in users are decoded, nulls too, but not in methods', () => {
  const user = (address: string) => {
    const { uri } = parsed({ headers: { To: `<${address}>` } }).to;
    return uri.scheme === 'sip' ? uri.user : undefined;
  };
  assert.is(user('sip:%75se%72@example.com'), 'user');
  assert.is(user('sip:sips%3Auser%40example.com@example.net'), 'sips:user@example.com');
  assert.is(user('sip:null-%00-null@example.com'), 'null-\u0000-null');
  const message = parsed({
    start: 'RE%47IST%45R sip:registrar.example.com SIP/2.0',
    headers: { CSeq: '29344 RE%47IST%45R' },
  });
  assert.is(message.kind === 'request' && message.method, 'RE%47IST%45R');
});

test('3.1.1.6 no space between a display name and its address', () => {
  const { to } = parsed({ headers: { To: 'caller<sip:caller@example.com>;tag=323' } });
  assert.equal([to.displayName, to.params['tag']], ['caller', '323']);
});

test('3.1.1.7 long values in every header', () => {
  const long = (text: string) => text.repeat(500);
  const message = parsed({
    start: `OPTIONS sip:${long('user')}@${long('a.')}example.com;unknown=${long('v')} SIP/2.0`,
    headers: {
      'Call-ID': long('id'),
      From: `"${long('I have a user name ')}" <sip:alice@example.com>;tag=${long('1')}`,
    },
    lines: [`Unknown-${long('Name')}: ${long('value,')}`, ...Array.from({ length: 30 }, () => 'Via: SIP/2.0/TCP host')],
  });
  assert.is(message.callId, long('id'));
  assert.is(message.viaCount, 31);
});

test('3.1.1.8 bytes after the announced body are no part of it', () => {
  const one = bytes({ body: 'v=0\r\n' });
  assert.is(parsed(Buffer.concat([one, bytes({})])).bodyText, 'v=0\r\n');
});

test('3.1.1.9 semicolons in the user part belong to the user', () => {
  const message = parsed({ start: 'OPTIONS sip:user;par=u%40example.net@example.com SIP/2.0' });
  const uri = message.kind === 'request' ? message.uri : undefined;
  assert.equal(uri?.scheme === 'sip' && [uri.user, uri.host, uri.params], [
    'user;par=u@example.net',
    'example.com',
    {},
  ]);
});

test('3.1.1.10 Via transports of every kind', () => {
  for (const transport of ['UDP', 'SCTP', 'TLS', 'UNKNOWN', 'TCP']) {
    assert.is(
      parsed({ headers: { Via: `SIP/2.0/${transport} t1.example.com;branch=z9hG4bK1` } }).topVia?.transport,
      transport,
    );
  }
});

test('3.1.1.11 a binary body is kept byte for byte', () => {
  const body = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const head = bytes({ headers: { 'Content-Length': '256', 'Content-Type': 'Multipart/Mixed ;boundary=x' } });
  const message = parsed(Buffer.concat([head, body]));
  assert.equal(message.body, body);
  assert.is(message.contentType, 'multipart/mixed');
});

test('3.1.1.12 and 3.1.1.13 reason phrases in UTF-8, and empty ones', () => {
  const unusual =
    '= 2**3 * 5**2 \u043d\u043e \u0441\u0442\u043e \u0434\u0435\u0432\u044f\u043d\u043e\u0441\u0442\u043e';
  const status = (start: string) => {
    const message = parsed({ start });
    return message.kind === 'response' ? [message.status, message.reason] : [];
  };
  assert.equal(status(`SIP/2.0 200 ${unusual}`), [200, unusual]);
  assert.equal(status('SIP/2.0 100 '), [100, '']);
  assert.equal(status('SIP/2.0 100'), [100, '']);
});

test('3.1.2.1 stray separators in Via and Contact', () => {
  assert.is(problem({ headers: { Via: 'SIP/2.0/UDP 192.0.2.15;;,;,,' } }), '400 Via is missing or malformed');
  assert.is(
    problem({ headers: { Contact: '"Joe" <sip:joe@example.org>;;;;' } }),
    '400 Contact, Route or Record-Route is malformed',
  );
});

test('3.1.2.2 and 3.1.2.3 Content-Length larger than the body, or negative', () => {
  assert.is(
    problem({ headers: { 'Content-Length': '9999' }, body: 'v=0' }),
    '400 the body is shorter than Content-Length',
  );
  assert.is(problem({ headers: { 'Content-Length': '-999' } }), '400 Content-Length is malformed');
});

test('3.1.2.4 and 3.1.2.5 numbers that are too large', () => {
  assert.is(problem({ headers: { CSeq: '36893488147419103232 OPTIONS' } }), '400 CSeq is missing or malformed');
  assert.is(problem({ headers: { 'Max-Forwards': '300' } }), '400 Max-Forwards is malformed');
  assert.is(parsed({ headers: { Expires: '10000000000000000000000' } }).expires, undefined);
  assert.is(problem({ start: 'SIP/2.0 4294967301 better not break the receiver' }), '400 the status is malformed');
});

test('3.1.2.6 a quote that never closes', () => {
  assert.is(problem({ headers: { To: '"Mr. J. User <sip:j.user@example.com>' } }), '400 To is missing or malformed');
});

test('3.1.2.7 to 3.1.2.10 brackets, spaces and extra spaces in the request line', () => {
  for (const start of [
    'OPTIONS <sip:user@example.com> SIP/2.0',
    'OPTIONS sip:user@example.com; lr SIP/2.0',
    'OPTIONS  sip:user@example.com  SIP/2.0',
    'OPTIONS sip:user@example.com SIP/2.0  ',
  ]) {
    assert.match(problem({ start }), /^400 (the Request-URI|the request line) is malformed$/);
  }
});

test('3.1.2.11 escaped headers in a Request-URI are read, not obeyed', () => {
  const message = parsed({ start: 'OPTIONS sip:user@example.com?Route=%3Csip:example.com%3E SIP/2.0' });
  const uri = message.kind === 'request' ? message.uri : undefined;
  assert.equal(uri?.scheme === 'sip' && uri.headers, { Route: '%3Csip:example.com%3E' });
  assert.equal(message.routes, []);
});

test('3.1.2.12 a date in no known zone is nobody’s reason to refuse', () => {
  assert.is(parsed({ lines: ['Date: Fri, 01 Jan 2010 16:00:00 EST'] }).header('date'), 'Fri, 01 Jan 2010 16:00:00 EST');
});

test('3.1.2.13 a contact with headers and without brackets', () => {
  assert.is(
    problem({ headers: { Contact: 'sip:user@example.com?Route=%3Csip:sip.example.com%3E' } }),
    '400 Contact, Route or Record-Route is malformed',
  );
});

test('3.1.2.14 spaces inside the brackets of an address', () => {
  assert.is(
    problem({ headers: { To: '"Watson, Thomas" < sip:t.watson@example.org >' } }),
    '400 To is missing or malformed',
  );
});

test('3.1.2.15 characters in a display name that should have been quoted are borne', () => {
  assert.is(
    parsed({ headers: { From: 'Bell, Alexander <sip:a.g.bell@example.com>;tag=43' } }).from.displayName,
    'Bell, Alexander',
  );
});

test('3.1.2.16 another version', () => {
  assert.is(problem({ start: 'OPTIONS sip:t.watson@example.org SIP/7.0' }), '505 the SIP version is not 2.0');
  assert.is(problem({ start: 'SIP/7.0 200 OK' }), '400 the SIP version of a response is not 2.0');
});

test('3.1.2.17 and 3.1.2.18 another method in CSeq', () => {
  for (const method of ['INVITE', 'NEWMETHOD']) {
    assert.is(problem({ headers: { CSeq: `8 ${method}` } }), '400 the method of CSeq is not the method of the request');
  }
});

test('3.3.1 missing headers', () => {
  for (const [header, text] of [
    ['Via', 'Via is missing or malformed'],
    ['From', 'From is missing or malformed'],
    ['To', 'To is missing or malformed'],
    ['Call-ID', 'Call-ID is missing'],
    ['CSeq', 'CSeq is missing or malformed'],
  ] as const) {
    assert.is(problem({ headers: { [header]: '' } }), `400 ${text}`);
  }
});

test('3.3.2 and 3.3.3 Request-URIs of other schemes are read', () => {
  const uri = (text: string) => {
    const message = parsed({ start: `OPTIONS ${text} SIP/2.0` });
    return message.kind === 'request' ? message.uri : undefined;
  };
  assert.equal(uri('nobodyKnowsThisScheme:totallyopaquecontent'), {
    scheme: 'other',
    text: 'nobodyKnowsThisScheme:totallyopaquecontent',
  });
  assert.equal(uri('soap.beep://192.0.2.103:3002'), { scheme: 'other', text: 'soap.beep://192.0.2.103:3002' });
  assert.equal(uri('tel:+31201234567;phone-context=x'), {
    scheme: 'tel',
    number: '+31201234567',
    params: { 'phone-context': 'x' },
  });
});

test('3.3.8 and 3.3.9 headers that may stand only once', () => {
  for (const [header, values] of [
    ['From', ['<sip:a@example.com>;tag=1', '<sip:b@example.com>;tag=2']],
    ['To', ['<sip:a@example.com>', '<sip:b@example.com>']],
    ['Call-ID', ['one', 'two']],
    ['CSeq', ['1 OPTIONS', '2 OPTIONS']],
    ['Max-Forwards', ['5', '6']],
    ['Content-Length', ['0', '1']],
  ] as const) {
    assert.is(problem({ headers: { [header]: [...values] } }), `400 there is more than one ${header.toLowerCase()}`);
  }
});

test('3.3.11 Max-Forwards of zero is a number like others', () => {
  assert.is(parsed({ headers: { 'Max-Forwards': '0' } }).maxForwards, 0);
});

test('3.4.1 a message of RFC 2543 without a branch and without Max-Forwards', () => {
  const message = parsed({
    headers: {
      Via: 'SIP/2.0/UDP iftgw.example.com',
      'Max-Forwards': '',
      From: '<sip:+13035551111@ift.example.com;user=phone>',
    },
  });
  assert.equal([message.topVia?.params, message.maxForwards, message.fromTag], [{}, undefined, undefined]);
});

test('limits: too many headers, too many bytes, headers that never end, lines that are none', () => {
  assert.is(problem({ lines: Array.from({ length: 260 }, (_, i) => `X-${i}: x`) }), '400 there are too many headers');
  assert.is(problem(Buffer.alloc(65_537, 'x')), '513 the message is too large');
  assert.is(problem(bytes({}).subarray(0, -2)), '400 the headers do not end');
  assert.is(problem({ lines: ['no colon here'] }), '400 a header line is malformed');
  assert.is(problem({ lines: ['bad name: x'] }), '400 a header line is malformed');
  assert.is(problem(Buffer.from('\u0000\u0001')), '400 the first line is no SIP line');
});

test('what is copied into an answer to a malformed request has no control characters', () => {
  const hostile = 'a\rContact: <sip:evil@x>\u0000\u001b[2J';
  const result = parseMessage(
    bytes({
      headers: { Via: `SIP/2.0/UDP h;x=${hostile}`, From: hostile, To: hostile, 'Call-ID': hostile, CSeq: hostile },
    }),
  );
  const text = result.ok ? '' : formatRejection(result.failure, 'ours')!.toString();
  assert.match(text, 'From: a Contact: <sip:evil@x> [2J\r\n');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  assert.not.match(text.replaceAll('\r\n', ''), /[\u0000-\u001f]/);
});

test('a refused request is answered with its own headers, as far as it has them', () => {
  const answer = (parts: Parts) => {
    const result = parseMessage(bytes(parts));
    return result.ok ? undefined : formatRejection(result.failure, 'ours')?.toString();
  };
  assert.is(
    answer({ headers: { Via: ['SIP/2.0/UDP one', 'SIP/2.0/UDP two'], CSeq: '8 BYE' } }),
    [
      'SIP/2.0 400 Bad Request',
      'Via: SIP/2.0/UDP one',
      'Via: SIP/2.0/UDP two',
      'From: <sip:alice@example.com>;tag=1',
      'To: <sip:bob@example.com>;tag=ours',
      'Call-ID: torture',
      'CSeq: 8 BYE',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  );
  assert.match(answer({ start: 'OPTIONS sip:x SIP/3.0' })!, /^SIP\/2\.0 505 Version Not Supported\r\n/);
  // RFC 4475 3.3.1: ideally it is answered, with what it has.
  assert.is(
    answer({ headers: { 'Call-ID': '', From: '', To: '' } }),
    'SIP/2.0 400 Bad Request\r\nVia: SIP/2.0/UDP host.example.com;branch=z9hG4bKt\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n',
  );
  assert.is(answer({ headers: { CSeq: '' } }), undefined);
  assert.is(answer({ headers: { Via: '' } }), undefined);
  assert.is(answer({ start: 'SIP/2.0 200 OK', headers: { CSeq: 'x' } }), undefined);
  assert.is(answer({ start: 'ACK sip:x SIP/2.0' }), undefined);
});

test.run();
