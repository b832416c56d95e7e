/** Every audio format there is, by Asterisk's name; `slin` and its kin are linear 16-bit samples at 8 kHz or as named. */
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

/** Formats of Asterisk that there are no codecs for here. */
export const absentFormatNames = [
  ...['adpcm', 'amr', 'amrwb', 'codec2', 'evs', 'g719', 'g723', 'g726', 'g726aal2', 'g728', 'g729', 'g729a', 'gsm'],
  ...['h261', 'h263', 'h263p', 'h264p', 'h265', 'h265p', 'ilbc', 'isac', 'jpeg', 'lpc10', 'mpeg4', 'png', 'red'],
  ...['silk', 'silk8', 'silk12', 'silk16', 'silk24', 'siren7', 'siren14', 'slin96', 'slin192'],
  ...['speex', 'speex16', 'speex32', 't140', 't140red', 'testlaw'],
] as const;

/** Every video format there is, by Asterisk's name. Video is forwarded as it comes, never decoded. */
export const videoFormatNames = ['vp8', 'vp9', 'h264', 'av1'] as const;

export type VideoFormatName = (typeof videoFormatNames)[number];

/** Whether a name is that of a video format. */
export const isVideoFormat = (name: string): name is VideoFormatName =>
  (videoFormatNames as readonly string[]).includes(name);

/** Video feedback that a far side supports. We send only that, and accept all. */
export type VideoFeedback = {
  /** Lost packets are asked for again (RFC 4585 6.2.1). */
  readonly nack: boolean;
  /** A key frame is asked for by a picture loss indication (RFC 4585 6.3.1). */
  readonly pli: boolean;
  /** Key frames are requested by a full intra request if it lacks picture loss indication (RFC 5104 4.3.1). */
  readonly fir: boolean;
  /** Accepts bit-rate requests (RFC 5104 4.2.1). */
  readonly tmmbr: boolean;
  /** The same as browsers ask for it, where it knows no TMMBR (draft-alvestrand-rmcat-remb). */
  readonly remb: boolean;
};

/** How we send Opus, within what the far side asks for. */
export type OpusSending = {
  /** Bits a second, on average at most. */
  bitRate: number;
  /** Work put into a packet, 0 to 10. */
  complexity: number;
  /** Each packet carries a poorer copy of the one before, where the far side can use it. */
  fec: boolean;
  /** Packets out of a hundred that are expected to get lost: how much of the bit rate goes into copies. */
  lossPercent: number;
};

/** Requests of an Opus receiver to the sender (RFC 7587 section 6.1). */
export type OpusWishes = {
  /** Highest rate that it plays, in Hz: what is above need not be sent. */
  maxPlaybackRate?: number;
  /** Bits a second, on average at most. */
  maxAverageBitrate?: number;
  /** It can use the poorer copy of the packet before that a packet may carry. */
  fec: boolean;
  /** It prefers that next to nothing is sent in silence. */
  dtx: boolean;
  /** Requests a constant bit rate. */
  cbr: boolean;
};
