import Type, { type Static } from 'typebox';
import { model, text } from './schema.ts';

const Other = Type.Object(
  {
    channel: text('Id of the other one, which has video.'),
    seen: Type.Boolean({ description: 'Whether its picture is sent to the member.' }),
    why: Type.Optional(
      text(
        'Why it is not. Of the member: no_video, inactive (it takes no picture now: on hold, or it only sends), streams (its endpoint or phone has no more of them), negotiating (its phone is being told), bandwidth (it takes less than is sent). Of the other one: source_inactive (it sends no picture: on hold, or without a camera), silent (nothing comes of it now). Of both: codec, packetization. Of the bridge: another (it shows somebody else), key_frame (none has come yet). Where it is sent, and may not be decoded: profile or level of H.264.',
      ),
    ),
  },
  { additionalProperties: true },
);

/** What one member of a bridge sees of the others. */
export const VideoVisibility = model(
  'VideoVisibility',
  'What a member of a bridge sees of the others, and why not the rest.',
  {
    channel: text('Id of the member.'),
    others: Type.Array(Other, { description: 'The members that have video, beside itself.' }),
  },
);
export type VideoVisibility = Static<typeof VideoVisibility>;
