import type { Bookmark } from '../actors/resumptions.ts';

/** What nodes tell each other about the applications that are connected to them. */

/** An application that is connected to a node. */
export type PresentApplication = {
  name: string;
  /** Orders the connections of one application: the latest has it. */
  stamp: number;
  subscribeAll: boolean;
  observes: boolean;
  /** The group that has it, as `ConnectRequest.group` names it. */
  group?: string | undefined;
};

/** A change of the applications that are connected to a node. */
export type PresenceChange = {
  node: string;
  epoch: string;
  revision: number;
  added: PresentApplication[];
  removed: string[];
  /** Those whose connection is away, and whose events the node goes on to number. */
  awaited: string[];
  stamps?: AwaitedStamps;
};

/** The stamps of the last connections of awaited applications; earlier versions leave them out. */
type AwaitedStamps = Readonly<Record<string, number>>;

/** All of them. */
export type PresenceList = {
  epoch: string;
  revision: number;
  applications: PresentApplication[];
  awaited: string[];
  stamps?: AwaitedStamps;
};

/** How a client is about to connect. */
export type BringAsked = {
  subscribeAll: boolean;
  observes: boolean;
  resume?: ReadonlyMap<string, Bookmark> | undefined;
  acknowledges?: boolean | undefined;
};

/** An application as others hear of it. */
export const shown = ({ name, stamp, subscribeAll, observes, group }: PresentApplication): PresentApplication => ({
  ...{ name, stamp, subscribeAll, observes, ...(group !== undefined && { group }) },
});
