/**
 * What happens to an object of itself: the far side, or whoever speaks, did it. Every other report answers something that
 * was asked of the object, and follows from the request that asked for it.
 */
export const unasked: ReadonlySet<string> = new Set([
  'leg.hungUp',
  'leg.digit',
  'leg.talkingStarted',
  'leg.talkingFinished',
  'leg.held',
  'leg.unheld',
  'leg.connectedLine',
  'leg.transferAsked',
  'key',
  'member.videoChanged',
  'mix.lost',
  'mix.videoSource',
  'media.lost',
]);
