import type { MediaSession, PlayHandle, PlayItem, PlayReport } from '../telephony/media.ts';

/** An item that has been brought here. */
type Brought = { uri: string; release(): void };

/** Begins to bring what is at another node; undefined for an item that can be played at once. */
export type Bring = (uri: string) => Promise<Brought> | undefined;

type LateItem = {
  item: PlayItem;
  media: Pick<MediaSession, 'play'>;
  told(report: PlayReport): void;
  /** What its playback does now: it is over, or has gone on to another item. */
  state(handle: PlayHandle): 'playing' | 'paused' | 'over';
};

/** Plays an item when it has been brought. What is asked of it before is done then. */
export function playBrought(coming: Promise<Brought>, { item, media, told, state }: LateItem): PlayHandle {
  let playing: PlayHandle | undefined;
  let next = item;
  const handle: PlayHandle = {
    stop: () => (playing ? playing.stop() : told({ type: 'media.finished' })),
    pause: () => playing?.pause(),
    resume: () => playing?.resume(),
    restart() {
      if (playing) return playing.restart();
      const { heardMs: _before, ...whole } = item;
      next = { ...whole, offsetMs: 0 };
    },
    seek(ms) {
      if (playing) return playing.seek(ms);
      const { heardMs, ...whole } = next;
      next = { ...whole, offsetMs: Math.max(0, (heardMs ?? next.offsetMs) + ms) };
    },
  };
  const begin = ({ uri, release }: Brought): void => {
    const now = state(handle);
    if (now === 'over') return void release();
    playing = media.play({ ...next, uri }, (report) => {
      release();
      told(report);
    });
    if (now === 'paused') playing.pause();
  };
  coming.then(begin).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    if (state(handle) !== 'over') told({ type: 'media.failed', reason });
  });
  return handle;
}
