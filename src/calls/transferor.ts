/** Hears how a transfer goes, as SIP statuses, the last of which is 200 or more. */
export type Notify = (status: number) => void;

/** A party that asks by other means than its technology's. */
export type KeyTransferor = {
  /** Hears how it goes. */
  notify: Notify;
  /** The party consults the target before the transfer, for at most this time in ms. */
  consults?: { timeoutMs: number };
};
