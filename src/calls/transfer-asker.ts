/** Hears how a transfer goes, as SIP statuses, the last of which is 200 or more. */
export type Told = (status: number) => void;

/** A party that asks by other means than its technology's. */
export type Asker = {
  /** Hears how it goes. */
  told: Told;
  /** It wants to talk to the target before the others are put through: how long that is waited for, in ms. */
  consults?: { timeoutMs: number };
};
