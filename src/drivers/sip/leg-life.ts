import { type LegEffect, type LegEvent, type LegState, legTable } from '../../machines/leg.ts';

/** The events of the chart that a leg's effect may come from. */
type Causes = {
  deflectCall: 'deflect';
  referCall: 'refer';
  refuseCall: 'media.lost';
  endCall: 'hangup' | 'release';
  tellHungUp: 'call.ended' | 'media.lost' | 'media.silent' | 'deflect';
  tellForwarded: 'call.forwarded';
};
type EventOf<Effect> = Extract<LegEvent, { type: Effect extends keyof Causes ? Causes[Effect] : string }>;

type LegEffects = { readonly [Effect in LegEffect]: (event: EventOf<Effect>) => void };

/** Runs the chart of a leg: takes the next state, then performs the effects in order. */
export class LegLife {
  #state: LegState;
  readonly #effects: LegEffects;

  constructor(state: LegState, effects: LegEffects) {
    this.#state = state;
    this.#effects = effects;
  }

  get state(): LegState {
    return this.#state;
  }

  takes(type: LegEvent['type']): boolean {
    return legTable[this.#state][type] !== undefined;
  }

  /** @returns false if the chart ignores the event in this state. */
  send(event: LegEvent): boolean {
    const row = legTable[this.#state][event.type];
    if (!row) return false;
    this.#state = row.to;
    for (const effect of row.effects) (this.#effects[effect] as (event: LegEvent) => void)(event);
    return true;
  }
}
