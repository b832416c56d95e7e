import Type, { type Static } from 'typebox';
import { model, stringMap, text, texts } from './schema.ts';
import { Timestamp } from './timestamp.ts';

/** Audio modes of a bridge. */
export const bridgeTypes = ['mixing', 'holding'] as const;
export type BridgeType = (typeof bridgeTypes)[number];

/** Whose picture members of a bridge see. */
export type VideoMode = 'none' | 'talker' | 'single' | 'sfu';

/** Channels that are joined. */
export const Bridge = model('Bridge', 'Channels that hear each other, or that wait together.', {
  id: text('Unique id: given by the creator, or a UUID.'),
  technology: text('How its channels are joined now: simple_bridge, softmix or holding_bridge.'),
  bridge_type: Type.Enum([...bridgeTypes], { description: 'mixing: all hear each other; holding: all wait.' }),
  bridge_class: text('stasis for bridges of applications, basic for those of the dialplan.'),
  creator: text('Creator: Stasis for applications, else empty.'),
  name: text('Name given by the creator, or empty.'),
  channels: texts('Ids of the channels in it.'),
  video_mode: Type.Optional(text('Whose video is shown: talker, single or sfu; none by default.')),
  video_source_id: Type.Optional(text('Channel whose video is shown, if known.')),
  creationtime: Timestamp,
  creation: Type.Optional(Timestamp),
  bridgevars: Type.Optional(stringMap('Variables that a client asked to see, with their values.')),
});
export type Bridge = Static<typeof Bridge>;
