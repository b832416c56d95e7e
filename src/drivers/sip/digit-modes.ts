import type { EndpointConfig } from './config.ts';

/** How digits travel, by Asterisk's name of the mode; others are as `auto`. */
export const digitsOfMode: Readonly<Record<string, EndpointConfig['digits']>> = {
  info: 'info',
  inband: 'inband',
  auto: 'auto_inband',
};
/** And the other way round. */
export const modeOfDigits: Readonly<Record<EndpointConfig['digits'], string>> = {
  auto: 'rfc4733',
  info: 'info',
  inband: 'inband',
  auto_inband: 'auto',
};

/** When digits are looked for in the audio, by how they travel. */
const inbandDigits = { auto: 'never', info: 'never', inband: 'always', auto_inband: 'without events' } as const;

/** What the way in which digits travel means for what is negotiated. */
export const digitTerms = (digits: EndpointConfig['digits']) => ({
  telephoneEvents: digits === 'auto' || digits === 'auto_inband',
  inbandDigits: inbandDigits[digits],
});
