/** How audio of a suite of SRTP is made secret and proved: sizes in octets. */
export type SrtpSuiteSizes = {
  readonly key: number;
  readonly salt: number;
  /** The proof at the end of a packet of audio, and of RTCP. */
  readonly tag: number;
  readonly controlTag: number;
  /** One cipher does both (RFC 7714); otherwise AES in counter mode, and HMAC-SHA1 (RFC 3711 4.1.1, 4.2.1). */
  readonly aead: boolean;
};

/** The suites by their names in SDP (RFC 4568 6.2, RFC 7714 14.2), the preferred one first. */
export const srtpSuites = {
  AEAD_AES_256_GCM: { key: 32, salt: 12, tag: 16, controlTag: 16, aead: true },
  AEAD_AES_128_GCM: { key: 16, salt: 12, tag: 16, controlTag: 16, aead: true },
  AES_CM_128_HMAC_SHA1_80: { key: 16, salt: 14, tag: 10, controlTag: 10, aead: false },
  AES_CM_128_HMAC_SHA1_32: { key: 16, salt: 14, tag: 4, controlTag: 10, aead: false },
} as const satisfies Readonly<Record<string, SrtpSuiteSizes>>;

export type SrtpSuite = keyof typeof srtpSuites;

/** Whether a suite is one of ours. */
export const isSrtpSuite = (name: string): name is SrtpSuite => Object.hasOwn(srtpSuites, name);

/** SRTP key of one side: master key and salt, in base64. Never log it. */
export type SrtpKey = {
  readonly suite: SrtpSuite;
  readonly key: string;
  /** Names the key in each packet (the MKI, RFC 3711 3.1), octets in hexadecimal; left out, packets name none. */
  readonly mki?: string;
  /** Further keys of the same suite that its packets may be made with, named by octets of the same number. */
  readonly others?: readonly { readonly key: string; readonly mki: string }[];
};

/** Both directions of a call's audio. */
export type SrtpKeys = { readonly local: SrtpKey; readonly remote: SrtpKey };
