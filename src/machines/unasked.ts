/**
 * Reports that no request caused: the far side acted. Every other report answers a request.
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
