import { createHash } from 'node:crypto';
import type { RegistrationHolders } from '../actors/registrations.ts';
import type { SharedStates } from './shared-states.ts';

/**
 * Decides which node holds each registration at a provider. All nodes that have it configured tell so in the shared states,
 * and decide by the same rule. The holder gives it up before another one takes it.
 */

/** Begins the keys of shared states about registrations. */
export const registrationPrefix = 'registration:';

/** How much a node can do: hold registrations, hold those that no other node can, or none. */
export type Readiness = 'ready' | 'drained' | 'isolated';

const ranks: readonly string[] = ['isolated', 'drained', 'ready'] satisfies Readiness[];

/** What a node tells about a registration that it has configured. */
type Offer = { node: string; readiness: string; isHeld: boolean };

const writeOffer = ({ node, readiness, isHeld }: Offer): string => `${node} ${readiness} ${isHeld ? 'held' : 'free'}`;

/** What another node has told; undefined for something else. */
function readOffer(part: string): Offer | undefined {
  const [node, readiness, held] = part.split(' ');
  if (node === undefined || readiness === undefined || held === undefined) return undefined;
  return { node, readiness, isHeld: held === 'held' };
}

/** Spreads the registrations over the nodes (rendezvous hashing): few move when a node comes or goes. */
const scoreOf = (id: string, node: string): string => createHash('sha256').update(`${node} ${id}`).digest('base64url');

/** The node that shall hold a registration; undefined: none can. */
function chosen(id: string, offers: readonly Offer[]): string | undefined {
  const [first] = offers
    .map(({ node, readiness }) => ({ node, rank: ranks.indexOf(readiness), score: scoreOf(id, node) }))
    .filter(({ rank }) => rank > 0)
    .sort((one, other) => other.rank - one.rank || (one.score < other.score ? -1 : 1));
  return first?.node;
}

type RegistrationHoldersOptions = {
  /** This node. */
  node: string;
  states: Pick<SharedStates, 'tell' | 'parts'>;
  /** Whether this node hears the others. */
  isConnected(): boolean;
};

/** The registrations of this node, from the view of the cluster. */
export type ClusterRegistrations = RegistrationHolders & {
  /** How many this node holds. */
  readonly size: number;
  /** What another node tells about a registration has changed. */
  heard(id: string): void;
  /** The other nodes are known, or were waited for. Before, this node keeps what it had and takes nothing. */
  begin(): void;
  enter(readiness: Readiness): void;
  /** The others are heard again: one that has ended since may have held what this node holds. */
  reconnected(): void;
  /** The process of a node has ended; its states are dropped later. */
  gone(node: string): void;
  /** A node is heard. */
  back(node: string): void;
  /** Whether the process of a node has ended. */
  isGone(node: string): boolean;
};

/** A registration that is configured here. */
type Own = {
  /** The registrar knows of it, or is asked. */
  isHeld: boolean;
  /** Whether this node holds it, as its chart was told. */
  isHere: boolean;
  /** Other nodes that hold it as well. */
  rivals: readonly string[];
};

export const createRegistrationHolders = (options: RegistrationHoldersOptions): ClusterRegistrations =>
  new Holders(options);

class Holders implements ClusterRegistrations {
  readonly #options: RegistrationHoldersOptions;
  readonly #own = new Map<string, Own>();
  readonly #gone = new Set<string>();
  #readiness: Readiness = 'ready';
  #hasBegun = false;
  #isAlone = false;
  #changed = (_id: string, _isHeldHere: boolean): void => {};
  #moved = (_id: string): void => {};

  constructor(options: RegistrationHoldersOptions) {
    this.#options = options;
  }

  get size(): number {
    return [...this.#own.values()].filter(({ isHeld }) => isHeld).length;
  }

  onChanged(listener: (id: string, isHeldHere: boolean) => void): void {
    this.#changed = listener;
  }

  onMoved(listener: (id: string) => void): void {
    this.#moved = listener;
  }

  offer(id: string, isHeld: boolean): boolean {
    const known = this.#own.get(id);
    if (known) return known.isHere;
    const own: Own = { isHeld, isHere: isHeld, rivals: [] };
    this.#own.set(id, own);
    const others = this.#others(id);
    own.rivals = heldBy(others);
    if (this.#hasBegun) own.isHere = this.#isHere(id, own, others);
    own.isHeld ||= own.isHere;
    this.#tell(id, own);
    return own.isHere;
  }

  withdraw(id: string): void {
    if (this.#own.delete(id)) this.#options.states.tell(registrationPrefix + id, null);
  }

  tell(id: string, isHeld: boolean): void {
    const own = this.#own.get(id);
    if (!own || own.isHeld === isHeld) return;
    own.isHeld = isHeld;
    this.#tell(id, own);
    // It may have been given up because another node was there, which is gone.
    this.heard(id);
  }

  holderOf(id: string): string | undefined {
    if (this.#own.get(id)?.isHeld) return this.#options.node;
    return heldBy(this.#others(id))[0];
  }

  heard(id: string): void {
    const own = this.#own.get(id);
    if (!own) return;
    const others = this.#others(id);
    const { rivals: before, isHere: wasHere } = own;
    own.rivals = heldBy(others);
    const isFreed = before.some((node) => !own.rivals.includes(node));
    if (this.#hasBegun) own.isHere = this.#isHere(id, own, others);
    // The registrar may have kept the contact of the other node alone.
    if (own.isHere !== wasHere || (own.isHere && isFreed)) this.#changed(id, own.isHere);
    if (isFreed || own.rivals.length > before.length) this.#moved(id);
  }

  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    // Without the others it is on its own.
    this.#isAlone = !this.#options.isConnected();
    this.#tellAll();
    this.#isAlone = false;
  }

  enter(readiness: Readiness): void {
    if (this.#readiness === readiness) return;
    this.#readiness = readiness;
    this.#tellAll();
  }

  gone(node: string): void {
    this.#gone.add(node);
    this.#review();
  }

  back(node: string): void {
    if (this.#gone.delete(node)) this.#review();
  }

  readonly isGone = (node: string): boolean => this.#gone.has(node);

  reconnected(): void {
    for (const [id, { isHere }] of [...this.#own]) {
      this.heard(id);
      if (isHere && this.#own.get(id)?.isHere) this.#changed(id, true);
    }
  }

  #tellAll(): void {
    for (const [id, own] of this.#own) this.#tell(id, own);
    this.#review();
  }

  #review(): void {
    for (const id of [...this.#own.keys()]) this.heard(id);
  }

  #tell(id: string, { isHeld }: Own): void {
    const { node, states } = this.#options;
    // Nobody gives up a registration for a node that does not take it yet.
    const readiness = this.#hasBegun ? this.#readiness : 'isolated';
    states.tell(registrationPrefix + id, writeOffer({ node, readiness, isHeld }));
  }

  /** What the other nodes tell that live. */
  #others(id: string): Offer[] {
    return this.#options.states
      .parts(registrationPrefix + id)
      .map(readOffer)
      .filter((offer) => offer !== undefined)
      .filter(({ node }) => !this.#gone.has(node));
  }

  /** Whether this node is to hold it now: it is chosen, and has it, or knows that no other node has it. */
  #isHere(id: string, { isHeld, isHere }: Own, others: readonly Offer[]): boolean {
    const { node } = this.#options;
    if (chosen(id, [...others, { node, readiness: this.#readiness, isHeld }]) !== node) return false;
    return isHere || (heldBy(others).length === 0 && (this.#isAlone || this.#options.isConnected()));
  }
}

const heldBy = (offers: readonly Offer[]): string[] => offers.filter(({ isHeld }) => isHeld).map(({ node }) => node);
