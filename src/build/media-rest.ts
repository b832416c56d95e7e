import { leaveAudioIn, takeAudioIn } from '../stores/left-audio.ts';
import type { MediaPlane, MediaRest } from '../telephony/media.ts';
import type { Base } from './base.ts';

/**
 * The audio of calls that one process leaves to another. While the next one restores the calls, the threads of the one
 * before go on; it stands still but for them. Then it writes how far its audio came, and the next one goes on there.
 */

/** Of the time that leaving may take, in ms: until then the next process has restored the calls. */
const standingShare = 1_000;

/** Writes the state, and ends the audio when the next process is ready. */
export async function leaveAudio(
  base: Base,
  media: MediaPlane,
  { lingers, written }: { lingers: boolean; written: () => void },
): Promise<void> {
  const { supervised } = base.io;
  // Sockets of Node are read in the main thread, and only this process can have their ports.
  const stays = lingers && supervised && media.linger && media.halt && base.config.media.sockets !== 'dgram';
  if (stays) await media.linger!();
  written();
  if (!stays) return;
  supervised.standStill(base.config.supervisor.leave_timeout * standingShare, () => {
    const rest = media.halt!();
    try {
      leaveAudioIn(base.config.general.data_directory, rest);
      return true;
    } catch (error) {
      base.log.error({ error }, 'cannot write the end of the audio: RTP numbers will skip some packets');
      return false;
    }
  });
}

/** Waits for the end of the audio in the process before, and goes on with it. */
export async function goOnWithAudio(base: Base, media: MediaPlane): Promise<void> {
  const { supervised } = base.io;
  if (!supervised?.media.follows) return;
  await media.prepared?.();
  const { isWhole } = await supervised.restored();
  const { log, config } = base;
  let rest: MediaRest | undefined;
  try {
    // Without it, numbers of RTP are far enough behind those of the process before.
    if (isWhole) rest = takeAudioIn(config.general.data_directory) as MediaRest;
  } catch (error) {
    log.warn({ error }, 'the end of the audio before cannot be read: RTP numbers skip some packets');
  }
  try {
    media.goOn?.(rest);
  } catch (error) {
    log.warn({ error }, 'the end of the audio before makes no sense: what it says last is lost');
  }
}
