import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createIds } from '../../../src/lib/ids.ts';
import { createDigestClient } from '../../../src/sip/auth/client.ts';
import { peer } from '../transaction/fake-transports.ts';
import { createBench, nothing, parts } from './bench.ts';

type Bench = ReturnType<typeof createBench>;

async function ringing(bench: Bench, options: Parameters<Bench['send']>[1] = { sdp: 'their-offer' }) {
  const number = bench.send('INVITE', options);
  const call = bench.incoming.at(-1)!;
  call.provisional(180);
  const toTag = (await bench.response()).toTag!;
  await bench.sent();
  return { call, number, toTag };
}

async function connected(bench: Bench) {
  const { call, number, toTag } = await ringing(bench);
  call.answer('our-answer');
  bench.send('ACK', { toTag, number });
  await bench.sent();
  await bench.heard();
  return { call, toTag };
}

test('a call is rung, answered and ended by the caller', async () => {
  const bench = createBench();
  const { call, number, toTag } = await ringing(bench);
  call.answer('our-answer');
  const ok = await bench.response();
  assert.equal([ok.status, ok.bodyText], [200, 'our-answer']);
  assert.match(ok.header('Contact')!, '<sip:192.0.2.1:5060>');
  bench.send('ACK', { toTag, number });
  bench.send('BYE', { toTag });
  assert.equal(await bench.sent(), ['200 INVITE', '200 BYE']);
  assert.equal(await bench.heard(), ['acknowledged', 'ended bye', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('the 200 is repeated until the ACK comes, also after it was sent', async () => {
  const bench = createBench();
  const { call, number, toTag } = await ringing(bench);
  call.answer('our-answer');
  await bench.advance(3600);
  assert.equal(
    bench.transports.take().map(([at]) => at),
    [0, 500, 1500, 3500],
  );
  bench.send('ACK', { toTag, number });
  await bench.advance(60_000);
  assert.equal(await bench.sent(), []);
  bench.agent.close();
});

test('a 200 that is never acknowledged ends the call with BYE after 64·T1', async () => {
  const bench = createBench();
  const { call } = await ringing(bench);
  call.answer('our-answer');
  await bench.advance(32_000);
  assert.is((await bench.sent()).at(-1), 'BYE');
  assert.equal(await bench.heard(), ['ended lost408']);
  assert.equal(await bench.leaks(), nothing);
});

test('a caller that asks for a password inside the call gets it, as a provider does for a re-INVITE and a BYE', async () => {
  const bench = createBench();
  bench.user.digest = createDigestClient([{ username: 'us', password: 'p' }], createIds(bench.clock));
  const { call } = await connected(bench);
  call.usage.reinvite();
  const first = await bench.request();
  assert.is(first.header('Authorization'), undefined);
  bench.answer(first, 401, { headers: [['WWW-Authenticate', 'Digest realm="r", nonce="n", algorithm=MD5']] });
  const again = await bench.request();
  assert.match(again.header('Authorization') ?? '', /username="us".*realm="r".*nonce="n"/);
  assert.is(again.cseq.number, first.cseq.number + 1);
  bench.answer(again, 200, parts('their-answer'));
  assert.is((await bench.request()).method, 'ACK');
  call.usage.bye();
  const bye = await bench.request();
  assert.match(bye.header('Authorization') ?? '', /nonce="n"/);
  bench.answer(bye, 200);
  assert.equal(await bench.leaks(), nothing);
});

test('a BYE of ours waits for the ACK', async () => {
  const bench = createBench();
  const { call, number, toTag } = await ringing(bench);
  call.answer('our-answer');
  call.usage.bye();
  assert.equal(await bench.sent(), ['200 INVITE']);
  bench.send('ACK', { toTag, number });
  assert.equal(await bench.sent(), ['BYE']);
  assert.equal(await bench.leaks(), nothing);
});

test('a BYE of ours gives a peer that is about to hang up time to do so, and no more', async () => {
  const bench = createBench();
  const first = await connected(bench);
  first.call.usage.expectBye(500);
  first.call.usage.bye();
  bench.send('BYE', { toTag: first.toTag });
  assert.equal(await bench.sent(), ['200 BYE']);
  await bench.advance(1000);
  assert.equal(await bench.sent(), []);
  assert.equal(await bench.leaks(), nothing);

  const other = createBench();
  const second = await connected(other);
  second.call.usage.expectBye(500);
  second.call.usage.bye();
  await other.advance(499);
  assert.equal(await other.sent(), []);
  await other.advance(1);
  assert.equal(await other.sent(), ['BYE']);
  assert.equal(await other.leaks(), nothing);
});

test('a change right after the ACK waits if the peer lacks UPDATE: it may send a re-INVITE of its own', async () => {
  const bench = createBench();
  const { call, toTag } = await connected(bench);
  call.usage.announce();
  await bench.advance(499);
  assert.equal(await bench.sent(), []);
  const number = bench.send('INVITE', { toTag, sdp: 'their-offer-2' });
  assert.is((await bench.response()).status, 200);
  bench.send('ACK', { toTag, number });
  await bench.sent();
  await bench.advance(1);
  assert.equal(await bench.sent(), ['INVITE']);
  bench.agent.close();
});

test('a caller who cancels gets 200 for the CANCEL and 487 for the INVITE', async () => {
  const bench = createBench();
  const { number } = await ringing(bench);
  bench.send('CANCEL', { number, branch: `z9hG4bK${number}INVITE` });
  assert.equal(await bench.sent(), ['200 CANCEL', '487 INVITE']);
  assert.equal(await bench.heard(), ['cancelled', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a CANCEL after the 200 changes nothing', async () => {
  const bench = createBench();
  const { call, number } = await ringing(bench);
  call.answer('our-answer');
  bench.send('CANCEL', { number, branch: `z9hG4bK${number}INVITE` });
  assert.equal(await bench.heard(), []);
  bench.agent.close();
});

test('a BYE before the answer ends the INVITE with 487', async () => {
  const bench = createBench();
  const { toTag } = await ringing(bench);
  bench.send('BYE', { toTag });
  assert.equal(await bench.sent(), ['200 BYE', '487 INVITE']);
  assert.equal(await bench.heard(), ['cancelled', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a refused call leaves nothing', async () => {
  const bench = createBench();
  const { call, number, toTag } = await ringing(bench);
  call.refuse(486, { headers: [['Reason', 'Q.850;cause=17']] });
  assert.is((await bench.response()).header('Reason'), 'Q.850;cause=17');
  bench.send('ACK', { toTag, number, branch: `z9hG4bK${number}INVITE` });
  call.answer('late');
  assert.equal(await bench.sent(), ['486 INVITE']);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('an INVITE without SDP is answered with an offer, and the ACK brings the answer', async () => {
  const bench = createBench();
  const { call, number, toTag } = await ringing(bench, {});
  assert.ok(call.wantsOffer);
  call.answer('our-offer');
  bench.send('ACK', { toTag, number, sdp: 'their-answer' });
  assert.equal(await bench.heard(), ['acknowledged', 'answer their-answer']);
  bench.agent.close();
});

test('an ACK without the answer that is due ends the call', async () => {
  const bench = createBench();
  const { call, number, toTag } = await ringing(bench, {});
  call.answer('our-offer');
  bench.send('ACK', { toTag, number });
  assert.equal(await bench.sent(), ['200 INVITE', 'BYE']);
  assert.equal(await bench.heard(), ['acknowledged', 'ended lost488']);
  assert.equal(await bench.leaks(), nothing);
});

test('a re-INVITE without SDP whose ACK brings no answer, or none of use, leaves the session as it was', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  for (const sdp of [undefined, 'useless']) {
    bench.user.accepts = false;
    const number = bench.send('INVITE', { toTag });
    bench.send('ACK', { toTag, number, ...(sdp !== undefined && { sdp }) });
    assert.equal(await bench.sent(), ['200 INVITE']);
  }
  assert.equal(await bench.heard(), [
    'make offer',
    'offer refused 488',
    'make offer',
    'answer useless',
    'offer refused 488',
  ]);
  bench.send('INVITE', { toTag, sdp: 'new-offer' });
  assert.is((await bench.response()).status, 200);
  bench.agent.close();
});

test('a provisional response is repeated every minute', async () => {
  const bench = createBench();
  await ringing(bench);
  await bench.advance(120_000);
  assert.equal(await bench.sent(), ['180 INVITE', '180 INVITE']);
  bench.agent.close();
});

test('an INVITE that expires while ringing is ended', async () => {
  const bench = createBench();
  await ringing(bench, { sdp: 'o', headers: [['Expires', '30']] });
  await bench.advance(30_000);
  assert.is((await bench.sent())[0], '487 INVITE');
  assert.equal(await bench.heard(), ['cancelled', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a re-INVITE is answered; a refused one leaves the session as it was', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  const number = bench.send('INVITE', { toTag, sdp: 'new-offer' });
  bench.send('ACK', { toTag, number });
  bench.user.answer = undefined;
  bench.send('INVITE', { toTag, sdp: 'bad-offer' });
  assert.equal(await bench.sent(), ['200 INVITE', '488 INVITE']);
  bench.user.answer = { headers: [['Warning', '399 us "no"']] };
  for (const method of ['INVITE', 'UPDATE']) {
    bench.send(method, { toTag, sdp: 'bad-offer' });
    const refusal = await bench.response();
    assert.equal([refusal.status, refusal.header('Warning')], [488, '399 us "no"']);
  }
  assert.equal(await bench.heard(), ['offer new-offer', 'offer bad-offer', 'offer bad-offer', 'offer bad-offer']);
  bench.agent.close();
});

test('a re-INVITE or UPDATE with a body other than SDP is refused, not taken as one without an offer', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  for (const method of ['INVITE', 'UPDATE']) {
    bench.send(method, { toTag, sdp: 'x', contentType: 'application/isup' });
    const refusal = await bench.response();
    assert.equal([refusal.status, refusal.header('Accept')], [415, 'application/sdp, multipart/mixed']);
    bench.send(method, { toTag, sdp: '--b\r\n', contentType: 'multipart/mixed;boundary=c' });
    const malformed = await bench.response();
    assert.equal([malformed.status, malformed.header('Warning')], [400, '399 hookswitch "its body has no parts"']);
    await bench.sent();
  }
  assert.equal(await bench.heard(), []);
  bench.send('BYE', { toTag });
  assert.is((await bench.response()).status, 200);
});

test('SDP in a multipart body is the offer of a re-INVITE or UPDATE, and the answer of an ACK', async () => {
  const bench = createBench();
  const { call, number, toTag } = await ringing(bench, {});
  call.answer('our-offer');
  bench.send('ACK', { toTag, number, ...parts('their-answer') });
  const second = bench.send('INVITE', { toTag, ...parts('second-offer') });
  bench.send('ACK', { toTag, number: second });
  bench.send('UPDATE', { toTag, ...parts('third-offer') });
  assert.equal(await bench.heard(), ['acknowledged', 'answer their-answer', 'offer second-offer', 'offer third-offer']);
  assert.equal(await bench.sent(), ['200 INVITE', '200 INVITE', '200 UPDATE']);
  bench.agent.close();
});

test('a body without Content-Type is ignored in a re-INVITE and in an ACK (RFC 3261 20.15)', async () => {
  const bench = createBench();
  const untyped = { sdp: 'what', contentType: '' };
  const { call, toTag } = await connected(bench);
  assert.not(call.wantsOffer);
  const number = bench.send('INVITE', { toTag, ...untyped });
  bench.send('ACK', { toTag, number, ...untyped });
  assert.equal(await bench.heard(), ['make offer', 'offer refused 488']);
  assert.equal(await bench.sent(), ['200 INVITE']);
  assert.ok((await ringing(bench, { ...untyped, callId: 'another' })).call.wantsOffer);
  bench.agent.close();
});

test('a re-INVITE without SDP gets our offer', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  const number = bench.send('INVITE', { toTag });
  bench.send('INVITE', { toTag, sdp: 'crossing' });
  assert.equal(await bench.sent(), ['200 INVITE', '491 INVITE']);
  bench.send('ACK', { toTag, number, sdp: 'their-answer' });
  assert.equal(await bench.heard(), ['make offer', 'answer their-answer']);
  bench.agent.close();
});

test('UPDATE is answered with and without an offer', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  bench.send('UPDATE', { toTag });
  bench.send('UPDATE', { toTag, sdp: 'new-offer' });
  assert.equal(
    bench.transports.sent.map(({ message }) => message.bodyText),
    ['', 'our-answer'],
  );
  assert.equal(await bench.heard(), ['offer new-offer']);
  bench.agent.close();
});

test('an UPDATE with an offer before the answer has to wait', async () => {
  const bench = createBench();
  const { toTag } = await ringing(bench);
  bench.send('UPDATE', { toTag, sdp: 'early' });
  assert.is((await bench.response()).status, 500);
  assert.match((await bench.response()).header('Retry-After')!, /^\d+$/);
  bench.agent.close();
});

test('a request with a number that is not higher than the last is answered 500', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  bench.send('INFO', { toTag, number: 5 });
  assert.equal(await bench.sent(), ['500 INFO']);
  assert.equal(await bench.heard(), []);
  bench.agent.close();
});

test('requests inside the call are given to its user, whose status is the answer', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  bench.send('INFO', { toTag });
  bench.user.status = 405;
  bench.send('PUBLISH', { toTag });
  assert.ok((await bench.response()).header('Allow')?.includes('INVITE'));
  assert.equal(await bench.sent(), ['200 INFO', '405 PUBLISH']);
  assert.equal(await bench.heard(), ['INFO', 'PUBLISH']);
  bench.agent.close();
});

test('later requests go where the last Contact says', async () => {
  const bench = createBench();
  const { call, toTag } = await connected(bench);
  const number = bench.send('INVITE', { toTag, sdp: 'o', headers: [] });
  bench.send('ACK', { toTag, number });
  call.usage.bye();
  assert.is((await bench.request()).requestUri, 'sip:carol@192.0.2.9:5070');
  assert.is(bench.transports.sent.at(-1)?.target.port, 5070);
  bench.agent.close();
});

test('what belongs to no dialog is answered 481, an ACK is ignored', async () => {
  const bench = createBench();
  for (const method of ['BYE', 'INVITE', 'INFO', 'ACK']) bench.send(method, { toTag: 'unknown' });
  for (const method of ['BYE', 'INFO', 'UPDATE', 'PRACK']) bench.send(method);
  assert.equal(await bench.sent(), [
    ...['481 BYE', '481 INVITE', '481 INFO'],
    ...['481 BYE', '481 INFO', '481 UPDATE', '481 PRACK'],
  ]);
  assert.equal(await bench.leaks(), nothing);
});

test('methods, extensions and addresses that we do not know are answered 405, 420 and 416', async () => {
  const bench = createBench();
  bench.send('PUBLISH');
  assert.is((await bench.response()).header('Allow'), 'INVITE, ACK, CANCEL, BYE, UPDATE, INFO, PRACK, REFER');
  bench.send('INVITE', { headers: [['Require', '100rel, timer, precondition']] });
  assert.is((await bench.response()).header('Unsupported'), 'precondition');
  assert.equal(await bench.sent(), ['405 PUBLISH', '420 INVITE']);
  assert.is(bench.incoming.length, 0);
  assert.equal(await bench.leaks(), nothing);
});

test('a session timer is granted to a peer that refreshes, and ends the call when it does not', async () => {
  const bench = createBench();
  const headers = [
    ['Session-Expires', '90'],
    ['Supported', 'timer'],
  ] as const;
  const { call, number, toTag } = await ringing(bench, { sdp: 'o', headers });
  call.answer('our-answer');
  assert.is((await bench.response()).header('Session-Expires'), '90;refresher=uac');
  assert.is((await bench.response()).header('Require'), 'timer');
  bench.send('ACK', { toTag, number });
  await bench.advance(50_000);
  bench.send('UPDATE', { toTag, headers });
  await bench.advance(50_000);
  await bench.heard();
  await bench.advance(10_000);
  assert.equal(await bench.heard(), ['ended lost408']);
  assert.equal(await bench.leaks(), nothing);
});

test('a session that the peer wants us to refresh is refreshed at half time', async () => {
  const bench = createBench();
  const headers = [['Session-Expires', '100;refresher=uas']] as const;
  const { call, number, toTag } = await ringing(bench, { sdp: 'o', headers });
  call.answer('our-answer');
  bench.send('ACK', { toTag, number });
  await bench.advance(50_000);
  const refresh = await bench.request();
  assert.equal([refresh.method, refresh.header('Session-Expires')], ['INVITE', '100;refresher=uac']);
  bench.answer(refresh, 200);
  await bench.advance(50_000);
  assert.is((await bench.request()).method, 'INVITE');
  bench.agent.close();
});

test('a session shorter than 90 seconds is refused with 422', async () => {
  const bench = createBench();
  bench.send('INVITE', { sdp: 'o', headers: [['Session-Expires', '30']] });
  assert.equal([(await bench.response()).status, (await bench.response()).header('Min-SE')], [422, '90']);
  assert.equal(await bench.leaks(), nothing);
});

test('a session shorter than 90 seconds is refused with 422 inside a call, too, which goes on', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  for (const method of ['INVITE', 'UPDATE']) {
    bench.send(method, { toTag, sdp: 'o', headers: [['Session-Expires', '0']] });
    assert.is((await bench.response()).header('Min-SE'), '90');
  }
  await bench.advance(0);
  assert.equal(await bench.sent(), ['422 INVITE', '422 UPDATE']);
  assert.equal(await bench.heard(), []);
  bench.agent.close();
});

test('a session longer than any timer lasts is granted the longest that one does', async () => {
  for (const seconds of ['3000000', '4294967295']) {
    const bench = createBench();
    const headers = [
      ['Session-Expires', seconds],
      ['Supported', 'timer'],
    ] as const;
    const { call } = await ringing(bench, { sdp: 'o', headers });
    call.answer('our-answer');
    assert.is((await bench.response()).header('Session-Expires'), '2147483;refresher=uac');
    bench.agent.close();
  }
});

test('an unknown required option inside a call is refused with 420, but a BYE is accepted', async () => {
  const bench = createBench();
  const { toTag } = await connected(bench);
  const headers = [['Require', 'timer, precondition']] as const;
  for (const method of ['INVITE', 'UPDATE', 'INFO']) {
    bench.send(method, { toTag, sdp: 'o', headers });
    assert.is((await bench.response()).header('Unsupported'), 'precondition');
  }
  assert.equal(await bench.sent(), ['420 INVITE', '420 UPDATE', '420 INFO']);
  bench.send('BYE', { toTag, headers });
  assert.equal(await bench.sent(), ['200 BYE']);
  assert.equal(await bench.leaks(), nothing);
});

test('a user that says BYE on hearing that the call is over sends nothing more', async () => {
  for (const over of ['BYE', 'no ACK', 'BYE before the answer'] as const) {
    const bench = createBench();
    const { call, number, toTag } = await ringing(bench);
    bench.onTold = (what) => {
      if (what.startsWith('ended') || what === 'cancelled') call.usage.bye();
    };
    if (over !== 'BYE before the answer') call.answer('our-answer');
    if (over === 'BYE') bench.send('ACK', { toTag, number });
    await bench.sent();
    if (over === 'no ACK') await bench.advance(32_000);
    else bench.send('BYE', { toTag });
    const byes = (await bench.sent()).filter((what) => what === 'BYE').length;
    assert.is(byes, over === 'no ACK' ? 1 : 0, over);
    if (over !== 'no ACK') assert.is(bench.agent.counts().dialogs, 0, over);
    assert.equal(await bench.leaks(), nothing);
  }
});

test('RFC 5630: what is asked for by SIPS came over TLS, and is answered by SIPS', async () => {
  const bench = createBench();
  bench.send('INVITE', { uri: 'sips:us@192.0.2.1', sdp: 'o' });
  assert.is((await bench.response()).status, 416);
  for (const [protocol, uri, contact] of [
    ['tls', 'sips:us@192.0.2.1', '<sips:192.0.2.1:5060>'],
    ['tls', 'sip:us@192.0.2.1', '<sip:192.0.2.1:5060;transport=tls>'],
    ['wss', 'sips:us@192.0.2.1', '<sips:192.0.2.1:5060;transport=ws>'],
    ['udp', 'sip:us@192.0.2.1', '<sip:192.0.2.1:5060>'],
  ] as const) {
    bench.send('INVITE', { uri, sdp: 'o', source: peer(protocol), callId: `${protocol} ${uri}` });
    await bench.sent();
    const call = bench.incoming.at(-1)!;
    call.provisional(180);
    assert.is((await bench.response()).header('Contact'), contact, `${protocol} ${uri}`);
    call.refuse(486);
  }
  bench.agent.close();
});

test.run();
