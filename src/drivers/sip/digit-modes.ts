import type { EndpointConfig } from './config.ts';

/** When digits are looked for in the audio, by how they travel. */
const inbandDigits = { auto: 'never', info: 'never', inband: 'always', auto_inband: 'without events' } as const;

/** SDP terms of a digit mode. */
export const digitTerms = (digits: EndpointConfig['digits']) => ({
  telephoneEvents: digits === 'auto' || digits === 'auto_inband',
  inbandDigits: inbandDigits[digits],
});
