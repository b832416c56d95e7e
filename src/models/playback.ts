import Type, { type Static } from 'typebox';
import { model, text, texts } from './schema.ts';

/** States a playback may show. */
export const playbackStates = ['queued', 'playing', 'paused', 'continuing', 'done', 'failed'] as const;
export type PlaybackState = (typeof playbackStates)[number];

/** A list of media being played to a channel or bridge. */
export const Playback = model('Playback', 'Media being played: one item, or a list of them, one after another.', {
  id: text('Unique id, given by the client or a UUID.'),
  media_uri: text('Item played now, or played last.'),
  next_media_uri: Type.Optional(text('Item that follows; absent on the last.')),
  target_uri: text('The target: channel:<id> or bridge:<id>.'),
  language: Type.Optional(text('Language that sounds are looked up in.')),
  state: Type.Enum([...playbackStates], { description: "The playback's state." }),
  failed_media_uris: Type.Optional(texts('Items that could not be played, in order; absent while there are none.')),
});
export type Playback = Static<typeof Playback>;

/** Commands for a running playback. */
export const playbackOperations = ['restart', 'pause', 'unpause', 'reverse', 'forward'] as const;
export type PlaybackOperation = (typeof playbackOperations)[number];
