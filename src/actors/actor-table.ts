type Ending = { send(event: { type: 'system.closing' }): void };

/** Actors by id, in the order of their start. All of them end when the system stops. */
export class ActorTable<A extends Ending> extends Map<string, A> {
  #emptied: (() => void) | undefined;

  override delete(id: string): boolean {
    const wasThere = super.delete(id);
    if (this.size === 0) this.#emptied?.();
    return wasThere;
  }

  /** Ends all actors. Resolves when the last one has ended. */
  async close(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#emptied = resolve;
    });
    for (const actor of [...this.values()]) actor.send({ type: 'system.closing' });
    if (this.size > 0) await ended;
  }
}
