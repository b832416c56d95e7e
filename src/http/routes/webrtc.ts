import type { IceServer } from '../../lib/turn-credentials.ts';
import { WebrtcNews, WebrtcTerms } from '../../models/webrtc.ts';
import type { BrowserAnswer } from '../../telephony/webrtc.ts';
import {
  newChannel,
  operation,
  pathParam,
  queryParam,
  type Resource,
  textOperation,
  upgradeOperation,
} from '../operation.ts';
import type { TextAnswer } from '../responses.ts';

/** Path of the WebSocket on which a page hears of calls. */
export const callsPath = '/webrtc/calls';

export const sdp = 'application/sdp';
/** RFC 8840 section 9. */
const sdpFragment = 'application/trickle-ice-sdpfrag';

const sessionId = pathParam('The session, from `Location`.');
/** The offer of a request. */
export const sdpBody = (description: string) =>
  ({ in: 'body', type: 'string', whole: true, required: true, hidden: true, description }) as const;

const quoted = (value: string): string => `"${value.replaceAll(/["\\]/g, '\\$&')}"`;

/** The servers as RFC 9725 4.6 writes them. */
const links = (servers: readonly IceServer[]): string =>
  servers
    .flatMap(({ urls, username, credential }) =>
      urls.map((url) =>
        [`<${url}>`, 'rel="ice-server"']
          .concat(username === undefined ? [] : [`username=${quoted(username)}`])
          .concat(credential === undefined ? [] : [`credential=${quoted(credential)}`, 'credential-type="password"'])
          .join('; '),
      ),
    )
    .join(', ');

/** The answer to an offer: a session is made. */
export const answered = ({
  sdp: text,
  session,
  tag,
  iceServers,
}: BrowserAnswer & { iceServers: IceServer[] }): TextAnswer => {
  const link = links(iceServers);
  return {
    ...{ status: 201, type: sdp, text },
    headers: {
      Location: `/hookswitch/webrtc/sessions/${session}`,
      ETag: quoted(tag),
      'Accept-Patch': `${sdp}, ${sdpFragment}`,
      ...(link !== '' && { Link: link }),
    },
  };
};

/** Browsers that call and are called without SIP. */
export const webrtc: Resource = {
  name: 'webrtc',
  description:
    'WebRTC: browsers call and are called over HTTP, without SIP. Clients of WHIP (RFC 9725) can send, clients of WHEP can listen.',
  operations: [
    operation({
      method: 'GET',
      path: '/webrtc',
      nickname: 'terms',
      summary: 'The name that calls the browser, and servers for its side of ICE.',
      notes: 'Passwords of TURN servers end after `media.webrtc.turn.lifetime`.',
      owner: 'webrtc',
      returns: WebrtcTerms,
      handle: (calls, _params, requester) => calls.terms(requester),
    }),
    textOperation({
      method: 'POST',
      path: '/webrtc',
      nickname: 'call',
      summary: 'Call: answers an SDP offer and makes its channel.',
      notes:
        'The body is the offer (application/sdp), the answer is SDP. `Location` is the session: PATCH changes it, DELETE hangs up. The channel rings until its application or dialplan answers it; what that plays before is heard.',
      owner: 'webrtc',
      params: {
        offer: sdpBody('The offer, as application/sdp.'),
        app: queryParam('string', 'Application that gets the channel.', { names: 'application' }),
        appArgs: queryParam('string', 'Arguments for the application.', { hidden: true }),
        extension: queryParam('string', 'Extension of the dialplan to call, without an application.'),
        context: queryParam('string', 'Its context.', { default: 'default', names: 'context' }),
        channelId: queryParam('string', 'Id for the channel; up to 149 characters.', newChannel),
        formats: queryParam('string', 'Formats that may be used, e.g. `ulaw,opus`.'),
        call: queryParam('string', 'The waiting call that this offer takes; nothing else is read then.'),
      },
      content: sdp,
      status: 201,
      errors: [
        'webrtcOfferInvalid',
        'webrtcDestinationRequired',
        'webrtcCallNotFound',
        'webrtcSessionNotFound',
        'formatNotFound',
        'uniqueIdTooLong',
        'channelIdExists',
        'allocationFailed',
      ],
      handle: async (calls, params, requester) => answered(await calls.call(params, requester)),
    }),
    upgradeOperation({
      path: callsPath,
      nickname: 'calls',
      summary: 'Hear of calls to this browser, over a WebSocket.',
      notes:
        'Each page of a name hears of each call. The first that sends an offer for it (`POST /hookswitch/webrtc?call=…`) has it; `DELETE /hookswitch/webrtc/sessions/<call>` refuses it.',
      owner: 'webrtc',
      params: { ticket: queryParam('string', 'From `POST /hookswitch/sessions/tickets`; good once.') },
      returns: WebrtcNews,
      errors: ['upgradeRequired', 'upgradeInvalid', 'upgradeOverWebSocket'],
    }),
    textOperation({
      method: 'PATCH',
      path: '/webrtc/sessions/{sessionId}',
      nickname: 'update',
      summary: 'Change a session: another offer, or a fragment of SDP with ICE.',
      notes:
        'A whole offer (application/sdp) holds, takes back or restarts ICE, and is answered with SDP. A fragment (application/trickle-ice-sdpfrag) with other credentials restarts ICE; one with candidates alone is answered 204: it is needed only where the answer has a candidate of the type `relay`. A fragment needs `If-Match`: the `ETag` of the session, or `*` to restart ICE (RFC 9725 4.3); an offer may have it.',
      owner: 'webrtc',
      params: { sessionId, offer: sdpBody('An offer, or a fragment of SDP.') },
      content: sdp,
      status: 200,
      errors: [
        'webrtcSessionNotFound',
        'webrtcOfferInvalid',
        'webrtcIcePast',
        'webrtcIfMatchRequired',
        'allocationFailed',
      ],
      handle: async (calls, params, requester): Promise<TextAnswer> => {
        const answer = await calls.change(params.sessionId, params.offer, requester);
        const headers = { ETag: quoted(answer.tag) };
        if (answer.sdp === undefined) return { status: 204, headers };
        return { status: 200, type: answer.isFragment ? sdpFragment : sdp, text: answer.sdp, headers };
      },
    }),
    operation({
      method: 'DELETE',
      path: '/webrtc/sessions/{sessionId}',
      nickname: 'end',
      summary: 'Hang up, or refuse a call that waits.',
      owner: 'webrtc',
      params: { sessionId },
      errors: ['webrtcSessionNotFound'],
      handle: (calls, { sessionId: session }, requester) => calls.end(session, requester),
    }),
  ],
};
