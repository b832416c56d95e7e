import type { EndpointConfig } from './config.ts';

/** How digits travel, by the field's name of the mode; others are as `auto`. */
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
