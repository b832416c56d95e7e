import type { Static } from 'typebox';
import { int, model } from './schema.ts';

const MediaUsage = model('MediaUsage', 'Objects of the media plane.', {
  sessions: int('Media sessions: one for each call with audio.'),
  ports: int('Pairs of ports for RTP and RTCP that are open.'),
  players: int('Sessions that play something.'),
  timers: int('Timers of the media thread.'),
  externalWaitingMs: int('Audio of servers that is not heard yet, in ms, of all connections that are open.'),
  externalDroppedMs: int('Audio that such servers have sent too early and that was left out, in ms.'),
  externalUnsentFrames: int('Frames of 20 ms that were left out because such servers do not read.'),
});

const SipUsage = model('SipUsage', 'Objects of the SIP side.', {
  dialogs: int('Dialogs of calls, early ones included, until their last request is answered.'),
  pending: int('Calls placed that are not decided.'),
  legs: int('SIP legs of channels.'),
  bindings: int('Registered contacts of phones.'),
  qualifying: int('OPTIONS that wait for their answer.'),
  subscriptions: int('Phones that watch a mailbox.'),
  lines: int('Lines that are or were registered at providers.'),
  referrals: int('REFERs outside calls whose outcome is not known.'),
  nonces: int('Nonces that are remembered to detect replays.'),
  transactions: int('Transactions, client and server.'),
});

/** Counts of everything that comes and goes with calls. */
export const Usage = model('Usage', "Counts of the server's present objects.", {
  channels: int('Channels.'),
  playbacks: int('Playbacks that play or wait.'),
  bridges: int('Bridges, those included that are being destroyed.'),
  recordings: int('Recordings that are made or wait.'),
  snoops: int('Channels that listen to others.'),
  channelAudio: int('Channels with mute, hold or music of their own.'),
  contacts: int('Contacts of endpoints, registered or configured.'),
  registrations: int('Registrations at providers, those included that are tried again.'),
  outboundConnections: int('WebSockets to applications, open or being opened.'),
  externalConnections: int('Connections of channels to servers, open or being opened.'),
  media: MediaUsage,
  sip: SipUsage,
});
export type Usage = Static<typeof Usage>;
