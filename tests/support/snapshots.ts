import { type Dump, dumpVersion } from '../../src/actors/dumps.ts';
import { callParts, type Owners, type SavedPart } from '../../src/actors/snapshot.ts';
import type { SipDriver, SipDriverData } from '../../src/drivers/sip/driver.ts';

/** All of call control as it is now, as plain JSON: each saved part, whole. Between two steps only. */
export function takeSnapshot(owners: Owners): Dump {
  const parts = Object.entries<SavedPart<Owners>>(callParts).map(([name, { whole }]) => [name, whole(owners)] as const);
  const present = Object.fromEntries(parts.filter(([, value]) => value !== undefined));
  return JSON.parse(JSON.stringify({ version: dumpVersion, ...present })) as Dump;
}

/** All that a SIP driver saves beside its legs. */
export function driverData(driver: SipDriver): SipDriverData {
  const parts = sipParts.map((part) => [part, driver.dumpPart(part)] as const);
  return { version: 1, ...Object.fromEntries(parts) } as unknown as SipDriverData;
}
const sipParts = ['bindings', 'subscriptions', 'lines', 'outsideRefers', 'departing'] as const;
