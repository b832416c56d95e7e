import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import { type BridgeContext, firstVideoMode } from '../machines/bridge.ts';
import {
  type BridgeVideoEvent,
  type BridgeVideoFact,
  type BridgeVideoInput,
  type BridgeVideoSnapshot,
  bridgeVideoMachine,
  videoModeOf,
} from '../machines/bridge-video.ts';
import type { Mix } from '../telephony/media.ts';
import type { BridgeViews, Present } from './bridge-views.ts';
import type { BridgeDump } from './dumps.ts';
import { Registry } from './registry.ts';
import { type Actor, type Beginning, type Runtime, spawn } from './spawn.ts';

/** The view of a bridge that its video needs. */
type VideoRoom = {
  readonly context: BridgeContext;
  readonly mix: Mix;
  readonly views: BridgeViews;
  /** Its members. */
  readonly present: readonly Present[];
};

type BridgeVideosOptions = {
  runtime: Runtime;
  log: Logger;
  /** A bridge by its id; undefined once it is over. */
  roomOf(id: string): VideoRoom | undefined;
  publish(id: string, fact: BridgeVideoFact): void;
};

type VideoDump = NonNullable<BridgeDump['video']>;
type VideoActor = Actor<typeof bridgeVideoMachine>;

/** Owns the video charts of bridges. An actor exists only if a member had video or a source was requested. */
export interface BridgeVideos {
  /** Commands and reports for a bridge that lives; the actor is made by the first. */
  tell(id: string, event: BridgeVideoEvent): void;
  /** The same, where nothing happens when there is none. */
  told(id: string, event: BridgeVideoEvent): void;
  /** The present snapshot; undefined without an actor. */
  snapshot(id: string): BridgeVideoSnapshot | undefined;
  /** Shows everybody what they are to be shown once more, to a mix that may know nothing. */
  arrange(id: string): void;
  dump(id: string): VideoDump | undefined;
  /** Restores it. No events are published. */
  restore(dump: VideoDump): void;
}

export function createBridgeVideos({ runtime, log, roomOf, publish }: BridgeVideosOptions): BridgeVideos {
  const registry = new Registry<{ actor: VideoActor }>('bridgeNotFound');
  const snapshot = (id: string): BridgeVideoSnapshot | undefined => registry.find(id)?.actor.getSnapshot();

  const arrange = (id: string): void => {
    const room = roomOf(id);
    if (room?.context.type !== 'mixing') return;
    const { context, mix, views, present } = room;
    const video = snapshot(id);
    const shown = {
      mode: video ? videoModeOf(video) : firstVideoMode(context),
      chosen: video?.context.chosen,
      flags: context.flags,
    };
    for (const unseen of views.unify(present))
      log.info({ bridge: id, ...unseen }, 'a member of a bridge cannot see others');
    views.tell(mix, shown, present);
    views.arrange(mix, shown, present);
  };

  /** Sets another mode. The previous mode has already reported its source. */
  const show = (id: string): void => {
    arrange(id);
    const actor = registry.find(id)?.actor;
    const lastSource = roomOf(id)?.views.lastSource;
    if (lastSource !== undefined && actor?.getSnapshot().value === 'talker')
      actor.send({ type: 'mix.videoSource', channelId: lastSource });
  };

  const machine = onFirstUse(() =>
    bridgeVideoMachine.provide({
      actions: {
        showVideo: ({ context }) => show(context.id),
        arrangeVideo: ({ context }) => arrange(context.id),
      },
    }),
  );

  const make = (id: string, beginning: Beginning<BridgeVideoInput>): VideoActor =>
    spawn(machine(), {
      id,
      ...beginning,
      runtime,
      onCreated: (actor) => registry.add(id, { actor }),
      onEmitted: (fact) => publish(id, fact),
      onEffectFailed: (error) => log.error({ bridge: id, error }, 'an effect of the video of a bridge failed'),
      onEnded: (error) => {
        registry.remove(id);
        if (error !== undefined) log.error({ bridge: id, error }, 'restarted the video of a bridge');
      },
    });

  return {
    tell(id, event) {
      const room = roomOf(id);
      const actor =
        registry.find(id)?.actor ?? (room && make(id, { input: { id, mode: firstVideoMode(room.context) } }));
      actor?.send(event);
    },
    told: (id, event) => registry.find(id)?.actor.send(event),
    snapshot,
    arrange,
    dump: (id) => registry.find(id)?.actor.dump() as VideoDump | undefined,
    restore: (dump) => void make(dump.context.id, { from: dump }),
  };
}
