import type { MediaPlane, RtpSession } from '../../../src/telephony/media.ts';
import type { VideoCodec, VideoFlow } from '../../../src/telephony/video.ts';
import { VideoPeer, type VideoPeerOptions } from './video-peer.ts';

/** A session of a media plane with a far side for each of its streams of video. */
export type VideoCall = { session: RtpSession; peers: VideoPeer[]; peer: VideoPeer };

/** What a far side agrees on unless a test says otherwise. */
export const usualVideo: Omit<VideoFlow, 'remote'> = {
  codec: 'vp8',
  payloadType: 96,
  feedback: { nack: true, pli: true, fir: true, tmmbr: true, remb: false },
  send: true,
  receive: true,
};

/** Opens a session with so many streams; in the first one the far side's camera comes in. */
export async function openVideoCall(
  plane: MediaPlane,
  id: string,
  {
    streams = 1,
    codec = 'vp8',
    flow = {},
    peer: peerOptions = {},
  }: { streams?: number; codec?: VideoCodec; flow?: Partial<VideoFlow>; peer?: VideoPeerOptions } = {},
): Promise<VideoCall> {
  const session = await plane.openRtp(id, () => {});
  const peers: VideoPeer[] = [];
  for (let stream = 0; stream < streams; stream++) {
    const peer = await VideoPeer.open(stream === 0 ? peerOptions : {});
    const { address, port } = await session.openVideo(stream);
    peer.sendTo(port, address);
    const receive = stream === 0;
    session.configureVideo(stream, {
      ...{ ...usualVideo, codec, receive, ...flow },
      remote: { address: '127.0.0.1', port: peer.port },
    });
    peers.push(peer);
  }
  // Asked after the flows in order, so these are set when it is answered.
  await session.videoStatistics();
  return { session, peers, peer: peers[0]! };
}
