import type { ChannelAudio } from '../actors/channel-audio.ts';
import { type ChannelEntry, snapshotOf } from '../actors/channel-entry.ts';
import { readDigits } from '../actors/channel-requests.ts';
import type { Channels } from '../actors/channels.ts';
import type { Outcome } from '../dialplan/applications/application.ts';
import type { DialRequest } from '../dialplan/calls.ts';
import { lifeOf } from '../machines/channel.ts';
import { passedOn } from '../machines/channel-setup.ts';
import type { DialContext } from '../machines/dial.ts';
import type { DialOutcome, DialResult } from '../models/dial.ts';
import { shownParty } from '../telephony/party.ts';

/** Creates the channels that a Dial calls, and sets what the caller hears meanwhile. */

/** The resource of a target such as `PJSIP/bob`. */
export const resourceOf = (target: string): string => target.slice(target.indexOf('/') + 1);

/**
 * Makes the channel that calls a target for a channel; it is not dialed yet.
 * @throws DriverError, AriError as `Channels.openOutbound`.
 */
export function openTarget(caller: ChannelEntry, target: string, channels: Channels): ChannelEntry {
  const { linked, language, accountCode, tenantId, caller: party, dialplan, ...rest } = snapshotOf(caller).context;
  const presented = shownParty(party);
  const { redirection } = party;
  return channels.openOutbound({
    id: channels.freshId(),
    technology: target.slice(0, target.indexOf('/')),
    resource: resourceOf(target),
    origin: 'originated',
    caller: { name: '', number: dialplan.exten, ...(redirection && { redirection }) },
    connected: presented,
    presented,
    ...passedOn(rest),
    reported: [],
    accountCode,
    tenantId,
    language,
    linked,
    dialer: caller,
  });
}

type Waited = { channels: Pick<Channels, 'tell'>; audio: Pick<ChannelAudio, 'tell'> };

/** Lets a caller hear what it is to hear while others are called. */
export function beginWaiting(caller: ChannelEntry, waiting: DialRequest['waiting'], { channels, audio }: Waited): void {
  if (waiting === 'alert') return;
  if (waiting === 'ring') return void channels.tell(caller, { type: 'ring' });
  if (lifeOf(snapshotOf(caller)) === 'ring') channels.tell(caller, { type: 'progress' });
  audio.tell(caller, { type: 'startMoh', musicClass: waiting.music });
}

/** Ends that. */
export function endWaiting(caller: ChannelEntry, waiting: DialRequest['waiting'], { channels, audio }: Waited): void {
  if (waiting === 'ring') channels.tell(caller, { type: 'ringStop' });
  else if (waiting !== 'alert') audio.tell(caller, { type: 'stopMoh' });
}

/** Hangs up a channel that has not answered. */
export const release = (channels: Channels, entry: ChannelEntry, cause: number): void =>
  channels.tell(entry, { type: 'hangup', cause, cancels: true, by: 'dialplan' });

/** Sends both parties the keys that are pressed at the start of their call. */
export function pressKeys(caller: ChannelEntry, { digits, peer }: DialContext, channels: Channels): void {
  const called = channels.find(peer?.channelId ?? '');
  for (const [entry, dtmf] of [
    [called, digits?.called],
    [caller, digits?.calling],
  ] as const)
    if (entry && dtmf) channels.tell(entry, { type: 'dtmf', sequence: readDigits({ dtmf }) });
}

/**
 * The outcome that a called party's subroutine leaves in GOSUB_RESULT; undefined if both are to be connected. An
 * unfinished subroutine or an unknown word connects nobody.
 */
export function declineOf(
  { type }: Outcome,
  word: string,
): (Pick<DialResult, 'goesOn'> & { status?: DialOutcome }) | undefined {
  const result = word.trim().toUpperCase();
  if (type === 'ended' && result === '') return undefined;
  if (result === 'BUSY' || result === 'CONGESTION' || result === 'CHANUNAVAIL') return { status: result, goesOn: true };
  return result === 'CONTINUE' ? { goesOn: true } : {};
}
