/** How a transfer goes, in the words of clients (`transfer_progress`, ChannelTransfer). */
export const transferStates = [
  'channel_progress',
  'channel_answered',
  'channel_unavailable',
  'channel_declined',
] as const;

export type TransferState = (typeof transferStates)[number];

/** Results of BridgeBlindTransfer and BridgeAttendedTransfer. */
export type TransferResult = 'Success' | 'Fail' | 'Invalid' | 'Not Permitted';
