import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type AwayPolicyEvent, type AwayPolicyRun, awayPolicyTable } from '../machines/away-policy.ts';
import { TableRun, type TableWatch } from '../machines/table-run.ts';
import type { AwayPolicyDump } from './dumps.ts';

/** Policy for the channels of an application whose connection stays away. */
export type AwayPolicy = {
  /** Time that the connection may be away, in ms. */
  afterMs: number;
  /** They are kept as they are, hung up, go on in the dialplan, or go to another application. */
  action: 'keep' | 'hangup' | 'continue' | 'move';
  /** Where they are moved to. */
  moveTo?: string | undefined;
  /** Before the action they hear music of a class for so long, in ms. Left out, they do not. */
  music?: { class: string; forMs: number } | undefined;
};

type AwayPoliciesOptions = {
  /** Sees the charts of policies; left out: nobody. */
  tables?: TableWatch | undefined;
  clock: Clock;
  log: Logger;
  /** The policy of an application; undefined for one whose channels are kept. */
  policyOf: (application: string) => AwayPolicy | undefined;
  /** Ids of the channels that an application controls. */
  channelsOf: (application: string) => readonly string[];
  /** It is to be known that the channel has lost its application. */
  lost: (channelId: string) => void;
  hangup: (channelId: string) => void;
  /** Lets a channel go on in the dialplan. @throws AriError when it cannot. */
  goOn: (channelId: string) => void;
  /** Lets a channel enter another application. @throws AriError when it cannot. */
  move: (channelId: string, application: string) => void;
  /** Lets a channel hear music of a class; undefined ends it. @throws AriError when it cannot. */
  play: (channelId: string, musicClass: string | undefined) => void;
  /** Hears that what {@link AwayPolicies.dump} gives of an application has changed. */
  saved?: (application: string) => void;
  /** Time that applications have at least to come back to another process, in ms. */
  returnMs?: number;
};

/** Follows applications whose connection is away. */
export interface AwayPolicies {
  /** The connection of an application has gone, or is there again. */
  changed(application: string, present: boolean): void;
  /** The applications that are awaited. */
  dump(): AwayPolicyDump[];
  /** Goes on to await them, by their present policies. Their channels are restored already. */
  restore(dumps: readonly AwayPolicyDump[]): void;
  close(): void;
}

/** An application that is awaited, or about to be. */
class Awaited {
  readonly run: AwayPolicyRun;
  readonly #clock: Clock;
  readonly #policy: AwayPolicy;
  readonly #over: (event: AwayPolicyEvent) => void;
  /** Its channels that hear music because of that. */
  readonly #entertained: Set<string>;
  #timer: { handle: unknown; dueAt: number } = { handle: undefined, dueAt: 0 };

  /**
   * @param asked.from what another process has saved: the time goes on, and is not over before {@link
   * AwayPoliciesOptions.returnMs}. @param effects act on its channels; `over` hears that its time is over.
   */
  constructor(
    options: Pick<AwayPoliciesOptions, 'clock' | 'returnMs' | 'tables' | 'play'>,
    asked: { application: string; policy: AwayPolicy; from?: AwayPolicyDump | undefined },
    effects: { each(act: (channel: string) => void): void; release(): void; over(event: AwayPolicyEvent): void },
  ) {
    const { application, policy, from } = asked;
    const { clock, play, returnMs = 0, tables } = options;
    const entertained = new Set(from?.entertained);
    this.#clock = clock;
    this.#policy = policy;
    this.#over = effects.over;
    this.#entertained = entertained;
    this.run = new TableRun(
      awayPolicyTable,
      from?.state ?? 'idle',
      {
        startTimer: () =>
          this.#waitUntil(clock.now() + (this.run.state === 'away' ? policy.afterMs : (policy.music?.forMs ?? 0))),
        stopTimer: () => clock.clearTimeout(this.#timer.handle),
        startMusic: () =>
          effects.each((id) => {
            play(id, policy.music?.class);
            entertained.add(id);
          }),
        stopMusic: () => effects.each((id) => entertained.delete(id) && play(id, undefined)),
        releaseChannels: effects.release,
      },
      { watch: tables, id: application },
    );
    if (from) this.#waitUntil(Math.max(clock.now() + returnMs, from.dueAt));
  }

  dump(application: string): AwayPolicyDump {
    const { dueAt } = this.#timer;
    const state = this.run.state === 'entertained' ? 'entertained' : 'away';
    return { application, state, dueAt, entertained: [...this.#entertained] };
  }

  #waitUntil(dueAt: number): void {
    const type = this.#policy.music && this.run.state === 'away' ? 'music.due' : 'time.over';
    const ms = dueAt - this.#clock.now();
    this.#timer = { handle: this.#clock.setTimeout(() => this.#over({ type }), ms), dueAt };
  }
}

/** The policy has ended: its music stops. */
const noPolicy: AwayPolicy = { afterMs: 0, action: 'keep' };

/** Creates the timers that apply away policies. */
export function createAwayPolicies(options: AwayPoliciesOptions): AwayPolicies {
  const { log, policyOf, channelsOf, lost, hangup, goOn, move, saved = () => {} } = options;
  /** Those that wait, by name. */
  const awaited = new Map<string, Awaited>();

  const each = (application: string, act: (channel: string) => void): void => {
    for (const id of channelsOf(application)) {
      try {
        act(id);
      } catch (error) {
        log.warn({ application, channel: id, error }, 'the away policy cannot be applied to a channel');
      }
    }
  };

  const release = (application: string, { action, moveTo }: AwayPolicy): void => {
    const channels = channelsOf(application).length;
    if (channels === 0) return;
    log.warn({ application, channels, action }, 'an application did not reconnect in time');
    each(application, (id) => {
      lost(id);
      if (action === 'hangup') hangup(id);
      else if (action === 'continue') goOn(id);
      else if (action === 'move' && moveTo !== undefined) move(id, moveTo);
    });
  };

  const begin = (application: string, policy: AwayPolicy, from?: AwayPolicyDump): Awaited => {
    const mine: Awaited = new Awaited(
      options,
      { application, policy, from },
      {
        each: (act) => each(application, act),
        release: () => release(application, policy),
        over: (event) => send(application, mine, event),
      },
    );
    return mine;
  };

  const send = (application: string, mine: Awaited, event: AwayPolicyEvent): void => {
    mine.run.send(event);
    if (mine.run.state === 'away' || mine.run.state === 'entertained') awaited.set(application, mine);
    else if (awaited.get(application) === mine) awaited.delete(application);
    saved(application);
  };

  return {
    changed(application, present) {
      const mine = awaited.get(application);
      if (present) return mine && send(application, mine, { type: 'application.back' });
      const policy = policyOf(application);
      if (!policy || (policy.action === 'keep' && !policy.music))
        return mine && send(application, mine, { type: 'application.kept' });
      // The wait begins again, because the policy may have changed.
      if (mine) send(application, mine, { type: 'application.kept' });
      send(application, begin(application, policy), { type: 'application.lost' });
    },
    dump: () => [...awaited].map(([application, mine]) => mine.dump(application)),
    restore(dumps) {
      for (const dump of dumps)
        awaited.set(dump.application, begin(dump.application, policyOf(dump.application) ?? noPolicy, dump));
    },
    close() {
      for (const [application, mine] of awaited) send(application, mine, { type: 'system.closing' });
    },
  };
}
