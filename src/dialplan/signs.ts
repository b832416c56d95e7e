/**
 * Characters with a meaning when a text is split or calculated, and the signs that replace them in values meanwhile.
 */
const meanings = '^&:?"()[]{}\\';
const firstSign = 0xe000;

/** A value as it goes into a text that is split afterwards: nothing in it separates or ends anything. */
export const sealedValue = (value: string): string =>
  value.replace(/[\^&:?"()[\]{}\\]/g, (char) => String.fromCharCode(firstSign + meanings.indexOf(char)));

/** A part of such a text as it is to be used: the values are as they were. */
export const unsealed = (text: string): string =>
  text.replace(/[\ue000-\ue00b]/g, (sign) => meanings.charAt(sign.charCodeAt(0) - firstSign));
