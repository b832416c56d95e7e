import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { acknowledgedBy, reliableNumber, wantsReliable } from '../../../src/sip/dialog/reliable.ts';
import { buildRequest, buildResponse, type HeaderLines } from '../../../src/sip/message/build.ts';
import type { SipRequest, SipResponse } from '../../../src/sip/message/message.ts';
import { createBench, nothing, parts } from './bench.ts';

type Bench = ReturnType<typeof createBench>;

const able: HeaderLines = [['Supported', '100rel']];
const demanding: HeaderLines = [['Require', '100rel']];

/** A call that came in with an INVITE that requires reliable responses. */
function reliableCall(bench: Bench, options: Parameters<Bench['send']>[1] = { sdp: 'their-offer' }) {
  bench.user.reliability = 'asked';
  const number = bench.send('INVITE', { headers: demanding, ...options });
  return { call: bench.incoming.at(-1)!, number };
}

/** What the last provisional response says: status, RSeq, body. */
const said = (response: SipResponse) => ({
  status: response.status,
  require: response.header('Require'),
  body: response.bodyText,
});

const rseqOf = (response: SipResponse): number => Number(response.header('RSeq'));

/** The caller acknowledges a response, the last one sent where none is named. */
async function prack(
  bench: Bench,
  number: number,
  { of, rseq, ...body }: { of?: SipResponse; sdp?: string; contentType?: string; rseq?: number } = {},
) {
  const told = of ?? (await bench.response());
  bench.send('PRACK', {
    toTag: told.toTag!,
    headers: [['RAck', `${rseq ?? rseqOf(told)} ${number} INVITE`]],
    ...body,
  });
}

const anInvite = (headers: HeaderLines): SipRequest =>
  buildRequest({
    method: 'INVITE',
    uri: 'sip:a@b',
    from: '<sip:c@d>;tag=1',
    to: '<sip:a@b>',
    callId: 'x',
    cseq: 1,
    headers,
  });

test('whether responses are reliable follows from what both sides say (RFC 3262 3)', () => {
  const verdicts = [[], able, demanding].map((headers) =>
    (['no', 'asked', 'able', 'required'] as const).map((how) => wantsReliable(anInvite(headers), how)),
  );
  assert.equal(verdicts, [
    [false, false, false, false],
    [false, false, true, true],
    [false, true, true, true],
  ]);
});

test('RSeq and RAck are read as RFC 3262 7 has them, and nothing else is', () => {
  const response = (status: number, headers: HeaderLines, toTag?: string) =>
    reliableNumber(buildResponse(anInvite([]), status, { headers, ...(toTag !== undefined && { toTag }) }));
  assert.is(response(180, [...demanding, ['RSeq', '4294967295']], 'a'), 4294967295);
  for (const rseq of ['0', '4294967296', '', '-1', '1.5', '99999999999'])
    assert.is(response(180, [...demanding, ['RSeq', rseq]], 'a'), undefined, rseq);
  assert.is(response(180, [['RSeq', '1']], 'a'), undefined);
  assert.is(response(180, [...demanding, ['RSeq', '1']]), undefined);
  assert.is(response(100, [...demanding, ['RSeq', '1']], 'a'), undefined);
  assert.is(response(200, [...demanding, ['RSeq', '1']], 'a'), undefined);
  const rack = (value: string) => acknowledgedBy(anInvite([['RAck', value]]));
  assert.equal(rack('776656 \t 1 INVITE'), { rseq: 776656, cseq: 1, method: 'INVITE' });
  for (const value of ['', '1 1', '1 1 INVITE x', '0 1 INVITE', '1 x INVITE', '4294967296 1 INVITE'])
    assert.is(rack(value), undefined, value);
});

test('a caller that requires them gets reliable responses, repeated with growing pauses until its PRACK', async () => {
  const bench = createBench();
  const { call, number } = reliableCall(bench);
  call.provisional(180);
  const first = await bench.response();
  assert.equal(said(first), { status: 180, require: '100rel', body: '' });
  assert.ok(rseqOf(first) >= 1 && rseqOf(first) <= 2 ** 31 - 1);
  await bench.advance(8000);
  assert.equal(bench.transports.take(), [
    [0, '180 INVITE'],
    [500, '180 INVITE'],
    [1500, '180 INVITE'],
    [3500, '180 INVITE'],
    [7500, '180 INVITE'],
  ]);
  await prack(bench, number, { of: first });
  await bench.advance(60_000);
  assert.equal(await bench.sent(), ['200 PRACK']);
  bench.agent.close();
});

test('the next one waits for the PRACK, has the next number, and a PRACK for no response is answered 481', async () => {
  const bench = createBench();
  const { call, number } = reliableCall(bench);
  call.provisional(180);
  call.provisional(183, { sdp: 'our-answer' });
  const of = await bench.response();
  const first = rseqOf(of);
  assert.equal(await bench.sent(), ['180 INVITE']);
  await prack(bench, number, { of, rseq: first + 1 });
  await prack(bench, number + 7, { of });
  assert.equal(await bench.sent(), ['481 PRACK', '481 PRACK']);
  await prack(bench, number, { of });
  const second = await bench.response();
  assert.equal(await bench.sent(), ['200 PRACK', '183 INVITE']);
  assert.equal([said(second), rseqOf(second)], [{ status: 183, require: '100rel', body: 'our-answer' }, first + 1]);
  bench.agent.close();
});

test('the 200 waits for the PRACK of our answer, and has no description then (RFC 3262 3, RFC 6337 3.1.1)', async () => {
  const bench = createBench();
  const { call, number } = reliableCall(bench);
  call.provisional(183, { sdp: 'our-answer' });
  call.answer('our-answer');
  const of = await bench.response();
  const { toTag } = of;
  assert.equal(await bench.sent(), ['183 INVITE']);
  assert.equal(await bench.heard(), []);
  await prack(bench, number, { of });
  assert.is((await bench.response()).bodyText, '');
  assert.equal(await bench.sent(), ['200 PRACK', '200 INVITE']);
  assert.equal(await bench.heard(), ['answer sent']);
  bench.send('ACK', { toTag: toTag!, number });
  bench.send('BYE', { toTag: toTag! });
  assert.equal(await bench.heard(), ['acknowledged', 'ended bye', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a 200 does not wait for the PRACK of a response without a description, which may still come', async () => {
  const bench = createBench();
  const { call, number } = reliableCall(bench);
  call.provisional(180);
  const of = await bench.response();
  await bench.sent();
  call.answer('our-answer');
  const ok = await bench.response();
  assert.equal([ok.status, ok.bodyText], [200, 'our-answer']);
  await prack(bench, number, { of });
  assert.equal((await bench.sent()).slice(0, 2), ['200 INVITE', '200 PRACK']);
  bench.agent.close();
});

test('a response that nobody acknowledges ends the call with 504 after 64·T1', async () => {
  const bench = createBench();
  const { call } = reliableCall(bench);
  call.provisional(183, { sdp: 'our-answer' });
  call.answer('our-answer');
  await bench.advance(32_000);
  assert.is((await bench.sent()).at(-1), '504 INVITE');
  assert.equal(await bench.heard(), ['closed', 'setup failed 504']);
  assert.equal(await bench.leaks(), nothing);
});

test('without an offer our first reliable response offers, and the PRACK has to answer', async () => {
  const bench = createBench();
  const { call, number } = reliableCall(bench, {});
  call.provisional(183, { sdp: 'our-offer' });
  await prack(bench, number, { sdp: 'their-answer' });
  assert.equal(await bench.heard(), ['answer their-answer']);
  call.answer('our-offer');
  assert.is((await bench.response()).bodyText, '');
  bench.agent.close();
  const silent = createBench();
  const other = reliableCall(silent, {});
  other.call.provisional(183, { sdp: 'our-offer' });
  await prack(silent, other.number);
  assert.equal(await silent.sent(), ['183 INVITE', '200 PRACK', '488 INVITE']);
  assert.equal(await silent.heard(), ['closed', 'setup failed 488']);
  assert.equal(await silent.leaks(), nothing);
});

test('a PRACK may offer again after the answer to the INVITE; a bad offer gets all streams refused', async () => {
  const bench = createBench();
  const { call, number } = reliableCall(bench);
  call.provisional(183, { sdp: 'our-answer' });
  await prack(bench, number, { sdp: 'second-offer' });
  const taken = await bench.response();
  assert.equal([taken.cseq.method, taken.status, taken.bodyText], ['PRACK', 200, 'our-answer']);
  call.provisional(180);
  bench.user.answer = undefined;
  await prack(bench, number, { sdp: 'third-offer' });
  const refused = await bench.response();
  assert.equal([refused.cseq.method, refused.status, refused.bodyText], ['PRACK', 200, 'all-refused']);
  call.provisional(181);
  bench.user.answer = { headers: [['Warning', '399 us "no"']] };
  bench.user.rejection = undefined;
  await prack(bench, number, { sdp: 'unreadable' });
  const unread = await bench.response();
  assert.equal([unread.status, unread.header('Warning'), unread.bodyText], [200, '399 us "no"', '']);
  assert.equal(await bench.heard(), [
    'offer second-offer',
    'offer third-offer',
    'reject third-offer',
    'offer unreadable',
    'reject unreadable',
  ]);
  // The call goes on.
  call.answer('our-answer');
  assert.is((await bench.response()).status, 200);
  bench.agent.close();
});

test('of responses that wait for a PRACK the latest are kept, so many as may be', async () => {
  const bench = createBench({ waitingProvisional: 2 });
  const { call, number } = reliableCall(bench);
  for (const status of [180, 181, 182, 183]) call.provisional(status);
  await prack(bench, number);
  await prack(bench, number);
  await prack(bench, number);
  const told = (await bench.sent()).filter((each) => each.endsWith(' INVITE'));
  assert.equal(told, ['180 INVITE', '182 INVITE', '183 INVITE']);
  assert.equal(bench.limits.figures(), { 'sip.waiting_provisional': 1 });
  bench.agent.close();
});

test('a PRACK may have its answer, or another offer, among several parts', async () => {
  const bench = createBench();
  const { call, number } = reliableCall(bench, {});
  call.provisional(183, { sdp: 'our-offer' });
  await prack(bench, number, parts('their-answer'));
  call.provisional(180);
  await prack(bench, number, parts('second-offer'));
  assert.equal(await bench.heard(), ['answer their-answer', 'offer second-offer']);
  bench.agent.close();
});

test('a caller’s UPDATE may offer early once our description was acknowledged (RFC 3311 5.2)', async () => {
  const bench = createBench();
  const { call, number } = reliableCall(bench);
  call.provisional(183, { sdp: 'our-answer' });
  const { toTag } = await bench.response();
  bench.send('UPDATE', { toTag: toTag!, sdp: 'too-early' });
  const refused = await bench.response();
  assert.equal([refused.status, refused.header('Retry-After') !== undefined], [500, true]);
  bench.transports.sent.pop();
  await prack(bench, number);
  bench.send('UPDATE', { toTag: toTag!, sdp: 'new-offer' });
  assert.equal([(await bench.response()).status, (await bench.response()).bodyText], [200, 'our-answer']);
  assert.equal(await bench.heard(), ['offer new-offer']);
  bench.agent.close();
});

test('an UPDATE before the answer starts no session timer, however long it rings (RFC 4028 4)', async () => {
  const bench = createBench();
  const { call } = reliableCall(bench);
  call.provisional(180);
  const { toTag } = await bench.response();
  bench.send('UPDATE', {
    toTag: toTag!,
    headers: [
      ['Supported', 'timer'],
      ['Session-Expires', '90;refresher=uac'],
    ],
  });
  assert.is((await bench.response()).header('Session-Expires'), undefined);
  bench.agent.close();
  const placing = createBench();
  placing.call([], 'supported');
  const invite = await placing.request();
  placing.answer(invite, 180);
  const dialog = { callId: invite.callId, toTag: invite.fromTag!, fromTag: 'peer' };
  placing.send('UPDATE', { ...dialog, headers: [['Session-Expires', '90;refresher=uac']] });
  await placing.advance(100_000);
  assert.equal(await placing.sent(), ['INVITE', '200 UPDATE']);
  placing.answer(invite, 200);
  assert.equal(await placing.heard(), ['provisional 180', 'answered 200']);
  placing.agent.close();
});

test('a branch that answers after it was given up is ended with a number that it has not seen', async () => {
  const bench = createBench();
  bench.call([], 'supported');
  const invite = await bench.request();
  bench.answer(invite, 183, { toTag: 'one', headers: [...demanding, ['RSeq', '1']] });
  const prackOne = await bench.request();
  bench.answer(invite, 200, { toTag: 'two' });
  await bench.heard();
  bench.answer(invite, 200, { toTag: 'one' });
  const bye = await bench.request();
  assert.equal(
    [prackOne, bye].map(({ method, cseq, toTag }) => `${method} ${cseq.number} to ${toTag}`),
    ['PRACK 2 to one', 'BYE 3 to one'],
  );
  bench.agent.close();
});

test('a call that is cancelled, refused or hung up by a BYE while a PRACK is due leaves nothing', async () => {
  for (const end of ['CANCEL', 'BYE', 'refuse']) {
    const bench = createBench();
    const { call, number } = reliableCall(bench);
    call.provisional(183, { sdp: 'our-answer' });
    call.answer('our-answer');
    const { toTag } = await bench.response();
    if (end === 'CANCEL') bench.send('CANCEL', { number, branch: `z9hG4bK${number}INVITE` });
    else if (end === 'BYE') bench.send('BYE', { toTag: toTag! });
    else call.refuse(486);
    assert.equal((await bench.sent()).at(-1), end === 'refuse' ? '486 INVITE' : '487 INVITE');
    assert.equal(await bench.heard(), end === 'refuse' ? ['closed'] : ['cancelled', 'closed']);
    assert.equal(await bench.leaks(), nothing);
  }
});

test('a reliable response to our INVITE gets its PRACK, a repeated or early one neither PRACK nor hearing', async () => {
  const bench = createBench();
  bench.call([], 'supported');
  const invite = await bench.request();
  assert.equal([invite.header('Supported'), invite.header('Require')], ['100rel, 199, replaces, tdialog', undefined]);
  const ring = (rseq: number, status = 180) =>
    bench.answer(invite, status, { headers: [...demanding, ['RSeq', String(rseq)]] });
  await bench.sent();
  ring(7);
  const prackOf = await bench.request();
  assert.equal(
    [prackOf.method, prackOf.header('RAck'), prackOf.cseq.number, prackOf.toTag],
    ['PRACK', `7 ${invite.cseq.number} INVITE`, invite.cseq.number + 1, 'peer'],
  );
  ring(7);
  ring(9, 183);
  ring(8, 183);
  assert.equal(await bench.sent(), ['PRACK', 'PRACK']);
  assert.equal(await bench.heard(), ['provisional 180', 'provisional 183']);
  bench.answer(invite, 200);
  assert.equal(await bench.sent(), ['ACK']);
  bench.agent.close();
});

test('an INVITE may require them, or not know them', async () => {
  const bench = createBench();
  bench.call([], 'required');
  const requiring = await bench.request();
  assert.equal(
    [requiring.header('Supported'), requiring.header('Require')],
    ['100rel, 199, replaces, tdialog', '100rel'],
  );
  bench.call();
  const plain = await bench.request();
  assert.equal([plain.header('Supported'), plain.header('Require')], ['199, replaces, tdialog', undefined]);
  await bench.sent();
  bench.answer(plain, 180, { headers: [...demanding, ['RSeq', '7']] });
  assert.equal(await bench.sent(), []);
  bench.agent.close();
});

test('an early dialog whose answer is settled takes offers by UPDATE, each branch for itself', async () => {
  const bench = createBench();
  const call = bench.call([], 'supported');
  const invite = await bench.request();
  const described = { contentType: 'application/sdp', body: 'their-answer' };
  bench.answer(invite, 183, { ...described, toTag: 'one', headers: [...demanding, ['RSeq', '1']] });
  bench.answer(invite, 183, { ...described, toTag: 'two' });
  await bench.heard();
  const dialog = { callId: call.callId, toTag: invite.fromTag! };
  bench.send('UPDATE', { ...dialog, fromTag: 'one', sdp: 'offer-one' });
  assert.is((await bench.response()).status, 200);
  bench.send('UPDATE', { ...dialog, fromTag: 'two', sdp: 'offer-two' });
  assert.is((await bench.response()).status, 491);
  assert.equal(await bench.heard(), ['early offer offer-one of one']);
  bench.agent.close();
});

test('199 ends an early dialog and no other; a PRACK for it still goes out (RFC 6228)', async () => {
  const bench = createBench();
  bench.call([], 'supported');
  const invite = await bench.request();
  for (const toTag of ['one', 'two', 'three']) bench.answer(invite, 180, { toTag });
  assert.is(bench.agent.counts().dialogs, 3);
  bench.answer(invite, 199, { toTag: 'one' });
  assert.is(bench.agent.counts().dialogs, 2);
  await bench.sent();
  bench.answer(invite, 199, { toTag: 'two', headers: [...demanding, ['RSeq', '1']] });
  bench.answer(await bench.request(), 200);
  assert.equal(await bench.sent(), ['PRACK']);
  bench.answer(invite, 200, { toTag: 'three' });
  assert.equal(await bench.heard(), [
    ...['provisional 180', 'provisional 180', 'provisional 180'],
    ...['branch one ended', 'branch two ended', 'answered 200'],
  ]);
  assert.is(bench.agent.counts().dialogs, 1);
  bench.agent.close();
});

test.run();
