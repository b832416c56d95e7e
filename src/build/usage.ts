import type { Usage } from '../models/usage.ts';
import type { CallControl } from './call-control.ts';
import type { Network } from './network.ts';
import type { State } from './state.ts';
import type { Technologies } from './technologies.ts';

/** Counts what is held now, on every floor: for operators, tests and leak checks. */
export const buildUsage =
  (
    { media, transactions }: Network,
    { contacts, registrations }: State,
    calls: CallControl,
    { sip, external }: Technologies,
  ) =>
  async (): Promise<Usage> => ({
    channels: calls.channels.size,
    playbacks: calls.playbacks.size,
    bridges: calls.meeting.bridges.size,
    recordings: calls.recordings.size,
    snoops: calls.snoopDriver.size,
    channelAudio: calls.audio.size,
    contacts: contacts.size,
    registrations: registrations.size,
    outboundConnections: calls.outbound.size,
    externalConnections: external?.connections.size ?? 0,
    media: await media.usage(),
    sip: { ...sip.counts(), transactions: transactions.counts().clients + transactions.counts().servers },
  });
