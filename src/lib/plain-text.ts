/** Text from outside, made so that it cannot steer a terminal: without control characters (C0, DEL and C1). */
export const plain = (text: string): string => text.replaceAll(/\p{Cc}/gu, '?');

/** JSON for a terminal: also escapes the control characters that JSON leaves (DEL and C1). */
export const plainJson = (json: string): string => json.replaceAll(/[\u007f-\u009f]/g, escaped);

const escaped = (character: string): string => `\\u00${character.charCodeAt(0).toString(16)}`;

/** A JSON line for display: control characters in texts are removed, except tabs and line ends. */
export const plainTexts = (json: string): string =>
  json.replaceAll(/[\u007f-\u009f]|\\u00(?:0[0-8b-f]|1[0-9a-f])/g, '?');
