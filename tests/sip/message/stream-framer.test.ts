import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Frame, StreamFramer } from '../../../src/sip/message/stream-framer.ts';

const message = (body: string, name = 'Content-Length') =>
  `INFO sip:a SIP/2.0\r\nX: 1\r\n${name} : ${Buffer.byteLength(body)}\r\nCall-ID: c\r\n\r\n${body}`;

function frame(...chunks: (string | Buffer)[]): unknown[] {
  const framer = new StreamFramer();
  return chunks.flatMap((chunk) => framer.push(Buffer.from(chunk))).map(readable);
}

function readable(frame: Frame): unknown {
  return frame.type === 'message' ? frame.bytes.toString() : frame.type === 'broken' ? frame.problem : frame.type;
}

test('messages are cut by their Content-Length, in any spelling', () => {
  const [a, b, c] = [message('one'), message('', 'l'), message('two\r\n\r\n', 'CONTENT-LENGTH')];
  assert.equal(frame(a + b + c), [a, b, c]);
});

test('one CRLF between messages is passed over, two are a ping', () => {
  const a = message('x');
  assert.equal(frame(`\r\n${a}\r\n\r\n${a}\r\n`, '\r\n\r', '\n\r\n'), [a, 'ping', a, 'ping', 'ping']);
});

test('a run of pings in one chunk is one ping', () => {
  const a = message('x');
  assert.equal(frame(`${'\r\n\r\n'.repeat(1000)}${a}${'\r\n'.repeat(40)}`), ['ping', a, 'ping']);
});

test('however the stream is cut into chunks, the frames are the same', () => {
  const stream = Buffer.from(`${message('é\r\n\r\n')}\r\n\r\n${message('')}\r\n${message('body')}`);
  const whole = frame(stream);
  assert.is(whole.length, 4);
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
      const ends = [...cuts.sort((a, b) => a - b), stream.length];
      const chunks = ends.map((end, i) => stream.subarray(i === 0 ? 0 : ends[i - 1], end));
      assert.equal(frame(...chunks), whole);
    }),
  );
});

test('whatever lies in a stream, the same messages come of it in whatever chunks, up to where it breaks', () => {
  const body = fc.string({ maxLength: 30 }).map((text) => message(text));
  const piece = fc.oneof(
    { weight: 5, arbitrary: body },
    { weight: 2, arbitrary: fc.constantFrom('\r\n', '\r\n\r\n', '\n', '\r') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('x'.repeat(30_000), 'INFO x\r\n\r\n', message('').replace(': 0', ': 65000')),
    },
    { weight: 1, arbitrary: fc.string({ maxLength: 30 }) },
  );
  // How many pings a run of them is, and what of a message too large is seen first, is a matter of the chunks.
  const sense = (...chunks: Buffer[]) =>
    frame(...chunks)
      .filter((each) => each !== 'ping')
      .map((each) => (/too large/.test(String(each)) ? 'too large' : each));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.array(fc.nat(1000)), (pieces, sizes) => {
      const stream = Buffer.from(pieces.join(''));
      const chunks: Buffer[] = [];
      for (let at = 0, size = 0; at < stream.length; at += size) {
        size = (sizes[chunks.length] ?? stream.length) + 1;
        chunks.push(stream.subarray(at, at + size));
      }
      assert.equal(sense(...chunks), sense(stream));
    }),
  );
});

test('a stream without a usable Content-Length is broken, once and for all', () => {
  const missing = 'Content-Length is missing or malformed';
  assert.equal(frame('INFO x\r\nCall-ID: 1\r\n\r\n', message('')), [missing]);
  assert.equal(frame(message('').replace(': 0', ': -1')), [missing]);
  assert.equal(frame(message('').replace(': 0', ': 0x')), [missing]);
  assert.equal(frame(message('').replace('X: 1', 'l: 7')), [missing]);
  assert.equal(frame(message('').replace(': 0', ': 70000')), [missing]);
  assert.equal(frame(message('').replace(': 0', ': 65530')), ['the message is too large']);
  assert.equal(frame('x'.repeat(40_000), 'x'.repeat(40_000), message('')), ['the headers are too large']);
});

test('the headers of a broken message are kept for an answer', () => {
  const [broken] = new StreamFramer().push(Buffer.from('INFO x\r\nCall-ID: 1\r\n\r\nrest'));
  assert.is(broken?.type === 'broken' && String(broken.head), 'INFO x\r\nCall-ID: 1\r\n\r\n');
});

test('a part of a message is told from silence', () => {
  const framer = new StreamFramer();
  framer.push(Buffer.from(message('abc').slice(0, -1)));
  assert.is(framer.isPartial, true);
  framer.push(Buffer.from('c'));
  assert.is(framer.isPartial, false);
});

test('a message kept from the framer does not change when more comes', () => {
  const framer = new StreamFramer();
  framer.push(Buffer.from(message('first').slice(0, 10)));
  const [first] = framer.push(Buffer.from(message('first').slice(10) + message('second').slice(0, 20)));
  framer.push(Buffer.from(message('second').slice(20)));
  assert.is(first && readable(first), message('first'));
});

test('no bytes make the framer throw', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array()), (chunks) => {
      const framer = new StreamFramer();
      for (const chunk of chunks) framer.push(Buffer.from(chunk));
    }),
  );
});

test.run();
