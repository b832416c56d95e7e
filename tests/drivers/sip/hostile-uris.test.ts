import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultAor, type EndpointConfig } from '../../../src/drivers/sip/config.ts';
import { parseNameAddr } from '../../../src/sip/message/name-addr.ts';
import { DriverError } from '../../../src/telephony/driver.ts';
import { peer, settle } from '../../sip/transaction/fake-transports.ts';
import { endpoint, trusted } from './support.ts';
import { createVictim, leftovers, nothing, type Victim } from './victim.ts';

/** URIs as nobody should write them, of every part that leads somewhere. */
const uri = fc
  .record({
    scheme: fc.constantFrom('sip:', 'sip:', 'sip:', 'sip:', 'SIP:', 'sips:', 'tel:', 'urn:', 'sip', ''),
    user: fc.constantFrom('', 'b@', 'b@', '%00@', '%0d%0aX: y@', 'a;b=c@', ':@', '@'),
    host: fc.constantFrom(
      ...['192.0.2.9', '192.0.2.9', 'h', 'silent.example', 'nowhere.invalid', '', '[::1]', '[2001:db8::9]', '::1', '['],
      ...['999.1.1.1', '1.2.3', '0.0.0.0', '255.255.255.255', '..', '-', '_', `${'a'.repeat(300)}`],
    ),
    port: fc.constantFrom('', '', ':5070', ':0', ':65535', ':99999', ':', ':x'),
    params: fc.array(
      fc.constantFrom(
        ...[';lr', ';lr', ';lr=on', ';maddr=', ';maddr', ';maddr=[::1]', ';maddr=192.0.2.8', ';maddr=%00', ';maddr=..'],
        ...[';maddr=silent.example', ';maddr=nowhere.invalid', ';transport=tls', ';transport=ws', ';transport=tcp'],
        ...[';transport=', ';transport=UDP', ';ttl=999', ';__proto__=x', ';method=BYE', ';user=phone', ';;', ';='],
      ),
      { maxLength: 3 },
    ),
    headers: fc.constantFrom('', '', '', '?Replaces=x', '?', '?a=b&c'),
  })
  .map(({ scheme, user, host, port, params, headers }) => `${scheme}${user}${host}${port}${params.join('')}${headers}`);

const sdp =
  'v=0\r\no=- 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n';

const invite = ({ from = '<sip:carol@192.0.2.9>', contact = 'sip:carol@192.0.2.9:5070', routes = [] as string[] }) =>
  [
    'INVITE sip:600@192.0.2.1 SIP/2.0',
    'Via: SIP/2.0/UDP 192.0.2.9:5070;branch=z9hG4bKone',
    `From: ${from};tag=c`,
    'To: <sip:600@192.0.2.1>',
    'Call-ID: one',
    'CSeq: 1 INVITE',
    `Contact: <${contact}>`,
    ...routes.map((route) => `Record-Route: <${route}>`),
    'Content-Type: application/sdp',
    `Content-Length: ${sdp.length}`,
    '',
    sdp,
  ].join('\r\n');

/** A call from outside, answered, put on hold, sent elsewhere and hung up by us. */
async function liveCall(message: string, referTo = 'sip:x@192.0.2.4'): Promise<Victim> {
  const victim = createVictim((leg) => leg.answer());
  victim.transports.deliver(message, peer('udp'));
  await settle();
  for (const leg of victim.legs) {
    leg.hold();
    leg.redirect(referTo);
    await settle();
    leg.hangup(16);
  }
  return victim;
}

/** A call to an address, as far as it can be placed. @returns what kept it from being placed. */
function dial(victim: Victim, resource: string): string | undefined {
  try {
    const caller = { name: '', number: '' };
    const { leg } = victim.driver.open({ channelId: 'out', resource, caller, variables: {} }, ({ type }) => {
      if (type === 'leg.hungUp') leg.hangup(16);
    });
    victim.legs.push(leg);
    leg.dial();
    return undefined;
  } catch (error) {
    assert.instance(error, DriverError);
    return (error as DriverError).part;
  }
}

test('a Record-Route with an empty maddr costs its own call, and nothing else', async () => {
  const victim = await liveCall(invite({ routes: ['sip:h;lr;maddr='] }));
  assert.equal(await leftovers(victim), nothing);
});

test('a caller id reaches From and P-Asserted-Identity without control characters', async () => {
  const victim = createVictim(() => {});
  victim.driver.setEndpoint(endpoint('line', trusted));
  const caller = { name: 'A\u0000B\r\nZ: y\u001b', number: '\u00001\r\n2\u007f' };
  const resource = 'line/sip:b@192.0.2.9';
  const { leg } = victim.driver.open({ channelId: 'out', resource, caller, variables: {} }, () => {});
  victim.legs.push(leg);
  leg.dial();
  await settle();
  const { message } = victim.transports.sent[0]!;
  assert.match(message.header('From')!, /^"A B Z: y" <sip:1%202@192\.0\.2\.1>;tag=/);
  assert.is(message.header('P-Asserted-Identity'), '"A B Z: y" <sip:1%202@192.0.2.1>');
  assert.is(message.header('Z'), undefined);
  assert.equal(await leftovers(victim), nothing);
});

test('a place over a transport that we have not is refused after the dial, not in it', async () => {
  const victim = createVictim(() => {});
  assert.is(dial(victim, 'everybody/sip:b@10.0.0.1;transport=tls'), undefined);
  assert.equal(await leftovers(victim), nothing);
});

test('whatever Contact, Record-Route and From a caller names, its call ends and nothing is left', async () => {
  const run = async (contact: string, routes: string[], from: string, referTo: string) => {
    const victim = await liveCall(invite({ contact, routes, from: `<${from}>` }), referTo);
    assert.equal(await leftovers(victim), nothing);
  };
  const route = fc.array(uri, { maxLength: 2 });
  // Without a readable From there is no call.
  const from = uri.filter((text) => parseNameAddr(`<${text}>`) !== undefined);
  await fc.assert(fc.asyncProperty(uri, route, from, uri, run), { numRuns: 300 });
});

test('whatever Contact and Record-Route a callee answers with, its call ends and nothing is left', async () => {
  const run = async (contact: string, routes: string[], status: number) => {
    const victim = createVictim(() => {});
    dial(victim, 'everybody/sip:bob@192.0.2.9:5070');
    await settle();
    const sent = victim.transports.sent.at(-1)!.message;
    const head = [
      `SIP/2.0 ${status} X`,
      ...['Via', 'From', 'Call-ID', 'CSeq'].map((name) => `${name}: ${sent.header(name)}`),
      `To: ${sent.header('To')};tag=callee`,
      `Contact: <${contact}>`,
      ...routes.map((each) => `Record-Route: <${each}>`),
      'Content-Type: application/sdp',
    ];
    victim.transports.deliver(`${head.join('\r\n')}\r\n\r\n${sdp}`);
    await settle();
    victim.legs[0]!.hold();
    await settle();
    victim.legs[0]!.hangup(16);
    assert.equal(await leftovers(victim), nothing);
  };
  const route = fc.array(uri, { maxLength: 2 });
  await fc.assert(fc.asyncProperty(uri, route, fc.constantFrom(183, 200, 302), run), { numRuns: 300 });
});

test('whatever a client dials, refers to or writes to, nothing is thrown but the error it is told', async () => {
  const run = async (target: string) => {
    const victim = createVictim(() => {});
    dial(victim, `everybody/${target}`);
    dial(victim, target);
    const refused: unknown[] = [];
    const note = (error: unknown) => void refused.push(error);
    const referral = victim.driver.refer({ to: 'everybody/sip:b@192.0.2.9', referTo: target }).catch(note);
    const referred = victim.driver.refer({ to: `everybody/${target}`, from: target, referTo: '600' }).catch(note);
    const message = victim.driver.sendMessage({ from: target, to: `everybody/${target}`, body: 'x' }).catch(note);
    assert.equal(await leftovers(victim), nothing);
    await Promise.all([referral, referred, message]);
    assert.ok(refused.every((error) => error instanceof Error && !(error instanceof TypeError)));
  };
  await fc.assert(fc.asyncProperty(uri, run), { numRuns: 300 });
});

test('whatever contacts and proxies an endpoint is given, calls to it end and nothing is left', async () => {
  const run = async (contact: string, outboundProxy: string, fromUser: string, fromDomain: string) => {
    const victim = createVictim(() => {});
    const made: EndpointConfig = endpoint('made', {
      aor: { ...defaultAor, contacts: [contact, 'sip:made@192.0.2.9'] },
      outboundProxy,
      fromUser,
      fromDomain,
    });
    victim.driver.setEndpoint(made);
    dial(victim, 'made');
    dial(victim, '600@made');
    assert.equal(await leftovers(victim), nothing);
  };
  await fc.assert(fc.asyncProperty(uri, uri, uri, fc.constantFrom('h', '', '[::1]', 'a b', 'x>y'), run), {
    numRuns: 200,
  });
});

test.run();
