import Type, { type Static } from 'typebox';
import { model, text, texts } from './schema.ts';

const IceServer = model('IceServer', 'A STUN or TURN server, as RTCPeerConnection takes it.', {
  urls: texts('Its addresses.'),
  username: Type.Optional(text('The name to log in with; it ends with the credential.')),
  credential: Type.Optional(text('The password, good for `media.webrtc.turn.lifetime`.')),
});

export const WebrtcTerms = model('WebrtcTerms', 'What a browser needs to call and be called.', {
  name: text('Its name: `WebRTC/<name>` calls it. That of its token, or else of its user.'),
  ice_servers: Type.Array(IceServer, { description: 'Servers for its side of ICE.' }),
});
export type WebrtcTerms = Static<typeof WebrtcTerms>;

const call = text('The call: `/hookswitch/webrtc/sessions/<call>` is its session.');

export const WebrtcNews = model('WebrtcNews', 'A notification to a page about calls to its name.', {
  type: Type.Enum(['listening', 'incoming', 'answered', 'ended'], { description: 'Which news it is.' }),
  name: Type.Optional(text('`listening`, the first message: the name that the page is called by.')),
  call: Type.Optional(call),
  caller: Type.Optional(
    Type.Object({ name: Type.String(), number: Type.String() }, { description: '`incoming`: who calls.' }),
  ),
  cause: Type.Optional(Type.Integer({ description: '`ended`: the Q.850 cause.' })),
});
export type WebrtcNews = Static<typeof WebrtcNews>;

/** Who hears a browser that listens to a channel: nobody, the party of the channel, or both sides. */
export const supervisionModes = ['listen', 'whisper', 'barge'] as const;
export type SupervisionMode = (typeof supervisionModes)[number];
