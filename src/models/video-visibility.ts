import Type, { type Static } from 'typebox';
import { int, model, text } from './schema.ts';

const Other = Type.Object(
  {
    channel: text('Id of the other one, which has video.'),
    seen: Type.Boolean({ description: 'Whether its picture is sent to the member.' }),
    why: Type.Optional(
      text(
        'Why it is not visible. Because of the member: no_video, inactive (on hold, or it only sends), streams (no stream is left), negotiating, bandwidth (it accepts less). Because of the source: source_inactive (on hold, or without a camera), silent (it sends no packets). Of both: codec, packetization. Of the bridge: another (it shows another source), key_frame (none has come yet). Sent, but possibly not decodable: profile or level of H.264.',
      ),
    ),
    codec: Type.Optional(text('The codec of the picture, where it is visible.')),
    bitrate: Type.Optional(int('Bit/s in which the member gets it at present.')),
    size: Type.Optional(
      int(
        'Of a picture that comes in several sizes (simulcast): the size that the member gets, from 1 for the smallest.',
      ),
    ),
    sizes: Type.Optional(int('How many sizes come.')),
  },
  { additionalProperties: true },
);

/** The sources that one member of a bridge sees. */
export const VideoVisibility = model(
  'VideoVisibility',
  'The sources that a member of a bridge sees, and reasons for the others.',
  {
    channel: text('Id of the member.'),
    others: Type.Array(Other, { description: 'The members that have video, beside itself.' }),
  },
);
export type VideoVisibility = Static<typeof VideoVisibility>;
