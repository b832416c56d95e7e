import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { HeaderLines } from '../../../src/sip/message/build.ts';
import { createBench, nothing, parts } from './bench.ts';

type Bench = ReturnType<typeof createBench>;

/** A call of ours that the peer has answered; everything said so far is forgotten. */
async function answeredCall(bench: Bench, headers: HeaderLines = []) {
  const call = bench.call();
  const invite = await bench.request();
  bench.answer(invite, 200, { headers });
  await bench.heard();
  await bench.sent();
  const { dialog } = call.usage!;
  const tags = { callId: dialog.callId, toTag: dialog.local.params['tag']!, fromTag: 'peer' };
  return { call, invite, tags };
}

test('a call rings, is answered, acknowledged and ended with BYE', async () => {
  const bench = createBench();
  const call = bench.call();
  const invite = await bench.request();
  bench.answer(invite, 100);
  bench.answer(invite, 180);
  bench.answer(invite, 200);
  assert.equal(await bench.heard(), ['provisional 180', 'answered 200']);
  const ack = await bench.request();
  assert.equal([ack.method, ack.cseq.number, ack.requestUri], ['ACK', invite.cseq.number, 'sip:bob@192.0.2.9:5070']);
  call.hangup([['Reason', 'Q.850;cause=16']]);
  const bye = await bench.request();
  assert.equal([bye.method, bye.cseq.number, bye.toTag, bye.header('Reason')], ['BYE', 2, 'peer', 'Q.850;cause=16']);
  bench.answer(bye, 200);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('an INVITE without an answer is repeated, then fails as 408', async () => {
  const bench = createBench();
  bench.call();
  await bench.advance(32_000);
  assert.equal(await bench.sent(), Array(7).fill('INVITE'));
  assert.equal(await bench.heard(), ['failed 408', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a repeated 200 is acknowledged again with the same ACK', async () => {
  const bench = createBench();
  const { invite } = await answeredCall(bench);
  bench.answer(invite, 200);
  await bench.advance(40_000);
  bench.answer(invite, 200);
  assert.equal(await bench.sent(), ['ACK', 'ACK']);
  assert.equal(await bench.heard(), []);
  bench.agent.close();
});

test('a 200 that is repeated after the call was ended gets the same ACK, and no second BYE', async () => {
  const bench = createBench();
  const { call, invite } = await answeredCall(bench);
  call.hangup();
  bench.answer(await bench.request(), 200);
  assert.equal(await bench.heard(), ['closed']);
  bench.answer(invite, 200);
  assert.equal(await bench.sent(), ['BYE', 'ACK']);
  assert.equal(await bench.leaks(), nothing);
});

test('CANCEL waits for the first provisional response', async () => {
  const bench = createBench();
  const call = bench.call();
  const invite = await bench.request();
  call.hangup();
  assert.equal(await bench.sent(), ['INVITE']);
  bench.answer(invite, 180);
  assert.equal(await bench.sent(), ['CANCEL']);
  bench.answer(invite, 487);
  assert.equal(await bench.sent(), ['ACK']);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a 200 that crosses the CANCEL is acknowledged and ended', async () => {
  const bench = createBench();
  const call = bench.call();
  const invite = await bench.request();
  bench.answer(invite, 180);
  call.hangup([['Reason', 'Q.850;cause=16']]);
  bench.answer(invite, 200);
  assert.equal(await bench.sent(), ['INVITE', 'CANCEL', 'ACK', 'BYE']);
  assert.equal(await bench.heard(), ['provisional 180']);
  assert.equal(await bench.leaks(), nothing);
});

test('of two branches that answer the first wins; the second is acknowledged and ended', async () => {
  const bench = createBench();
  const call = bench.call();
  const invite = await bench.request();
  bench.answer(invite, 180, { toTag: 'one' });
  bench.answer(invite, 183, { toTag: 'two' });
  assert.is(bench.agent.counts().dialogs, 2);
  bench.answer(invite, 200, { toTag: 'two' });
  assert.is(bench.agent.counts().dialogs, 1);
  await bench.sent();
  bench.answer(invite, 200, { toTag: 'one' });
  const bye = await bench.request();
  assert.equal([bye.toTag, call.usage?.dialog.remote.params['tag']], ['one', 'two']);
  assert.equal(await bench.sent(), ['ACK', 'BYE']);
  bench.answer(bye, 200);
  assert.equal(await bench.heard(), ['provisional 180', 'provisional 183', 'answered 200']);
  call.hangup();
  bench.answer(await bench.request(), 200);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('of branches without end so many are followed as may be, also where earlier ones are over', async () => {
  const bench = createBench({ mostBranches: 3 });
  const call = bench.call();
  const invite = await bench.request();
  bench.answer(invite, 180, { toTag: 'one' });
  bench.answer(invite, 199, { toTag: 'one' });
  for (const toTag of ['two', 'three', 'four', 'two', 'five']) bench.answer(invite, 180, { toTag });
  assert.is(bench.agent.counts().dialogs, 2);
  bench.answer(invite, 200, { toTag: 'six' });
  const rings = Array(3).fill('provisional 180');
  assert.equal(await bench.heard(), ['provisional 180', 'branch one ended', ...rings]);
  bench.answer(invite, 200, { toTag: 'one' });
  assert.equal(await bench.heard(), ['answered 200']);
  assert.is(call.usage?.dialog.remote.params['tag'], 'one');
  assert.equal(bench.limits.figures(), { 'sip.most_branches': 3 });
  await bench.sent();
  call.hangup();
  bench.answer(await bench.request(), 200);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a refusal is told and leaves nothing', async () => {
  const bench = createBench();
  bench.call();
  bench.answer(await bench.request(), 486);
  assert.equal(await bench.heard(), ['refused 486', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a challenge that we cannot answer is a refusal', async () => {
  const bench = createBench();
  bench.call();
  bench.answer(await bench.request(), 401, { headers: [['WWW-Authenticate', 'Digest realm="r", nonce="n"']] });
  assert.equal(await bench.heard(), ['refused 401', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('the route set of the answer is used in reverse order, strict routers get the Request-URI', async () => {
  const bench = createBench();
  const call = bench.call();
  const invite = (await bench.request()).append('Record-Route', '<sip:192.0.2.31;lr>, <sip:192.0.2.30>');
  bench.answer(invite, 200);
  const ack = await bench.request();
  assert.is(ack.requestUri, 'sip:192.0.2.30');
  assert.equal(ack.headerLines('Route'), ['<sip:192.0.2.31;lr>', '<sip:bob@192.0.2.9:5070>']);
  assert.is(bench.transports.sent.at(-1)?.target.address, '192.0.2.30');
  call.hangup();
  assert.equal(await bench.leaks(), nothing);
});

test('the peer ends the call', async () => {
  const bench = createBench();
  const { call, tags } = await answeredCall(bench);
  bench.send('BYE', tags);
  assert.equal(await bench.sent(), ['200 BYE']);
  assert.equal(await bench.heard(), ['ended bye', 'closed']);
  call.hangup();
  assert.equal(await bench.sent(), []);
  assert.equal(await bench.leaks(), nothing);
});

test('two BYEs that cross are both answered', async () => {
  const bench = createBench();
  const { call, tags } = await answeredCall(bench);
  call.hangup();
  const bye = await bench.request();
  bench.send('BYE', tags);
  bench.answer(bye, 200);
  assert.equal(await bench.sent(), ['BYE', '200 BYE']);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a BYE that is never answered leaves nothing behind', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.hangup();
  assert.is(bench.agent.counts().dialogs, 1);
  await bench.advance(32_000);
  assert.equal(await bench.heard(), ['closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a re-INVITE of ours offers, and its answer is taken', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.usage?.reinvite();
  const reinvite = await bench.request();
  assert.equal([reinvite.method, reinvite.cseq.number, reinvite.bodyText], ['INVITE', 2, 'our-offer']);
  bench.answer(reinvite, 200, { body: 'new-answer' });
  bench.answer(reinvite, 200, { body: 'new-answer' });
  assert.equal(await bench.sent(), ['INVITE', 'ACK', 'ACK']);
  assert.equal(await bench.heard(), ['make offer', 'answer new-answer']);
  bench.agent.close();
});

test('a re-INVITE of ours that is accepted without an answer leaves the session as it was', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.usage?.reinvite();
  bench.answer(await bench.request(), 200, { contentType: undefined, body: undefined });
  assert.equal(await bench.sent(), ['INVITE', 'ACK']);
  assert.equal(await bench.heard(), ['make offer', 'offer refused 488']);
  bench.agent.close();
});

test('the answer to a re-INVITE of ours may be one of several parts', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.usage?.reinvite();
  const { contentType, sdp } = parts('new-answer');
  bench.answer(await bench.request(), 200, { contentType, body: sdp });
  assert.equal(await bench.heard(), ['make offer', 'answer new-answer']);
  bench.agent.close();
});

test('wishes to re-INVITE while one is under way become one more', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  for (let wish = 0; wish < 3; wish++) call.usage?.reinvite();
  bench.answer(await bench.request(), 200);
  assert.equal(await bench.sent(), ['INVITE', 'ACK', 'INVITE']);
  bench.agent.close();
});

test('after 491 the owner of the Call-ID tries again between 2.1 and 4 seconds later', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.usage?.reinvite();
  bench.answer(await bench.request(), 491);
  assert.equal(await bench.sent(), ['INVITE', 'ACK']);
  await bench.advance(2099);
  assert.equal(await bench.sent(), []);
  await bench.advance(1901);
  assert.is((await bench.sent())[0], 'INVITE');
  call.hangup();
  assert.equal(await bench.leaks(), nothing);
});

const takesUpdate: HeaderLines = [['Allow', 'INVITE, ACK, BYE, CANCEL, UPDATE']];

/** A call whose peer takes UPDATE, and a way to say who it is connected to. */
async function announcing(bench: Bench, headers = takesUpdate) {
  const { call, tags } = await answeredCall(bench, headers);
  const announce = (party: string): void => {
    bench.user.party = party;
    call.usage!.announce();
  };
  return { call, tags, announce };
}

test('who the peer is connected to is told by UPDATE where it takes that, one at a time, the latest last', async () => {
  const bench = createBench();
  const { call, announce } = await announcing(bench);
  announce('<sip:1@us>');
  const first = await bench.request();
  announce('<sip:2@us>');
  announce('<sip:3@us>');
  assert.equal(
    [first.method, first.header('P-Asserted-Identity'), first.body.length, first.contact !== undefined],
    ['UPDATE', '<sip:1@us>', 0, true],
  );
  assert.equal(await bench.sent(), ['UPDATE']);
  bench.answer(first, 200);
  const second = await bench.request();
  assert.equal([second.method, second.header('P-Asserted-Identity')], ['UPDATE', '<sip:3@us>']);
  bench.answer(second, 200);
  assert.equal(await bench.heard(), []);
  call.hangup();
  bench.answer(await bench.request(), 200);
  assert.equal(await bench.leaks(), nothing);
});

test('where it does not, by re-INVITE; also when it refuses the method after all', async () => {
  const silent = createBench();
  const { call, announce } = await announcing(silent, []);
  announce('<sip:1@us>');
  await silent.advance(500);
  const reinvite = await silent.request();
  assert.equal([reinvite.method, reinvite.header('P-Asserted-Identity')], ['INVITE', '<sip:1@us>']);
  silent.answer(reinvite, 200);
  call.hangup();
  silent.agent.close();
  const bench = createBench();
  const refusing = await announcing(bench);
  refusing.announce('<sip:1@us>');
  bench.answer(await bench.request(), 405);
  await bench.advance(500);
  const instead = await bench.request();
  assert.equal([instead.method, instead.header('P-Asserted-Identity')], ['INVITE', '<sip:1@us>']);
  bench.answer(instead, 200);
  await bench.sent();
  refusing.announce('<sip:2@us>');
  assert.equal(await bench.sent(), ['INVITE']);
  bench.agent.close();
});

test('how long that re-INVITE leaves the peer to send its own is a setting', async () => {
  const patient = createBench({ announceDelayMs: 2_000 });
  const { announce } = await announcing(patient, []);
  announce('<sip:1@us>');
  await patient.advance(1_999);
  assert.equal(await patient.sent(), []);
  await patient.advance(1);
  assert.equal(await patient.sent(), ['INVITE']);
  patient.agent.close();
  const hasty = createBench({ announceDelayMs: 0 });
  (await announcing(hasty, [])).announce('<sip:1@us>');
  assert.equal(await hasty.sent(), ['INVITE']);
  hasty.agent.close();
});

test('an UPDATE that crosses one of the peer is sent again later, with what is to be told by then', async () => {
  const bench = createBench();
  const { announce, tags } = await announcing(bench);
  announce('<sip:1@us>');
  const crossed = await bench.request();
  bench.send('UPDATE', { ...tags, headers: [['P-Asserted-Identity', '<sip:them@192.0.2.9>']] });
  assert.equal(await bench.sent(), ['UPDATE', '200 UPDATE']);
  assert.equal(await bench.heard(), ['updated <sip:them@192.0.2.9>']);
  bench.answer(crossed, 491);
  announce('<sip:2@us>');
  await bench.advance(2099);
  assert.equal(await bench.sent(), []);
  await bench.advance(1901);
  const again = await bench.request();
  assert.equal([again.method, again.header('P-Asserted-Identity')], ['UPDATE', '<sip:2@us>']);
  await bench.sent();
  bench.answer(again, 500, { headers: [['Retry-After', '7']] });
  await bench.advance(6_999);
  assert.equal(await bench.sent(), []);
  await bench.advance(1);
  bench.answer(await bench.request(), 488);
  assert.equal(await bench.sent(), ['UPDATE'], 'a peer that does not want to know is not asked again');
  bench.agent.close();
});

test('an UPDATE that is never answered, or of a call that is no more, ends the call', async () => {
  for (const status of [481, undefined]) {
    const bench = createBench();
    const { announce } = await announcing(bench);
    announce('<sip:1@us>');
    if (status) bench.answer(await bench.request(), status);
    else await bench.advance(32_000);
    assert.equal((await bench.heard())[0], `ended lost${status ?? 408}`);
    bench.agent.close();
  }
});

test('nothing is told before our answer is acknowledged', async () => {
  const bench = createBench();
  bench.user.party = '<sip:1@us>';
  bench.send('INVITE', { sdp: 'their-offer', headers: takesUpdate });
  await bench.heard();
  const [call] = bench.incoming;
  call!.answer('our-answer');
  const { toTag = '' } = await bench.response();
  call!.usage.announce();
  assert.equal(
    (await bench.sent()).filter((what) => !what.startsWith('1')),
    ['200 INVITE'],
  );
  bench.send('ACK', { toTag, number: 101 });
  assert.equal(await bench.sent(), ['UPDATE']);
  bench.agent.close();
});

test('a refused re-INVITE changes nothing, 481 ends the call', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.usage?.reinvite();
  bench.answer(await bench.request(), 488);
  assert.equal(await bench.heard(), ['make offer', 'offer refused 488']);
  call.usage?.reinvite();
  bench.answer(await bench.request(), 481);
  assert.equal(await bench.heard(), ['make offer', 'ended lost481', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a re-INVITE that nobody answers ends the call', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.usage?.reinvite();
  await bench.advance(32_000);
  assert.equal(await bench.heard(), ['make offer', 'ended lost408']);
  assert.equal((await bench.sent()).at(-1), 'BYE');
  assert.equal(await bench.leaks(), nothing);
});

test('a re-INVITE that only got a provisional answer is cancelled when the call is over, and forgotten', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.usage?.reinvite();
  const reinvite = await bench.request();
  bench.answer(reinvite, 100);
  call.hangup();
  const bye = await bench.request();
  assert.equal(await bench.sent(), ['INVITE', 'BYE']);
  bench.answer(bye, 200);
  assert.equal(await bench.sent(), ['CANCEL']);
  bench.answer(reinvite, 487);
  assert.equal(await bench.heard(), ['make offer', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a re-INVITE that is accepted after the call was over is still acknowledged', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  call.usage?.reinvite();
  const reinvite = await bench.request();
  bench.answer(reinvite, 100);
  call.hangup();
  bench.answer(await bench.request(), 200);
  await bench.sent();
  bench.answer(reinvite, 200);
  assert.equal(await bench.sent(), ['ACK']);
  assert.equal(await bench.leaks(), nothing);
});

test('a re-INVITE of the peer during one of ours is refused with 491', async () => {
  const bench = createBench();
  const { call, tags } = await answeredCall(bench);
  call.usage?.reinvite();
  await bench.request();
  bench.send('INVITE', { ...tags, sdp: 'their-offer' });
  assert.equal(await bench.sent(), ['INVITE', '491 INVITE']);
  bench.agent.close();
});

test('what became of another request inside the call is told', async () => {
  const bench = createBench();
  const { call } = await answeredCall(bench);
  await bench.heard();
  call.usage?.request('digit', 'INFO');
  bench.answer(await bench.request(), 405);
  assert.equal(await bench.heard(), ['digit 405']);
  call.hangup();
  assert.equal(await bench.leaks(), nothing);
});

test.run();
