import type { BridgesBeyond } from '../actors/bridge-operations.ts';
import type { ChannelFacts } from '../actors/channel-entry.ts';
import { type LinkAnswer, linkRequestCheck } from '../models/bridge-link.ts';
import { AriError } from '../models/errors.ts';
import { BridgeHomes, type BridgeHomesOptions } from './bridge-homes.ts';
import { BridgeParts, type BridgePartsOptions, type Entering } from './bridge-parts.ts';

type BridgeLinksOptions = BridgeHomesOptions &
  BridgePartsOptions &
  Pick<BridgesBeyond, 'nodeOf' | 'isAt'> & {
    /** Who holds the others of its bridge. */
    channelFacts: Pick<ChannelFacts, 'on'>;
  };

/** Bridges with members at several nodes. */
export interface BridgeLinks extends BridgesBeyond {
  /** Answers another node. It never rejects. */
  answer(request: unknown): Promise<LinkAnswer>;
  /** Asks other nodes for the members that restored bridges had there. */
  resume(): void;
  /** Says which channels of this node may enter bridges of others, and takes them out of their calls. */
  attach(operations: Entering): void;
  /** Links with other nodes, opened by this one and by others. */
  readonly size: number;
  /** Ends all links. */
  close(): void;
}

/** What the nodes between which a link is tell each other goes to one of both sides. */
const toHome: ReadonlySet<string> = new Set(['entered', 'left', 'held', 'ended']);

export function createBridgeLinks(options: BridgeLinksOptions): BridgeLinks {
  const homes = new BridgeHomes(options);
  const parts = new BridgeParts(options);
  options.channelFacts.on('peer.held', ({ id }, { musicClass }) => parts.held(id, musicClass));
  return {
    nodeOf: options.nodeOf,
    isAt: options.isAt,
    prepare: (...asked) => homes.prepare(...asked),
    enter: (...asked) => homes.enter(...asked),
    bring: (...asked) => homes.bring(...asked),
    leave: (...asked) => homes.leave(...asked),
    async answer(request) {
      if (!linkRequestCheck.fits(request)) return { done: 'no' };
      try {
        return toHome.has(request.do) ? homes.take(request) : await parts.take(request);
      } catch (error) {
        if (error instanceof AriError)
          return { done: 'no', error: { code: error.code, parameters: { ...error.parameters } } };
        options.log.error({ do: request.do, error }, 'a request of another node about a bridge failed');
        return { done: 'no' };
      }
    },
    attach: (operations) => parts.attach(operations),
    resume: () => homes.resume(),
    get size() {
      return homes.size + parts.size;
    },
    close() {
      homes.close();
      parts.close();
    },
  };
}
