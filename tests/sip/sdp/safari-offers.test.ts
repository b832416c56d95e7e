import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { VideoFormatName } from '../../../src/lib/formats.ts';
import { parseDescription } from '../../../src/sip/sdp/description.ts';
import { answerOffer, type LocalMedia, newSession, writeOffer } from '../../../src/sip/sdp/offer-answer.ts';

/**
 * Offers in the forms that Safari 12, 13 and 18 have in public bug reports and tests (aiortc, Chime SDK, Kinesis WebRTC), with
 * credentials of our own: names of lines in words, video first and only received, a data channel beside, H.265, sizes of a picture.
 */
const offers = suite('offers of Safari');

let counted = 0;
const local = (codecs: readonly VideoFormatName[]): LocalMedia => ({
  ...{ address: '192.0.2.10', port: 5000, codecs: ['opus', 'ulaw'], telephoneEvents: true },
  srtp: { mode: 'webrtc', ice: 'full', fingerprint: 'AA:BB', random: (octets) => `${counted++}`.padStart(octets, 'x') },
  video: { codecs, streams: [{ port: 5000, offered: true, direction: 'sendrecv' }] },
});
const textOf = (name: string): string =>
  readFileSync(new URL(`offers/${name}.sdp`, import.meta.url), 'utf8').replaceAll(/\r?\n/g, '\r\n');

function answered(text: string, codecs: readonly VideoFormatName[] = ['vp8', 'h264'], session = newSession('1')) {
  const read = parseDescription(text);
  if (!read.ok) throw new Error(read.problem);
  const answer = answerOffer(session, read.description, local(codecs));
  if (!answer.ok) throw new Error(answer.problem);
  return answer;
}

const forms = [
  {
    ...{ name: 'safari-12', group: 'audio video', vp8: '100 101', h264: '98 99' },
    lines: ['m=audio 5000', 'm=video 5000', 'm=application 0'],
    checked: ['192.0.2.5', '2001:db8::7'],
    line: { mid: 'video', transportExtension: 5, sendTimeExtension: 3 },
  },
  {
    ...{ name: 'safari-13-mac', group: '1 0', vp8: '100 101', h264: '98 99' },
    lines: ['m=video 5000', 'm=audio 5000', 'm=application 0'],
    checked: [],
    line: { mid: '0', midExtension: 4, transportExtension: 3, sendTimeExtension: 2 },
  },
  {
    ...{ name: 'safari-18-simulcast', group: '0 1', vp8: '106 107', h264: '98 99' },
    lines: ['m=audio 5000', 'm=video 5000', 'm=application 0'],
    checked: [],
    line: {
      ...{ mid: '1', midExtension: 4, transportExtension: 3, sendTimeExtension: 2 },
      simulcast: { rids: ['l', 'm', 'h'], ridExtension: 10, repairedExtension: 11 },
    },
  },
] as const;

for (const { name, group, lines, vp8, h264, checked, line } of forms) {
  offers(`${name}: audio and video share a transport, and the data channel is refused in its place`, () => {
    const { body, agreed, videos } = answered(textOf(name));
    assert.equal(body.match(/^m=\w+ \d+/gm), lines);
    assert.match(body, new RegExp(`^a=group:BUNDLE ${group}\r$`, 'm'));
    assert.match(body, /^m=audio 5000 UDP\/TLS\/RTP\/SAVPF 111 110\r$/m);
    assert.equal([agreed.codec, agreed.telephoneEventRate, agreed.webrtc?.isControlled], ['opus', 48_000, true]);
    assert.equal(
      agreed.webrtc?.checked?.map(({ address }) => address),
      checked,
    );
    assert.equal(
      videos?.map(({ bundled }) => bundled),
      [line],
    );
    assert.is(body.match(/^a=setup:passive\r$/gm)?.length, 2);
  });

  for (const [codec, numbers] of [
    ['vp8', vp8],
    ['h264', h264],
  ] as const)
    offers(`${name}: ${codec} and its retransmissions have the numbers that Safari offers`, () => {
      const { body, videos } = answered(textOf(name), [codec]);
      assert.match(body, new RegExp(`^m=video 5000 UDP/TLS/RTP/SAVPF ${numbers}\r$`, 'm'));
      const [payloadType, rtx] = numbers.split(' ').map(Number);
      assert.equal([videos?.[0]?.payloadType, videos?.[0]?.rtx?.payloadType], [payloadType, rtx]);
      const receives = name === 'safari-13-mac';
      assert.equal([videos?.[0]?.send, videos?.[0]?.receive], [true, !receives]);
    });

  offers(`${name}: hold, a restart of ICE and an offer of ours keep the lines and their names`, () => {
    const first = answered(textOf(name));
    const held = answered(textOf(name).replaceAll('a=sendrecv', 'a=sendonly'), undefined, first.session);
    assert.is(held.agreed.held, true);
    const ufragOf = (body: string) => /a=ice-ufrag:(.*)/.exec(body)?.[1];
    const again = answered(textOf(name).replaceAll(/a=ice-ufrag:.*/g, 'a=ice-ufrag:anew'), undefined, held.session);
    assert.is.not(ufragOf(again.body), ufragOf(first.body));
    const { body } = writeOffer(again.session, local(['vp8', 'h264']), 'sendrecv');
    assert.equal(body.match(/^m=\w+ \d+/gm), lines);
    assert.match(body, new RegExp(`^a=group:BUNDLE ${group}\r$`, 'm'));
  });
}

offers.run();
