/** Every audio format there is, by the field's name; `slin` and its kin are linear 16-bit samples at 8 kHz or as named. */
export const formatNames = [
  'ulaw',
  'alaw',
  'g722',
  'opus',
  'slin',
  'slin12',
  'slin16',
  'slin24',
  'slin32',
  'slin44',
  'slin48',
] as const;

export type FormatName = (typeof formatNames)[number];
