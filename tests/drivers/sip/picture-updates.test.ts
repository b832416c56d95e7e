import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PictureUpdates, readMediaControl } from '../../../src/drivers/sip/picture-updates.ts';
import type { SipRequest } from '../../../src/sip/message/message.ts';

const info = (body: string, contentType = 'application/media_control+xml') =>
  ({ method: 'INFO', contentType, body: Buffer.from(body) }) as SipRequest;
const wrapped = (inner: string) =>
  `<?xml version="1.0" encoding="utf-8" ?>\r\n<media_control>\r\n<vc_primitive>\r\n<to_encoder>\r\n${inner}\r\n</to_encoder>\r\n</vc_primitive>\r\n</media_control>`;

const test = suite('key frames asked for by INFO');

test('requests of phones are read, however they are written', () => {
  for (const inner of [
    '<picture_fast_update></picture_fast_update>',
    '<picture_fast_update/>',
    '<picture_fast_update />',
    '<stream_id>1</stream_id><picture_fast_update>\n</picture_fast_update>',
    '<!-- <lost> --><picture_fast_update/>',
  ])
    assert.is(readMediaControl(info(wrapped(inner))), 'picture_fast_update', inner);
  const named = '<m:media_control xmlns:m="urn:x"><m:picture_fast_update/></m:media_control>';
  assert.is(readMediaControl(info(named)), 'picture_fast_update');
});

test('other commands are read past, and what is no document is told apart', () => {
  assert.is(readMediaControl(info(wrapped('<freeze/>'))), 'unknown');
  for (const body of [
    '',
    'picture_fast_update',
    '<picture_fast_update/>',
    '<media_control><picture_fast_update></media_control>',
    '<media_control><picture_fast_update/>',
    '<media_control',
    '<media_control/><picture_fast_update/>',
    '<media_control><!-- <picture_fast_update/></media_control>',
    '<?xml <media_control><picture_fast_update/></media_control>',
    `<media_control><picture_fast_update/>${' '.repeat(5000)}</media_control>`,
    '<media_control><></></media_control>',
  ])
    assert.is(readMediaControl(info(body)), 'malformed', body.slice(0, 60));
  assert.is(readMediaControl(info(wrapped('<picture_fast_update/>'), 'application/dtmf-relay')), undefined);
});

/** One whose clock and sending the test holds. */
function updates({ canSend = true } = {}) {
  const clock = { at: 0, now: () => clock.at };
  const did: string[] = [];
  const state = { canSend };
  const made = new PictureUpdates({
    clock,
    intervalMs: 1000,
    send({ contentType }) {
      if (state.canSend) did.push(contentType);
      return state.canSend;
    },
    show: () => void did.push('show'),
  });
  return { clock, did, made, state };
}

test('one request is under way at a time, and none follows too soon', () => {
  const { clock, did, made } = updates();
  for (let count = 0; count < 100; count++) made.ask();
  assert.is(did.length, 1);
  clock.at = 5000;
  made.ask();
  assert.is(did.length, 1, 'it was not answered yet');
  made.ended('digit', 200);
  made.ask();
  assert.is(did.length, 1, 'another request was');
  made.ended(PictureUpdates.label, 200);
  for (; clock.at < 10_000; clock.at += 20) {
    made.ask();
    made.ended(PictureUpdates.label, 200);
  }
  assert.is(did.length, 6);
});

test('who does not know what is asked is asked no more; who could not answer is', () => {
  const { clock, did, made, state } = updates({ canSend: false });
  made.ask();
  state.canSend = true;
  made.ask();
  assert.is(did.length, 1);
  for (const [status, more] of [
    [408, 1],
    [491, 1],
    [415, 0],
  ] as const) {
    made.ended(PictureUpdates.label, status);
    const before = did.length;
    clock.at += 1000;
    made.ask();
    assert.is(did.length - before, more, String(status));
  }
});

test('a request of the far side is answered as it is understood', () => {
  const { did, made } = updates();
  assert.is(made.receive(info(wrapped('<picture_fast_update/>'))), 200);
  assert.is(made.receive(info(wrapped('<freeze/>'))), 200);
  assert.is(made.receive(info('<media_control>')), 400);
  assert.is(made.receive(info('Signal=1', 'application/dtmf-relay')), undefined);
  assert.equal(did, ['show']);
});

test.run();
