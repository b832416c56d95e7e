import type { SupervisionMode } from '../models/webrtc.ts';

/** The built-in context of channels that listen to others for users of the interface. */
export const supervisionContext = 'hookswitch-supervision';

/** Variable of such a channel: the id of the one that it listens to. */
export const supervisedVariable = 'SUPERVISED_CHANNEL';

const optionsOf: Readonly<Record<SupervisionMode, string>> = { listen: 'qES', whisper: 'qESw', barge: 'qESB' };

/** An extension for each mode. */
export const supervision: Readonly<Record<string, string[]>> = Object.fromEntries(
  Object.entries(optionsOf).map(([mode, options]) => [mode, [`ChanSpy(\${${supervisedVariable}},${options})`]]),
);
