import type { BridgeSnapshot } from './bridge.ts';
import type { ChannelRefusal, ChannelSnapshot } from './channel.ts';
import type { RecordingSnapshot } from './live-recording.ts';
import type { OwnershipSnapshot } from './ownership.ts';
import type { PlaybackSnapshot } from './playback.ts';

/**
 * Sentences that explain refusals: the present state, and what has to happen first. Only the chart files decide
 * refusals and their names.
 */

type Life = ChannelSnapshot['value'];

const ending = 'It is being hung up and accepts no more operations';

/** State of a channel outside applications. */
const uncontrolled: Partial<Readonly<Record<OwnershipSnapshot['value'], string>>> = {
  nobody: 'No application has it: only its creator, or the Dial that calls it, controls it',
  aboutToEnter: 'It is about to enter its application: wait for its StasisStart',
  dialplan:
    'The dialplan has it: it may be done once that has come to Stasis(application), and the application has told StasisStart',
  departing: 'It is leaving its application for the dialplan',
  entering: 'It is entering its application: wait for its StasisStart',
};

/** Why applications do not control a channel. */
export function whyUncontrolled({ value, context: { app } }: OwnershipSnapshot): string {
  const why = uncontrolled[value] ?? ending;
  return app === '' ? why : why.replace('its application', `the application ${app}`);
}

const notUp = 'once the far side has answered';
/** Why a call is not fit for what is done to calls. */
const unfit: Partial<Readonly<Record<Life, string>>> = {
  down: `The channel was created but not dialed yet: dial it; this may be done ${notUp}`,
  aboutToDial: `The far side is about to be called: this may be done ${notUp}`,
  dialing: `The far side is being called: this may be done ${notUp}`,
  ringing: `The far side rings: this may be done ${notUp}`,
};

const cameIn = 'This call came in: only a channel made by POST /channels/create is dialed, once';
const dialed = 'It was dialed before, which may be done once: make another channel to call again';

/** Why a channel is not to be dialed. */
const whyNotDialed = ({ value, context: { origin } }: ChannelSnapshot): string => {
  if (value === 'hangingUp' || value === 'lingering' || value === 'destroyed') return ending;
  if (origin === 'attached') return 'It listens to another channel, and has no far side';
  if (origin === 'incoming') return cameIn;
  if (value === 'dialing' || value === 'ringing') return 'It is being dialed: wait for the answer, or hang it up';
  return dialed;
};

/** Why the life of a channel refuses an operation. */
export function whyChannelRefuses(error: ChannelRefusal, snapshot: ChannelSnapshot): string {
  if (error === 'channelNotDown') return whyNotDialed(snapshot);
  if (error === 'channelNotCreated')
    return 'It was made by an originate or a Dial, which dials it. Only a channel made by POST /channels/create can be dialed';
  return unfit[snapshot.value] ?? ending;
}

/** Why a bridge refuses an operation. */
export const whyBridgeRefuses = (
  error: 'bridgeNotFound' | 'bridgeNotInStasis' | 'bridgeNotPlayingMusic',
  { context }: BridgeSnapshot,
): string =>
  ({
    bridgeNotFound: 'It is being destroyed and accepts no more operations',
    bridgeNotInStasis: `The dialplan has made it${context.name === '' ? ' for a Dial or Bridge' : ` as the conference ${context.name}`}: applications can look at it, not change it`,
    bridgeNotPlayingMusic: 'No music plays on it: startMoh begins some',
  })[error];

const played = 'It has ended: play it anew';
/** State of a playback that refuses the command. */
const notPlaying: Partial<Readonly<Record<PlaybackSnapshot['value'], string>>> = {
  queued:
    'It waits for an earlier playback. This may be done once it plays (PlaybackStarted); stopping is possible now',
  cancelled: 'It was stopped before its turn came',
  paused: 'It is paused: unpause it first',
};

/** Why a playback refuses a command. */
export const whyPlaybackRefuses = ({ value }: PlaybackSnapshot): string => notPlaying[value] ?? played;

const recorded = 'It has ended: record anew under another name';
const endsOnly = 'stop and cancel may be asked for now';
/** State of a recording that refuses the command. */
const unrecordable: Partial<Readonly<Record<RecordingSnapshot['value'], string>>> = {
  queued: `It waits for an earlier playback or recording: this may be done once it records (RecordingStarted); ${endsOnly}`,
  preparing: `Its target gets ready to be recorded: this may be done once it records (RecordingStarted); ${endsOnly}`,
  starting: `It is about to record: this may be done once it does (RecordingStarted); ${endsOnly}`,
  finishing: 'It is being completed: its file is there with RecordingFinished',
  discarding: 'It is being thrown away',
};

/** Why a recording refuses a command. */
export const whyRecordingRefuses = ({ value }: RecordingSnapshot): string => unrecordable[value] ?? recorded;
