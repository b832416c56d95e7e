import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { commonCodec, whyUnseen } from '../../src/actors/video-terms.ts';
import type { H264Terms, VideoCodec } from '../../src/telephony/video.ts';

const test = suite('what members of a bridge can show each other');

const video = (codec: VideoCodec, ...others: VideoCodec[]) => ({
  streams: [{ stream: 0, codec, send: true, receive: true }],
  choices: [codec, ...others],
  untried: [] as VideoCodec[],
});
const maybe = (codec: VideoCodec, ...untried: VideoCodec[]) => ({ ...video(codec), untried });
const h264 = (profile: string, level = 31, packetization: 0 | 1 = 1) => ({
  codec: 'h264' as const,
  h264: { profile, level, packetization } satisfies H264Terms,
});

test('the video codec is the one most members support, then most have, then the first member has', () => {
  assert.is(commonCodec([video('vp8', 'h264'), video('h264')]), 'h264');
  assert.is(commonCodec([video('vp8', 'h264'), video('h264', 'vp8'), video('vp8', 'h264')]), 'vp8');
  assert.is(commonCodec([video('h264', 'vp8'), video('vp8', 'h264')]), 'h264');
  assert.is(commonCodec([video('av1'), video('vp8', 'h264'), video('h264')]), 'h264');
  assert.is(commonCodec([]), undefined);
  // Who was not asked for it yet may have it; those who are known to come first.
  assert.is(commonCodec([maybe('vp8', 'h264'), video('h264')]), 'h264');
  assert.is(commonCodec([maybe('vp8', 'h264'), maybe('vp8', 'h264')]), 'vp8');
  assert.is(commonCodec([maybe('h264', 'vp8'), maybe('vp8', 'h264'), video('vp8', 'h264')]), 'vp8');
});

test('why one is not seen by another: codec; or may not be: profile, level. Parts are put together', () => {
  assert.is(whyUnseen({ codec: 'vp8' }, { codec: 'vp8' }), undefined);
  assert.is(whyUnseen({ codec: 'vp8' }, h264('high')), 'codec');
  assert.is(whyUnseen({ codec: 'h264' }, h264('high')), undefined);
  const base = 'constrained baseline';
  const rows: readonly [source: ReturnType<typeof h264>, screen: ReturnType<typeof h264>, why?: string][] = [
    [h264(base), h264(base)],
    [h264(base, 31, 0), h264(base, 31, 1)],
    [h264(base, 31, 1), h264(base, 31, 0)],
    [h264(base), h264('high')],
    [h264('main'), h264('high')],
    [h264('high'), h264(base), 'profile'],
    [h264('baseline'), h264('main'), 'profile'],
    [h264(base, 40), h264(base, 31), 'level'],
    [h264(base, 22), h264(base, 31)],
  ];
  for (const [source, screen, why] of rows) assert.is(whyUnseen(source, screen), why);
});

test.run();
