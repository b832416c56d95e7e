import type { Connected, ConnectRequest } from '../actors/application-connections.ts';
import type { PresentApplication } from './presence-messages.ts';

/** What a node knows of the applications of others. */

/** Numbers the events of one application for another node. */
export type Link = {
  /** Names it among those of this node. */
  readonly number: number;
  made: number;
  readonly send: ConnectRequest['send'];
  /** A group shares it. */
  isShared: boolean;
  /** That of the connection there, which may be away. */
  stamp: number;
};

type RemoteApplication = PresentApplication & { connected: Connected; link: Link };
export type RemoteNode = {
  epoch: string;
  revision: number;
  applications: Map<string, RemoteApplication>;
  /** Where events go of applications whose connection is away. */
  awaited: Map<string, Link>;
  /** Applications of it that another node has got since. */
  passedOver: Set<string>;
  asking: Promise<void> | undefined;
  /** The last change that has come while it is being asked: the answer may be from before. */
  missed: number;
};

/** A node of which nothing is known. */
export const newRemoteNode = (): RemoteNode => ({
  ...{ epoch: '', revision: -1, asking: undefined, missed: -1, passedOver: new Set() },
  ...{ applications: new Map(), awaited: new Map() },
});

/** A connection of an application at a node. */
type At = { stamp: number; holder: string };

/** Of two connections of an application the later one has it. */
export const isLater = (one: At, other: At): boolean =>
  one.stamp > other.stamp || (one.stamp === other.stamp && one.holder > other.holder);

/** Whether an application has connected to another node since: news of two nodes come in any order. */
export const hasLater = (nodes: ReadonlyMap<string, RemoteNode>, name: string, at: At): boolean =>
  [...nodes].some(([holder, { applications, awaited }]) => {
    const there = holder === at.holder ? undefined : (applications.get(name) ?? awaited.get(name));
    return there !== undefined && isLater({ stamp: there.stamp, holder }, at);
  });

/** The node that has an application, as far as this one knows. */
export function holderOf(nodes: ReadonlyMap<string, RemoteNode>, name: string): string | undefined {
  for (const [holder, { applications, awaited }] of nodes)
    if (applications.has(name) || awaited.has(name)) return holder;
  return undefined;
}
