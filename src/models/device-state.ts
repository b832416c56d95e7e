import Type, { type Static } from 'typebox';
import { model, text } from './schema.ts';

export const deviceStateWords = [
  'UNKNOWN',
  'NOT_INUSE',
  'INUSE',
  'BUSY',
  'INVALID',
  'UNAVAILABLE',
  'RINGING',
  'RINGINUSE',
  'ONHOLD',
] as const;
export type DeviceStateWord = (typeof deviceStateWords)[number];

/** How busy a device is: a phone, or a name that applications keep. */
export const DeviceState = model('DeviceState', 'How busy a device is.', {
  name: text('Name of the device, e.g. Stasis:queue or PJSIP/alice.'),
  state: Type.Enum([...deviceStateWords], { description: 'Its state.' }),
});
export type DeviceState = Static<typeof DeviceState>;
