/** When the floor changes hands. */
type ActiveSpeakerOptions = {
  /** Mean level of speech, 0 to 32,768. */
  thresholdLevel: number;
  /** How much louder another speaker must be than the active one: 2 = 6 dB. */
  louder: number;
  /** How long another must have been louder, in ms. */
  takesMs: number;
  /** Time that a silent speaker stays active if no other speaks, in ms; Infinity: until another speaks. */
  keepsMs: number;
};

/** Suitable for conferences: a cough does not count, an interruption of half a second does. */
const defaultActiveSpeakerOptions: Readonly<ActiveSpeakerOptions> = {
  thresholdLevel: 160,
  louder: 2,
  takesMs: 400,
  keepsMs: Number.POSITIVE_INFINITY,
};

/** Time over which levels are smoothed, in ms. */
const smoothingMs = 150;

type Speaker = { level: number; heard: number; louderMs: number };

/** The active speaker: the loudest, with hysteresis. */
export class ActiveSpeaker<Id> {
  readonly #options: ActiveSpeakerOptions;
  readonly #speakers = new Map<Id, Speaker>();
  #current: Id | undefined;
  #quietMs = 0;

  constructor(options: Partial<ActiveSpeakerOptions> = {}) {
    this.#options = { ...defaultActiveSpeakerOptions, ...options };
  }

  /** The active speaker; undefined if there is none. */
  get current(): Id | undefined {
    return this.#current;
  }

  /** Takes the mean level of a member's frame. A member without a frame in a tick is silent. */
  hear(id: Id, level: number): void {
    const speaker = this.#speakers.get(id);
    if (speaker) speaker.heard = level;
    else this.#speakers.set(id, { level: 0, heard: level, louderMs: 0 });
  }

  /** A member is gone; the floor is free when it was the member's. */
  leave(id: Id): void {
    this.#speakers.delete(id);
    if (id === this.#current) this.#current = undefined;
  }

  /** Ends a tick of `ms`. @returns whether the floor has changed hands. */
  tick(ms: number): boolean {
    const before = this.#current;
    const share = Math.min(1, ms / smoothingMs);
    for (const speaker of this.#speakers.values()) {
      speaker.level += (speaker.heard - speaker.level) * share;
      speaker.heard = 0;
    }
    this.#free(ms);
    this.#take(ms);
    return this.#current !== before;
  }

  /** Gives the floor up after a long silence. */
  #free(ms: number): void {
    const current = this.#current === undefined ? undefined : this.#speakers.get(this.#current);
    this.#quietMs = current && current.level < this.#options.thresholdLevel ? this.#quietMs + ms : 0;
    if (this.#quietMs > this.#options.keepsMs) this.#current = undefined;
  }

  /** Chooses the loudest member that was louder for long enough, or without delay if there is no active speaker. */
  #take(ms: number): void {
    const { thresholdLevel, louder, takesMs } = this.#options;
    const current = this.#current === undefined ? undefined : this.#speakers.get(this.#current);
    const needed = Math.max(thresholdLevel, (current?.level ?? 0) * louder);
    let best: Speaker | undefined;
    for (const [id, speaker] of this.#speakers) {
      if (speaker === current) continue;
      speaker.louderMs = speaker.level >= needed ? speaker.louderMs + ms : 0;
      const due = speaker.louderMs > 0 && (!current || speaker.louderMs >= takesMs);
      if (!due || (best && best.level >= speaker.level)) continue;
      best = speaker;
      this.#current = id;
    }
    if (best) for (const speaker of this.#speakers.values()) speaker.louderMs = 0;
  }
}
