import type {
  MediaSession,
  Mix,
  MixCommand,
  MixMember,
  MixReport,
  PlayHandle,
  PlayItem,
  PlayReport,
  RecordHandle,
  RecordReport,
  RecordRequest,
} from '../telephony/media.ts';
import type { EngineReport } from './protocol.ts';
import { Plays, playHandle, Recordings, recordHandle } from './proxy-handles.ts';
import type { SessionProxy } from './session-proxy.ts';
import type { Linked, ThreadLink } from './thread-link.ts';

export type MixProxyOptions = {
  id: string;
  kind: 'mixing' | 'holding';
  told: (report: MixReport) => void;
  /** The session that a leg's media stands for; undefined when it is not one of the plane, or over. */
  sessionOf: (session: MediaSession) => SessionProxy | undefined;
  /** Hears that the mix is over, once. */
  ended: (mix: MixProxy) => void;
};

const mixClosed = 'the mix was closed';

/** The main thread's side of a mix. */
export class MixProxy implements Mix, Linked {
  readonly id: string;
  readonly #options: MixProxyOptions;
  readonly #members = new Map<SessionProxy, MixMember>();
  readonly #plays = new Plays();
  readonly #recordings = new Recordings();
  #music: string | undefined;
  #item: { play: number; item: PlayItem } | undefined;
  #link: ThreadLink | undefined;
  #number = 0;
  #ended = false;

  constructor(options: MixProxyOptions, link: ThreadLink | undefined) {
    this.id = options.id;
    this.#options = options;
    this.#link = link;
    this.#open();
  }

  get thread(): ThreadLink | undefined {
    return this.#link;
  }

  join(session: MediaSession, member: MixMember): void {
    const proxy = this.#options.sessionOf(session);
    const number = proxy?.audible();
    if (!proxy || number === undefined || this.#ended) return;
    this.#members.set(proxy, member);
    this.#send({ type: 'join', session: number, member });
  }

  change(session: MediaSession, member: MixMember): void {
    const proxy = this.#options.sessionOf(session);
    if (proxy && this.#members.has(proxy)) this.join(session, member);
  }

  leave(session: MediaSession): void {
    const proxy = this.#options.sessionOf(session);
    const number = proxy?.audible();
    if (!proxy || !this.#members.delete(proxy) || number === undefined) return;
    this.#send({ type: 'leave', session: number });
  }

  /** A session is over, or in another mix now. */
  forget(session: SessionProxy): void {
    this.#members.delete(session);
  }

  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle {
    const play = this.#plays.add(told);
    this.#item = { play, item };
    this.#send({ type: 'play', play, item });
    if (this.#ended || !this.#link) this.#plays.failAll(mixClosed);
    return playHandle(this.#plays, play, (command) => this.#send(command));
  }

  music(musicClass: string | undefined): void {
    this.#music = musicClass;
    this.#send({ type: 'music', musicClass });
  }

  record(request: RecordRequest, told: (report: RecordReport) => void): RecordHandle {
    const recording = this.#recordings.add(told);
    this.#send({ type: 'record', recording, request });
    if (this.#ended || !this.#link) this.#recordings.failAll(mixClosed);
    return recordHandle(this.#recordings, recording, (command) => this.#send(command));
  }

  close(): void {
    if (this.#ended) return;
    this.#send({ type: 'close' });
    this.#end(mixClosed);
  }

  heard(report: EngineReport): void {
    switch (report.type) {
      case 'mixPlayed':
        if (this.#item?.play === report.play) this.#item = undefined;
        this.#plays.end(report.play, report.report);
        return;
      case 'mixRecorded':
        this.#recordings.tell(report.recording, report.report);
        return;
      case 'mixTalking': {
        const { talking, durationMs } = report;
        const session = this.#idOf(report.session);
        if (session === undefined) return;
        this.#options.told({ type: 'mix.talking', session, talking, ...(talking ? {} : { durationMs }) });
        return;
      }
      case 'activeSpeaker':
        this.#options.told({ type: 'mix.activeSpeaker', session: this.#idOf(report.session) });
        return;
      case 'mixFaulted':
        this.lost(report.reason);
        return;
    }
  }

  /** It is gone: everybody concerned is told, in a later turn. */
  lost(reason: string): void {
    if (this.#ended) return;
    const link = this.#link;
    this.#end(reason);
    link?.soon(() => this.#options.told({ type: 'mix.lost', reason }));
  }

  /** Lives in `link` from now on, with the members that live there. What it played begins again. */
  moveTo(link: ThreadLink): void {
    if (this.#ended) return;
    this.#link = link;
    this.#open();
    for (const [proxy, member] of this.#members) {
      const session = proxy.audible();
      if (session !== undefined) this.#send({ type: 'join', session, member });
    }
    if (this.#music !== undefined) this.#send({ type: 'music', musicClass: this.#music });
    if (this.#item) this.#send({ type: 'play', ...this.#item });
    this.#recordings.failAll('the media thread ended');
  }

  #open(): void {
    if (!this.#link) return;
    this.#number = this.#link.addMix(this);
    this.#link.send({ type: 'openMix', mix: this.#number, kind: this.#options.kind });
  }

  #send(command: MixCommand): void {
    if (!this.#ended) this.#link?.send({ type: 'mix', mix: this.#number, command });
  }

  #idOf(number: number | undefined): string | undefined {
    for (const proxy of this.#members.keys()) if (proxy.audible() === number) return proxy.id;
    return undefined;
  }

  #end(reason: string): void {
    this.#ended = true;
    this.#members.clear();
    this.#link?.removeMix(this.#number);
    this.#plays.failAll(reason);
    this.#recordings.failAll(reason);
    this.#options.ended(this);
  }
}
