import type { VideoFormatName } from '../../lib/formats.ts';
import type { LegState } from '../../machines/leg.ts';
import type { InviteUsage } from '../../sip/dialog/invite-usage.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { Report } from '../../telephony/driver.ts';
import type { MediaSessionDump } from '../../telephony/media.ts';
import type { Party } from '../../telephony/party.ts';
import type { AskedTransfer } from './asked-transfers.ts';
import type { EndpointConfig } from './config.ts';
import type { EarlyMediaData } from './early-media.ts';
import type { InfoToSend } from './info-digits.ts';
import type { VideoStreamsData } from './leg-video.ts';
import type { Negotiation, NegotiationData } from './negotiation.ts';
import type { Services } from './services.ts';

/** What inbound and outbound legs have in common, as plain data. */
export type LegCoreData = {
  readonly phase: 'setup' | 'up' | 'gone' | 'ended';
  /** Commands to run as soon as the port is open, in order. */
  readonly intents: readonly string[];
  readonly negotiation?: NegotiationData;
  /** What several called ones have answered the offer with. */
  readonly early?: EarlyMediaData;
  /** How digits travel and which formats there may be, where they are not as the endpoint has them. */
  readonly digits?: EndpointConfig['digits'];
  readonly codecs?: readonly AudioCodec[];
  /** The last identity that the far side sent. */
  readonly connected?: Party;
  /** The last connected line that was sent to the far side. */
  readonly presented?: Party;
  /** The far side holds us, and that was told. */
  readonly heldTold: boolean;
  /** Nothing was heard of the far side before the answer. */
  readonly silentEarly: boolean;
  /** Digits still to be sent as INFO. */
  readonly infos: readonly InfoToSend[];
  /** We have asked the far side for a transfer. */
  readonly referred?: true;
  /** Transfers that the far side has asked for and that are not decided. */
  readonly transfers?: readonly AskedTransfer[];
  readonly video?: VideoStreamsData;
  readonly media: MediaSessionDump;
};

/** Resolves the target of the call; undefined if there is none. */
export type FindPeer = () => Promise<Target | undefined>;

/** What only the leg of a call that came in, or of one that goes out, can do. */
export interface LegSide {
  /** Whether it has an action of this name, which waits until the port is open. */
  intends(intent: string): boolean;
  intent(intent: string, negotiation: Negotiation): void;
  /** The call has changed: its state, or who holds it. */
  changed(): void;
  /** No port could be had, or the media session broke down; the core then tells that the leg is gone. */
  mediaLost?(cause: number): void;
  /** Ends the call, with a Q.850 cause if there is one. */
  end(cause: number | undefined): void;
  /** Sends the caller elsewhere instead of an answer. */
  deflect?(uri: string): void;
}

/** The data of a leg. */
export type LegCoreOptions = {
  services: Services;
  endpoint: EndpointConfig;
  channelId: string;
  /** A channel that it will probably meet. */
  near?: string | undefined;
  codecs: readonly AudioCodec[];
  /** Codecs of video; without any there is none. And how many streams of it are in the offer that the call came with. */
  video: { codecs: readonly VideoFormatName[]; offered: number };
  /** The peer that must be able to reach the address in our SDP; undefined if there is none. */
  peer: Target | undefined;
  /** Finds the peer, if the address in our SDP depends on it; never rejects. */
  findPeer?: FindPeer | undefined;
  report: Report;
  /** The side of the call that we are. */
  side: LegSide;
  /** The caller identity that the far side gets. */
  presented?: Party | undefined;
  /** The far side is the callee: its connected line is the caller. */
  calls?: boolean;
  /** Where another process left off, with the call inside its dialog when it stood. */
  from?: { data: LegCoreData; usage: InviteUsage | undefined } | undefined;
  /** Whether nobody is called before `dial`. */
  begins: 'undialed' | 'setup';
};

/** The state of a leg that another process saved. */
export function stateOf({ phase, heldTold, silentEarly }: LegCoreData, begins: 'undialed' | 'setup'): LegState {
  if (phase === 'up') return heldTold ? 'held' : 'up';
  if (phase !== 'setup') return phase;
  return silentEarly ? 'unheard' : begins;
}
