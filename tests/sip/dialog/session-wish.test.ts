import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { longerSession, type SessionTerms, type SessionWish } from '../../../src/sip/dialog/session-timer.ts';
import { buildRequest, buildResponse, type HeaderLines } from '../../../src/sip/message/build.ts';
import { createBench, nothing } from './bench.ts';

type Bench = ReturnType<typeof createBench>;

/** Session timers of calls that we place (RFC 4028 7), and what we want of calls that come in (RFC 4028 9). */
const wish: SessionWish = { seconds: 1800, minimum: 90 };

/** A call that asks for a watched session and is answered; what was said so far is forgotten. */
async function answered(bench: Bench, session: SessionWish, headers: HeaderLines) {
  const call = bench.call([], undefined, session);
  const invite = await bench.request();
  bench.answer(invite, 200, { headers });
  await bench.heard();
  await bench.sent();
  return { call, invite };
}

test('an INVITE asks for a watched session, and requires it where that is wished', async () => {
  const bench = createBench();
  bench.call([], undefined, wish);
  const invite = await bench.request();
  const about = ['Supported', 'Require', 'Session-Expires', 'Min-SE'];
  assert.equal(
    about.map((name) => invite.header(name)),
    ['199, replaces, tdialog, timer', undefined, '1800', '90'],
  );
  bench.call([], 'required', { ...wish, required: true, minimum: 10 });
  const requiring = await bench.request();
  assert.equal(
    about.map((name) => requiring.header(name)),
    ['100rel, 199, replaces, tdialog, timer', '100rel, timer', '1800', '90'],
  );
  bench.agent.close();
});

test('refreshing falls to us when the answer says so, or says nothing of it', async () => {
  for (const value of ['600;refresher=uac', '600']) {
    const bench = createBench();
    await answered(bench, wish, [['Session-Expires', value]]);
    await bench.advance(299_000);
    assert.equal(await bench.sent(), []);
    await bench.advance(1_000);
    const refresh = await bench.request();
    assert.equal([refresh.method, refresh.header('Session-Expires')], ['INVITE', '600;refresher=uac']);
    bench.answer(refresh, 200);
    await bench.sent();
    await bench.advance(300_000);
    assert.is((await bench.request()).method, 'INVITE');
    bench.agent.close();
  }
});

test('a peer that has to refresh and does not has lost the call', async () => {
  const bench = createBench();
  await answered(bench, wish, [['Session-Expires', '90;refresher=uas']]);
  await bench.advance(60_000);
  assert.is((await bench.request()).method, 'BYE');
  assert.equal(await bench.heard(), ['ended lost408']);
  assert.equal(await bench.leaks(), nothing);
});

test('a session that is shorter than may be is watched as the shortest that may be', async () => {
  const bench = createBench();
  await answered(bench, wish, [['Session-Expires', '1;refresher=uac']]);
  await bench.advance(44_000);
  assert.equal(await bench.sent(), []);
  await bench.advance(1_000);
  assert.is((await bench.request()).header('Session-Expires'), '90;refresher=uac');
  bench.agent.close();
});

test('a peer that knows nothing of it is not watched, unless by us alone', async () => {
  for (const always of [false, true]) {
    const bench = createBench();
    await answered(bench, { ...wish, always }, []);
    await bench.advance(900_000);
    assert.equal(await bench.sent(), always ? ['INVITE'] : []);
    bench.agent.close();
  }
});

test('a 422 is answered with as long a session as it wants, once for each longer one', async () => {
  const bench = createBench();
  bench.call([], undefined, wish);
  const first = await bench.request();
  bench.answer(first, 422, { headers: [['Min-SE', '3600']] });
  const second = await bench.request();
  assert.equal(
    [second.method, second.header('Session-Expires'), second.header('Min-SE'), second.cseq.number - first.cseq.number],
    ['INVITE', '3600', '3600', 1],
  );
  assert.equal([second.callId, second.fromTag], [first.callId, first.fromTag]);
  bench.answer(second, 422, { headers: [['Min-SE', '3600']] });
  assert.equal(await bench.heard(), ['refused 422', 'closed']);
  assert.equal(await bench.leaks(), nothing);
});

test('a 422 that makes no sense is a refusal', () => {
  const invite = buildRequest({
    ...{ method: 'INVITE', uri: 'sip:a@b', from: '<sip:c@d>;tag=1', to: '<sip:a@b>', callId: 'x', cseq: 1 },
  });
  const asks = (status: number, value?: string) =>
    longerSession(
      buildResponse(invite, status, { toTag: 'x', headers: value === undefined ? [] : [['Min-SE', value]] }),
      wish,
    );
  assert.equal(
    [asks(422), asks(422, 'soon'), asks(422, '1800'), asks(486, '3600'), asks(422, '3600;x=y')],
    [undefined, undefined, undefined, undefined, 3600],
  );
});

/** What our 200 says of the session of a call that came in. */
async function granted(bench: Bench, session: SessionTerms, headers: HeaderLines) {
  bench.user.session = session;
  bench.send('INVITE', { sdp: 'o', headers });
  bench.incoming.at(-1)!.answer('our-answer');
  const response = await bench.response();
  bench.send('ACK', { toTag: response.toTag!, number: response.cseq.number });
  return ['Session-Expires', 'Require'].map((name) => response.header(name));
}

const able: HeaderLines = [['Supported', 'timer']];
const asks: HeaderLines = [...able, ['Session-Expires', '600']];

test('a caller is watched as it asks for, also by us when it asks for nothing, or by nobody', async () => {
  const rows: [SessionTerms, HeaderLines, (string | undefined)[]][] = [
    [undefined, asks, ['600;refresher=uac', 'timer']],
    [wish, asks, ['600;refresher=uac', 'timer']],
    [wish, able, [undefined, undefined]],
    [{ ...wish, required: true }, able, ['1800;refresher=uas', undefined]],
    [{ ...wish, required: true }, [...able, ['Min-SE', '3600']], ['3600;refresher=uas', undefined]],
    [{ ...wish, always: true }, asks, ['600;refresher=uac', 'timer']],
    [{ ...wish, always: true }, able, ['1800;refresher=uas', undefined]],
    [{ ...wish, always: true }, [], ['1800;refresher=uas', undefined]],
    ['off', asks, [undefined, undefined]],
    ['off', able, [undefined, undefined]],
  ];
  for (const [terms, headers, expected] of rows) {
    const bench = createBench();
    assert.equal(await granted(bench, terms, headers), expected, JSON.stringify([terms, headers]));
    bench.agent.close();
  }
});

test('we refresh the session of a caller without session timers, and end its call if it does not answer', async () => {
  const bench = createBench();
  await granted(bench, { ...wish, always: true, seconds: 90 }, []);
  await bench.advance(45_000);
  const refresh = await bench.request();
  assert.equal([refresh.method, refresh.header('Session-Expires')], ['INVITE', '90;refresher=uac']);
  await bench.heard();
  await bench.advance(32_000);
  assert.equal(await bench.heard(), ['ended lost408']);
  assert.equal(await bench.leaks(), nothing);
});

test('a refresh below our minimum is refused with 422, and accepted if the session is not watched', async () => {
  const bench = createBench();
  await granted(bench, { ...wish, minimum: 300 }, asks);
  const { toTag } = await bench.response();
  bench.send('UPDATE', { toTag: toTag!, headers: [...able, ['Session-Expires', '200']] });
  assert.equal([(await bench.response()).status, (await bench.response()).header('Min-SE')], [422, '300']);
  bench.agent.close();
  const careless = createBench();
  await granted(careless, 'off', []);
  const { toTag: tag } = await careless.response();
  careless.send('UPDATE', { toTag: tag!, headers: [...able, ['Session-Expires', '30']] });
  assert.equal(
    [(await careless.response()).status, (await careless.response()).header('Session-Expires')],
    [200, undefined],
  );
  careless.agent.close();
});

test.run();
