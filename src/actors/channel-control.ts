import {
  type ChannelCommand,
  type ChannelOperation,
  channelOperations,
  lifeOf,
  type Position,
  refuseChannelOperation,
} from '../machines/channel.ts';
import type { ChannelAudioEvent } from '../machines/channel-audio.ts';
import { type Departure, type OwnershipOperation, refuseOwnershipOperation } from '../machines/ownership.ts';
import type { AllowedOperations } from '../models/allowed-operations.ts';
import { AriError } from '../models/errors.ts';
import type { Playback } from '../models/playback.ts';
import { allowedOnChannel } from './allowed-operations.ts';
import type { ChannelAudio } from './channel-audio.ts';
import { type ChannelEntry, snapshotOf } from './channel-entry.ts';
import { answered, type ChannelFacts } from './channel-facts.ts';
import { readDigits, readDirection, readHangupCause, readRedirect } from './channel-requests.ts';
import { playTargetOf } from './channel-views.ts';
import type { Channels } from './channels.ts';
import type { Playbacks } from './playbacks.ts';

/** Commands of clients for existing channels, by the names of the interface. */

type ContinueRequest = {
  context?: string | undefined;
  extension?: string | undefined;
  priority?: number | undefined;
  label?: string | undefined;
};
type ChannelPlayRequest = {
  media?: string[] | undefined;
  lang?: string | undefined;
  offsetms?: number | undefined;
  skipms?: number | undefined;
  playbackId?: string | undefined;
};

type ChannelControlOptions = {
  channels: Channels;
  facts: ChannelFacts;
  audio: Pick<ChannelAudio, 'tell'>;
  playbacks: Playbacks;
  /** The priority that a label stands for. @throws AriError labelNotFound, priorityIllegal. */
  priorityOf(context: string, extension: string, label: string): number;
};

const lifeDecides: ReadonlySet<string> = new Set(channelOperations);
const isChannelOperation = (operation: string): operation is ChannelOperation => lifeDecides.has(operation);

/** The channel, when the operation may be done to it now. @throws AriError 404, 409, 412. */
export function controlledChannel(channels: Channels, id: string, operation: OwnershipOperation): ChannelEntry {
  const entry = channels.findByIdOrName(id);
  if (!entry) throw new AriError('channelNotFound');
  const refusal =
    refuseOwnershipOperation(entry.ownership.getSnapshot(), operation) ??
    (isChannelOperation(operation) ? refuseChannelOperation(snapshotOf(entry), operation) : undefined);
  if (refusal) throw new AriError(refusal, {}, { allowed: () => possibleOn(entry) });
  return entry;
}

/** The operations that a channel allows now. */
export const possibleOn = (entry: ChannelEntry): AllowedOperations =>
  allowedOnChannel(entry.id, { life: snapshotOf(entry), ownership: entry.ownership.getSnapshot() });

/** The operations that control a channel. */
export const createChannelControl = (options: ChannelControlOptions) => ({
  ...createCallControl(options),
  ...createDeparture(options),
  ...createSoundControl(options),
});

/** Answering, signalling, hanging up. */
function createCallControl({ channels, facts }: ChannelControlOptions) {
  const command = (id: string, operation: OwnershipOperation, asked: ChannelCommand): void =>
    channels.tell(controlledChannel(channels, id, operation), asked);

  return {
    hangup(id: string, request: { reason?: string | undefined; reason_code?: string | undefined }): void {
      const entry = channels.findByIdOrName(id);
      if (!entry) throw new AriError('channelNotFound');
      channels.tell(entry, { type: 'hangup', cause: readHangupCause(request) });
    },

    /** Resolves when the channel is Up. A technology that still prepares its media takes longer. */
    answer(id: string): void | Promise<void> {
      const entry = controlledChannel(channels, id, 'answer');
      channels.tell(entry, { type: 'answer' });
      if (lifeOf(snapshotOf(entry)) !== 'ring') return;
      return answered(facts, entry).then((up) => {
        if (!up) throw new AriError('answerFailed');
      });
    },
    ring: (id: string): void => command(id, 'ring', { type: 'ring' }),
    ringStop: (id: string): void => command(id, 'ringStop', { type: 'ringStop' }),
    progress: (id: string): void => command(id, 'progress', { type: 'progress' }),

    redirect(id: string, request: { endpoint?: string | undefined }): void {
      const entry = controlledChannel(channels, id, 'redirect');
      const target = readRedirect(request.endpoint, snapshotOf(entry).context.technology);
      if (!entry.leg.redirect(target)) throw new AriError('redirectFailed');
    },
  };
}

/** Leaving the application: for the dialplan, or for another one. */
function createDeparture({ channels, playbacks, priorityOf }: ChannelControlOptions) {
  /** Removes a channel from its application after its playbacks. @throws AriError limitReached. */
  const leave = (entry: ChannelEntry, departure: Departure): void => {
    const target = { kind: 'channel', id: entry.id } as const;
    playbacks.requireRoom(target);
    const behind = playbacks.lastOn(target);
    channels.tell(entry, { type: 'leave', departure, ...(behind && { behind }) });
  };

  const continuePosition = (entry: ChannelEntry, request: ContinueRequest): Position => {
    const { dialplan: now } = snapshotOf(entry).context;
    const context = request.context || now.context;
    const extension = request.extension || (request.context ? 's' : now.exten);
    if (request.label) return { context, extension, priority: priorityOf(context, extension, request.label) };
    if (request.priority) return { context, extension, priority: request.priority };
    const stays = !request.context && !request.extension;
    return { context, extension, priority: stays ? now.priority + 1 : 1 };
  };

  return {
    continueInDialplan(id: string, request: ContinueRequest): void {
      const entry = controlledChannel(channels, id, 'continue');
      leave(entry, { type: 'continue', position: continuePosition(entry, request) });
    },

    move(id: string, request: { app?: string | undefined; appArgs?: string | undefined }): void {
      if (!request.app) throw new AriError('applicationRequired');
      const entry = controlledChannel(channels, id, 'move');
      const args = (request.appArgs ?? '').split(',').filter((arg) => arg !== '');
      leave(entry, { type: 'move', app: request.app, args });
    },
  };
}

/** Commands for the audio of a channel. */
function createSoundControl({ channels, audio, playbacks }: ChannelControlOptions) {
  /** Media on a call that is not answered opens the early audio path; it never answers. */
  const openEarlyMedia = (entry: ChannelEntry): void => {
    if (lifeOf(snapshotOf(entry)) === 'ring') channels.tell(entry, { type: 'progress' });
  };

  /** Does something to a channel's sound; `read` makes the command of the request, after the channel was found fit. */
  const changed = (id: string, operation: OwnershipOperation, read: () => ChannelAudioEvent): ChannelEntry => {
    const entry = controlledChannel(channels, id, operation);
    audio.tell(entry, read());
    return entry;
  };
  const change = (...asked: Parameters<typeof changed>): void => void changed(...asked);
  /** Likewise what the far side is to hear, also before the answer. */
  const letHear = (id: string, operation: OwnershipOperation, heard: ChannelAudioEvent): void =>
    openEarlyMedia(changed(id, operation, () => heard));

  return {
    sendDtmf(id: string, request: Parameters<typeof readDigits>[0]): void {
      const entry = controlledChannel(channels, id, 'dtmf');
      const sequence = readDigits(request);
      openEarlyMedia(entry);
      channels.tell(entry, { type: 'dtmf', sequence });
    },

    play(id: string, request: ChannelPlayRequest): Playback {
      const entry = controlledChannel(channels, id, 'play');
      const playback = playbacks.playOn(playTargetOf(entry), { ...request, media: request.media ?? [] });
      openEarlyMedia(entry);
      return playback;
    },

    mute: (id: string, request: { direction?: string | undefined }): void =>
      change(id, 'mute', () => ({ type: 'mute', direction: readDirection(request.direction) })),
    unmute: (id: string, request: { direction?: string | undefined }): void =>
      change(id, 'mute', () => ({ type: 'unmute', direction: readDirection(request.direction) })),
    hold: (id: string): void => change(id, 'hold', () => ({ type: 'hold' })),
    unhold: (id: string): void => change(id, 'hold', () => ({ type: 'unhold' })),
    startMoh: (id: string, request: { mohClass?: string | undefined }): void =>
      letHear(id, 'moh', { type: 'startMoh', musicClass: request.mohClass || 'default' }),
    stopMoh: (id: string): void => change(id, 'moh', () => ({ type: 'stopMoh' })),
    startSilence: (id: string): void => letHear(id, 'silence', { type: 'startSilence' }),
    stopSilence: (id: string): void => change(id, 'silence', () => ({ type: 'stopSilence' })),
  };
}
