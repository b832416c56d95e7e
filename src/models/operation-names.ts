/** Names of the interface's operations behind chart commands. */

type Kind = 'channel' | 'bridge' | 'playback' | 'recording';

/** Operations whose name differs from the chart's. */
const names: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  channel: {
    continue: 'channels:continueInDialplan',
    dtmf: 'channels:sendDTMF',
    moh: 'channels:startMoh',
    silence: 'channels:startSilence',
    setVariable: 'channels:setChannelVar',
    bridge: 'bridges:addChannel',
    transferProgress: 'channels:transfer_progress',
  },
  bridge: { variable: 'bridges:setBridgeVar' },
  playback: Object.fromEntries(
    ['restart', 'pause', 'unpause', 'reverse', 'forward'].map((word) => [word, 'playbacks:control']),
  ),
  recording: {},
};

/** The operation of the interface, `resource:nickname`, behind a command for an object. */
export const operationBehind = (kind: Kind, operation: string): string =>
  names[kind][operation] ?? `${kind}s:${operation}`;
