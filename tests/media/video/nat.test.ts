import { test } from 'uvu';
import { systemClock } from '../../../src/lib/clock.ts';
import { defaultMediaConfig, defaultVideoConfig } from '../../../src/media/config.ts';
import { createMediaPlane } from '../../../src/media/media-plane.ts';
import { need } from '../../support/need.ts';
import { RtpPeer } from '../../support/rtp-peer.ts';
import { clipOf } from '../../support/video/clips.ts';
import { openVideoCall, usualVideo } from '../../support/video/video-call.ts';
import { memoryLogger, usualFlow } from '../support.ts';

const ffmpeg = need('ffmpeg');
const member = { role: 'participant', muted: false, passDigits: false } as const;
/** What the SDP of a phone says whose packets come from 127.0.0.1. */
const inside = '127.0.0.2';

ffmpeg.test(test, 'a phone behind a NAT is found with all of its streams, those that send no packets too', async () => {
  const plane = createMediaPlane({
    config: {
      ...{ ...defaultMediaConfig, ports: { first: 0, last: 0 }, threadTimeoutMs: 60_000 },
      video: { ...defaultVideoConfig, sourceTimeoutMs: 60_000 },
    },
    clock: systemClock,
    log: memoryLogger(),
  });
  const mix = plane.openMix('room', 'mixing', () => {});
  const camera = await openVideoCall(plane, 'camera');
  const viewer = await openVideoCall(plane, 'viewer', { streams: 2 });
  const [, screen] = viewer.peers;
  const voice = await RtpPeer.open();
  try {
    for (const { session } of [camera, viewer]) mix.join(session, member);
    camera.peer.show(await clipOf('vp8', 'red'));
    const showAt = (port: number) =>
      viewer.session.configureVideo(1, { ...usualVideo, receive: false, remote: { address: inside, port } });
    // The port is that of the SDP, as where a NAT keeps it.
    showAt(screen!.port);
    viewer.session.configure({ ...usualFlow, remote: { address: inside, port: voice.port } });
    voice.sendTo(viewer.session.local.port);
    voice.hum(440);
    mix.video({ mode: 'sfu' });
    mix.show(viewer.session, [undefined, camera.session]);
    await screen!.sees(2);

    // It is another one: what it sends to keep it open, and its RTCP, show where it is.
    showAt(9);
    await viewer.session.videoStatistics();
    const before = camera.peer.feedback.filter(({ type }) => type === 'pli').length;
    screen!.sendRaw(Buffer.from([0]));
    await screen!.sees(2);
    screen!.askKeyFrame();
    await camera.peer.until(
      () => camera.peer.feedback.filter(({ type }) => type === 'pli').length > before,
      'a request for a key frame',
    );
  } finally {
    voice.hush();
    await voice.close();
    for (const peer of [...camera.peers, ...viewer.peers]) await peer.close();
    await plane.close();
  }
});

test.run();
