import { channelTopic } from '../bus/topics.ts';
import { supervisedVariable, supervisionContext } from '../dialplan/supervision.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { IceServer } from '../lib/turn-credentials.ts';
import { AriError } from '../models/errors.ts';
import { supervisionModes, type WebrtcNews, type WebrtcTerms } from '../models/webrtc.ts';
import { Cause } from '../telephony/causes.ts';
import { DriverError, type IncomingCall } from '../telephony/driver.ts';
import type { BrowserAnswer, BrowserDriver, PreparedBrowserCall } from '../telephony/webrtc.ts';
import type { ChannelApplications, ChannelFacts } from './channel-entry.ts';
import { longestChannelId, readAppArgs, readFormats } from './channel-requests.ts';
import type { Channels } from './channels.ts';
import type { Listening } from './listening.ts';
import type { Turn } from './turn.ts';

/** The user, its token, and the address of the request if known. */
type BrowserUser = {
  user: { name: string; read_only: boolean; token?: { readonly name: string } | undefined };
  address?: string | undefined;
  /** If-Match of its request. */
  ifMatch?: string | undefined;
};

/** The name that a page calls by and is called by (`WebRTC/<name>`): that of its token, or else of its user. */
const nameOf = ({ user }: BrowserUser): string => user.token?.name ?? user.name;

/** Parameters of a call, by their names in the interface. */
type BrowserCallRequest = {
  /** SDP. */
  offer?: string | undefined;
  app?: string | undefined;
  appArgs?: string | undefined;
  extension?: string | undefined;
  context?: string | undefined;
  channelId?: string | undefined;
  formats?: string | undefined;
  /** The call to a browser that this offer takes. */
  call?: string | undefined;
};

/** Parameters of listening with a browser's channel, by their names in the interface. */
type SupervisionRequest = Pick<BrowserCallRequest, 'offer' | 'formats'> & {
  channelId: string;
  mode?: string | undefined;
  /** Id for the browser's channel. */
  supervisorId?: string | undefined;
};

/** A call of a browser: what it asks for, and variables of its channel. */
type BrowserCall = BrowserCallRequest & Pick<IncomingCall, 'variables' | 'joins'>;

type WebrtcCallsOptions = {
  channels: Channels;
  facts: Pick<ChannelFacts, 'on'>;
  listening: Pick<Listening, 'supervise'>;
  driver: BrowserDriver;
  applications: Pick<ChannelApplications, 'addInterest'>;
  /** Steps that a request causes after its offer was answered follow from it. */
  turn: Pick<Turn, 'request' | 'following'>;
  /** Names of all formats. */
  formats: ReadonlySet<string>;
  /** Servers for a browser's side of ICE. */
  iceServers(name: string): IceServer[];
};

/** Calls of browsers over HTTP. */
export interface WebrtcCalls {
  /**
   * Answers an offer and makes its channel, or takes a call that waits for the user.
   * @throws AriError (rejects) webrtcOfferInvalid, webrtcDestinationRequired, webrtcCallNotFound, formatNotFound,
   * uniqueIdTooLong, channelIdExists, allocationFailed, serverDrained,
   * serverIsolated, serviceUnavailable.
   */
  call(request: BrowserCallRequest, user: BrowserUser): Promise<BrowserAnswer & { iceServers: IceServer[] }>;
  /**
   * Answers an offer with a channel that listens to another, and may talk to its party or to both sides.
   * @throws AriError (rejects) supervisionModeInvalid, listeningOff, listeningDenied, channelNotFound, tooManyListeners, and as `call`.
   */
  supervise(request: SupervisionRequest, user: BrowserUser): Promise<BrowserAnswer & { iceServers: IceServer[] }>;
  /**
   * Another offer, or a fragment with ICE alone.
   * @throws AriError (rejects) webrtcSessionNotFound, webrtcOfferInvalid, webrtcIcePast, webrtcIfMatchRequired.
   */
  change(
    session: string,
    body: string | undefined,
    user: BrowserUser,
  ): Promise<Omit<BrowserAnswer, 'sdp'> & { sdp?: string; isFragment: boolean }>;
  /** Hangs up, or refuses a call that waits. @throws AriError webrtcSessionNotFound. */
  end(session: string, user: BrowserUser): void;
  terms(user: BrowserUser): WebrtcTerms;
  /** A page hears of calls of the user's name, until the returned function is called. */
  listen(user: BrowserUser, told: (news: WebrtcNews) => void): () => void;
}

const refusal = (error: unknown): unknown => {
  if (!(error instanceof DriverError)) return error;
  const { part, message } = error;
  if (part === 'format') return new AriError('webrtcOfferInvalid', { problem: message }, { cause: error });
  if (part === 'data') return new AriError('webrtcIcePast', {}, { cause: error });
  if (part === 'condition') return new AriError('webrtcIfMatchRequired', {}, { cause: error });
  if (part === 'endpoint') return new AriError('webrtcSessionNotFound', {}, { cause: error });
  return new AriError('allocationFailed', { reason: message }, { cause: error });
};

const refused = (error: unknown): never => {
  throw refusal(error);
};

function readOffer(offer: string | undefined): string {
  if (offer) return offer;
  throw new AriError('webrtcOfferInvalid', { problem: 'the body is to be SDP with the type application/sdp' });
}

/** Which channels of browsers listen to others. */
function createSupervisions({ channels, facts, listening }: WebrtcCallsOptions) {
  /** What says that a channel no longer listens, by its id. */
  const ends = new SlotMap<string, () => void>();
  const end = (id: string): void => {
    ends.get(id)?.();
    ends.delete(id);
  };
  facts.on('channel.gone', ({ id }) => end(id));
  return {
    end,
    /** @throws AriError where the user may not listen, or a request under way has that id for its channel. */
    begin(id: string, channelId: string, mode: string, { user }: BrowserUser): void {
      if (ends.has(id)) throw new AriError('channelIdExists');
      const sendAway = (): void => {
        end(id);
        const entry = channels.find(id);
        if (entry) channels.tell(entry, { type: 'hangup', cause: Cause.normalClearing, by: 'server' });
      };
      ends.set(id, listening.supervise(channelId, user, mode, sendAway));
    },
  };
}

/** Makes what lets browsers call and be called over HTTP. */
export function createWebrtcCalls(options: WebrtcCallsOptions): WebrtcCalls {
  const { channels, driver, applications, turn, formats: known } = options;
  const supervisions = createSupervisions(options);

  const idOf = ({ channelId }: BrowserCallRequest): string => {
    if (channelId && channelId.length > longestChannelId) throw new AriError('uniqueIdTooLong');
    if (channelId && channels.find(channelId)) throw new AriError('channelIdExists');
    return channelId || channels.freshId();
  };

  /** The channel of an answered offer: in the dialplan, or with its application. */
  const begin = (id: string, request: BrowserCall, user: BrowserUser, prepared: PreparedBrowserCall): void => {
    const { app, appArgs, extension = 's', context = 'default', variables, joins } = request;
    // While it was prepared, another one may have come to life under the id.
    const isTaken = channels.find(id) !== undefined;
    const came =
      !isTaken &&
      channels.incoming({
        ...{ technology: driver.technology, name: prepared.name, channelId: id, context, extension },
        endpoint: [driver.technology, nameOf(user)],
        caller: { name: '', number: nameOf(user) },
        state: app ? 'reserved' : 'ring',
        ...(variables && { variables }),
        ...(joins && { joins }),
        open: (_id, report) => prepared.open(report),
      });
    if (!came) {
      prepared.abandon();
      supervisions.end(id);
      throw new AriError(isTaken ? 'channelIdExists' : (channels.refusal(!joins) ?? 'serviceUnavailable'));
    }
    if (!app) return;
    applications.addInterest(app, channelTopic(id));
    const data = appArgs ? `${app},${appArgs}` : app;
    channels.tell(channels.get(id), { type: 'enter.soon', app, args: readAppArgs(appArgs), data });
  };

  const take = async (call: string, offer: string, user: BrowserUser) => {
    const answer = await driver.take(call, { offer, owner: nameOf(user), peer: user.address }).catch(refused);
    if (!answer) throw new AriError('webrtcCallNotFound');
    return answer;
  };

  const place = async (request: BrowserCall, offer: string, user: BrowserUser): Promise<BrowserAnswer> => {
    if (!request.app && !request.extension) throw new AriError('webrtcDestinationRequired');
    const formats = readFormats(request.formats, known);
    const channelId = idOf(request);
    const { request: requestId } = turn;
    const prepared = await driver
      .prepare({ channelId, offer, owner: nameOf(user), peer: user.address, formats })
      .catch(refused);
    const make = () => begin(channelId, request, user, prepared);
    if (requestId === undefined) make();
    else turn.following(requestId, make);
    return prepared;
  };

  return {
    async call(request, user) {
      const offer = readOffer(request.offer);
      const { call } = request;
      const answer = call ? await take(call, offer, user) : await place(request, offer, user);
      return { ...answer, iceServers: options.iceServers(nameOf(user)) };
    },
    async supervise({ channelId, mode = 'listen', supervisorId, formats, offer: sdp }, user) {
      const offer = readOffer(sdp);
      if (!(supervisionModes as readonly string[]).includes(mode)) throw new AriError('supervisionModeInvalid');
      const id = idOf({ channelId: supervisorId });
      supervisions.begin(id, channelId, mode, user);
      const variables = { [supervisedVariable]: channelId };
      const call = {
        ...{ extension: mode, context: supervisionContext, variables, channelId: id, formats },
        joins: true as const,
      };
      const answer = await place(call, offer, user).catch((error: unknown) => {
        supervisions.end(id);
        throw error;
      });
      return { ...answer, iceServers: options.iceServers(nameOf(user)) };
    },
    async change(session, body, user) {
      const change = { session, owner: nameOf(user), body: readOffer(body), ifMatch: user.ifMatch };
      const answer = await driver.change(change).catch(refused);
      if (!answer) throw new AriError('webrtcSessionNotFound');
      return answer;
    },
    end(session, user) {
      if (!driver.end(session, nameOf(user))) throw new AriError('webrtcSessionNotFound');
    },
    terms: (user) => ({ name: nameOf(user), ice_servers: options.iceServers(nameOf(user)) }),
    listen: (user, told) => driver.listen(nameOf(user), told),
  };
}
