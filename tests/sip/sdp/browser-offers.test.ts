import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseDescription } from '../../../src/sip/sdp/description.ts';
import { answerOffer, type LocalAudio, newSession, type SdpSession } from '../../../src/sip/sdp/offer-answer.ts';

/** Offers with audio and video: recorded of Chromium 156, and in the forms of Firefox and Safari. */
const offers = suite('offers of browsers');

let counted = 0;
const local: LocalAudio = {
  ...{ address: '192.0.2.10', port: 5000, codecs: ['opus', 'ulaw'], telephoneEvents: true },
  srtp: { mode: 'webrtc', fingerprint: 'AA:BB', random: (octets) => `${counted++}`.padStart(octets, 'x') },
};
const textOf = (name: string): string =>
  readFileSync(new URL(`offers/${name}.sdp`, import.meta.url), 'utf8').replaceAll(/\r?\n/g, '\r\n');

function answered(offer: string, session: SdpSession = newSession('1')) {
  const read = parseDescription(offer);
  if (!read.ok) throw new Error(read.problem);
  const answer = answerOffer(session, read.description, local);
  if (!answer.ok) throw new Error(answer.problem);
  return answer;
}

const ufragIn = (sdp: string): string => /a=ice-ufrag:(.*)/.exec(sdp)?.[1] ?? '';

for (const [name, opus, events, ufrag] of [
  ['chromium-156', 111, 110, '8XUs'],
  ['firefox', 109, 101, '01234567'],
  ['safari', 111, 110, 'Qw3r'],
] as const) {
  offers(`that of ${name} gets Opus in one transport, with its mid; video is refused in its place`, () => {
    const { body, agreed } = answered(textOf(name));
    assert.match(body, new RegExp(`^m=audio 5000 UDP/TLS/RTP/SAVPF ${opus} ${events}\r$`, 'm'));
    assert.match(body, /^m=video 0 UDP\/TLS\/RTP\/SAVPF \d+\r$/m);
    assert.match(body, /^a=group:BUNDLE 0\r$/m);
    for (const line of ['a=ice-lite', 'a=setup:passive', 'a=rtcp-mux', 'a=mid:0', 'a=sendrecv'])
      assert.ok(body.split('\r\n').includes(line), line);
    assert.is(body.match(/^a=candidate:/gm)?.length, 1);
    assert.is(agreed.webrtc?.remote.ufrag, ufrag);
    // Where a browser is, its checks say: addresses and names (mDNS) of its description mean nothing.
    assert.is(agreed.remote.address, '0.0.0.0');
    assert.is(agreed.remote.named, undefined);
  });

  offers(`the same offer of ${name} again gets the same answer, another direction holds`, () => {
    const text = textOf(name);
    const first = answered(text);
    assert.is(answered(text, first.session).body, first.body);
    const held = answered(text.replaceAll('a=sendrecv', 'a=sendonly'), first.session);
    assert.is(held.agreed.held, true);
    assert.match(held.body, /^a=recvonly\r$/m);
    assert.is(ufragIn(held.body), ufragIn(first.body));
    assert.is(answered(text, held.session).agreed.held, false);
  });

  offers(`other credentials of ${name} restart ICE: ours are others, too`, () => {
    const text = textOf(name);
    const first = answered(text);
    const again = answered(text.replaceAll(ufrag, 'zzzz'), first.session);
    assert.is.not(ufragIn(again.body), ufragIn(first.body));
    assert.is(again.agreed.webrtc?.remote.ufrag, 'zzzz');
    assert.equal(again.agreed.webrtc?.fingerprint, first.agreed.webrtc?.fingerprint);
  });
}

offers.run();
