/** Text from outside, so that it cannot steer a terminal. */
export const plain = (text: string): string => text.replaceAll(/\p{Cc}/gu, '?');
