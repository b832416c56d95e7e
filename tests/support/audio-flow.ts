import type { AriClient } from './ari-client.ts';
import { untilAsked } from './waiting.ts';

/** Resolves once more than ten packets of a channel's audio came and went. @throws Error with the figures when they do not. */
export async function untilAudioFlows(app: AriClient, channelId: string): Promise<void> {
  let figures = {};
  await untilAsked(
    async () => {
      const now = await app.ok<{ rxcount: number; txcount: number }>('GET', `/channels/${channelId}/rtp_statistics`);
      figures = now;
      return now.rxcount > 10 && now.txcount > 10;
    },
    () => `too little came or went: ${JSON.stringify(figures)}`,
  );
}
