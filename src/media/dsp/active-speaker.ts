/** When the floor changes hands. */
type ActiveSpeakerOptions = {
  /** Mean level from which somebody counts as speaking at all, 0 to 32,768. */
  thresholdLevel: number;
  /** How much louder another must be than the one who has the floor: 2 = 6 dB. */
  louder: number;
  /** How long another must have been louder, in ms. */
  takesMs: number;
  /** How long the floor is kept in silence when nobody else speaks, in ms; Infinity = until somebody does. */
  keepsMs: number;
};

/** What suits a conference: a cough takes no floor, an interruption of half a second does. */
const defaultActiveSpeakerOptions: Readonly<ActiveSpeakerOptions> = {
  thresholdLevel: 160,
  louder: 2,
  takesMs: 400,
  keepsMs: Number.POSITIVE_INFINITY,
};

/** Time over which levels are smoothed, in ms. */
const smoothingMs = 150;

type Speaker = { level: number; heard: number; louderMs: number };

/** Who of many has the floor: the loudest, but not each moment another. */
export class ActiveSpeaker<Id> {
  readonly #options: ActiveSpeakerOptions;
  readonly #speakers = new Map<Id, Speaker>();
  #current: Id | undefined;
  #quietMs = 0;

  constructor(options: Partial<ActiveSpeakerOptions> = {}) {
    this.#options = { ...defaultActiveSpeakerOptions, ...options };
  }

  /** Who has the floor now; undefined = nobody. */
  get current(): Id | undefined {
    return this.#current;
  }

  /** Takes the mean level of a member's frame; who is not heard in a tick was silent. */
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

  /** Gives it to the loudest of those who have been louder for long enough, or at once when it is free. */
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
