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
import type { VideoMode } from '../telephony/video.ts';
import { type Membership, meet } from './pipe-proxy.ts';
import type { EngineReport } from './protocol.ts';
import { Plays, playHandle, Recordings, recordHandle } from './proxy-handles.ts';
import type { SessionProxy } from './session-proxy.ts';
import type { Linked, ThreadLink } from './thread-link.ts';
import { MixVideo } from './video/mix-video.ts';

type MixProxyOptions = {
  id: string;
  kind: 'mixing' | 'holding';
  told: (report: MixReport) => void;
  /** The session that a leg's media stands for; undefined when it is not one of the plane, or over. */
  sessionOf: (session: Pick<MediaSession, 'id'>) => SessionProxy | undefined;
  /** A thread for it, near what it will join if possible; undefined once the plane is closed. */
  thread: (near?: ThreadLink) => ThreadLink | undefined;
  /** Octets that may wait between two threads for one member. */
  pipeBytes: number;
  /** The same of its video. */
  videoPipeBytes: number;
  /** Hears that the mix is over, once. */
  ended: (mix: MixProxy) => void;
};

const mixClosed = 'the mix was closed';

type Joined = { member: MixMember; as: Membership };

/**
 * The main thread's side of a mix. The mix lives in the thread of its first member or command; pipes connect members of
 * other threads.
 */
export class MixProxy implements Mix, Linked {
  readonly id: string;
  readonly #options: MixProxyOptions;
  readonly #members = new Map<SessionProxy, Joined>();
  readonly #plays = new Plays();
  readonly #recordings = new Recordings();
  readonly #video = new MixVideo(
    (command) => this.#send(command),
    (id) => this.#numberOf(id),
  );
  #music: string | undefined;
  #item: { play: number; item: PlayItem; position: SharedArrayBuffer } | undefined;
  #link: ThreadLink | undefined;
  #number = 0;
  #ended = false;

  constructor(options: MixProxyOptions) {
    this.id = options.id;
    this.#options = options;
  }

  get thread(): ThreadLink | undefined {
    return this.#link;
  }

  join(session: MediaSession, member: MixMember): void {
    const proxy = this.#options.sessionOf(session);
    if (!proxy || this.#ended) return;
    if (proxy.mix !== this) proxy.mix?.drop(proxy);
    const known = this.#members.get(proxy);
    if (known) {
      known.member = member;
      this.#send({ type: 'join', session: known.as.number, member });
      return;
    }
    if (proxy.audible(this.#link) === undefined) return;
    const link = this.#home(proxy.thread);
    if (link) this.#admit(proxy, member, link);
  }

  change(session: MediaSession, member: MixMember): void {
    const proxy = this.#options.sessionOf(session);
    if (proxy && this.#members.has(proxy)) this.join(session, member);
  }

  leave(session: MediaSession): void {
    const proxy = this.#options.sessionOf(session);
    if (proxy) this.drop(proxy);
  }

  /** Removes a session from the members. */
  drop(session: SessionProxy): void {
    const joined = this.#members.get(session);
    if (!joined) return;
    this.#send({ type: 'leave', session: joined.as.number });
    this.forget(session);
  }

  /** A session has ended or left. */
  forget(session: SessionProxy): void {
    this.#members.get(session)?.as.pipe?.close();
    if (this.#members.delete(session) && session.mix === this) session.mix = undefined;
    this.#video.left(session.id);
  }

  /** A member has video from now on. */
  videoOpened(session: SessionProxy): void {
    this.#members.get(session)?.as.pipe?.openVideo(this.#options.videoPipeBytes);
  }

  /** A member leaves, and joins again behind `between`, in which it is opened again. */
  rejoin(session: SessionProxy, between: () => void): void {
    const joined = this.#members.get(session);
    const link = this.#link;
    if (!joined || !link) {
      between();
      return;
    }
    this.#video.moved(() => {
      this.drop(session);
      between();
      this.#admit(session, joined.member, link);
    });
  }

  /** Threads were lost: joins members again that are in other threads now. */
  followMembers(): void {
    if (this.#ended || !this.#link) return;
    for (const [session, { member, as }] of [...this.#members]) {
      if (as.pipe ? as.pipe.isBetween(session.thread, this.#link) : session.thread === this.#link) continue;
      const link = this.#link;
      this.#video.moved(() => {
        this.drop(session);
        this.#admit(session, member, link);
      });
    }
  }

  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle {
    const play = this.#plays.add(told);
    const position = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
    new Float64Array(position)[0] = item.heardMs ?? item.offsetMs;
    this.#item = { play, item, position };
    this.#home();
    this.#send({ type: 'play', play, item, position });
    if (this.#ended || !this.#link) this.#plays.failAll(mixClosed);
    return playHandle(this.#plays, play, (command) => this.#send(command));
  }

  get positionMs(): number | undefined {
    return this.#item && new Float64Array(this.#item.position)[0];
  }

  /** As {@link SessionProxy.goOn}. */
  goOnAt(positionMs: number | undefined): void {
    if (!this.#item || positionMs === undefined) return;
    this.#item.item.heardMs = positionMs;
    new Float64Array(this.#item.position)[0] = positionMs;
  }

  music(musicClass: string | undefined): void {
    this.#music = musicClass;
    this.#home();
    this.#send({ type: 'music', musicClass });
  }

  record(request: RecordRequest, told: (report: RecordReport) => void): RecordHandle {
    const recording = this.#recordings.add(told);
    this.#home();
    this.#send(this.#recordings.order(recording, request));
    if (this.#ended || !this.#link) this.#recordings.failAll(mixClosed);
    return recordHandle(this.#recordings, recording, (command) => this.#send(command));
  }

  video(mode: VideoMode<MediaSession>): void {
    this.#video.ask({ mode: mode.mode, source: mode.mode === 'single' ? mode.source.id : undefined });
  }

  show(session: MediaSession, sources: readonly (MediaSession | undefined)[]): void {
    this.#video.show(
      session.id,
      sources.map((source) => source?.id),
    );
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
        const session = this.idOf(report.session);
        if (session === undefined) return;
        this.#options.told({ type: 'mix.talking', session, talking, ...(talking ? {} : { durationMs }) });
        return;
      }
      case 'activeSpeaker':
        this.#options.told({ type: 'mix.activeSpeaker', session: this.idOf(report.session) });
        return;
      case 'videoSource':
        this.#options.told({ type: 'mix.videoSource', session: this.idOf(report.session) });
        return;
      case 'mixFaulted':
        this.lost(report.reason);
        return;
    }
  }

  /** The mix is lost: reported to all members, in a later turn. */
  lost(reason: string): void {
    if (this.#ended) return;
    const link = this.#link;
    this.#end(reason);
    link?.soon(() => this.#options.told({ type: 'mix.lost', reason }));
  }

  /** Moves to `link`, with the members there. What it plays goes on where it was. */
  moveTo(link: ThreadLink): void {
    if (this.#ended) return;
    const members = [...this.#members];
    this.#video.moved(() => {
      for (const [session] of members) this.forget(session);
      this.#open(link);
      for (const [session, { member }] of members) this.#admit(session, member, link);
    });
    if (this.#music !== undefined) this.#send({ type: 'music', musicClass: this.#music });
    const heardMs = this.positionMs;
    if (this.#item && heardMs !== undefined)
      this.#send({ type: 'play', ...this.#item, item: { ...this.#item.item, heardMs } });
    for (const command of this.#recordings.again()) this.#send(command);
  }

  /** The thread that it lives in. Without members it moves to the thread of the next one. */
  #home(near?: ThreadLink): ThreadLink | undefined {
    const link = this.#link;
    if (this.#ended || (link && (!near || near === link || this.#isKept))) return link;
    if (link) {
      this.#send({ type: 'close' });
      link.removeMix(this.#number);
    }
    const next = near?.alive ? near : this.#options.thread();
    if (next) this.#open(next);
    return next;
  }

  get #isKept(): boolean {
    return this.#members.size > 0 || this.#music !== undefined || this.#item !== undefined || this.#recordings.underWay;
  }

  #admit(session: SessionProxy, member: MixMember, link: ThreadLink): void {
    const as = meet(session, link, this.#options.pipeBytes);
    if (!as) return;
    this.#members.set(session, { member, as });
    if (session.hasVideo) as.pipe?.openVideo(this.#options.videoPipeBytes);
    session.mix = this;
    this.#send({ type: 'join', session: as.number, member });
    this.#video.admitted(session.id);
  }

  #open(link: ThreadLink): void {
    this.#link = link;
    this.#number = link.addMix(this);
    link.send({ type: 'openMix', mix: this.#number, kind: this.#options.kind });
    this.#video.again();
  }

  #send(command: MixCommand): void {
    if (!this.#ended) this.#link?.send({ type: 'mix', mix: this.#number, command });
  }

  #numberOf(id: string): number | undefined {
    const proxy = this.#options.sessionOf({ id });
    return proxy && this.#members.get(proxy)?.as.number;
  }

  /** The id for a number in its thread. */
  idOf(number: number | undefined): string | undefined {
    for (const [proxy, { as }] of this.#members) if (as.number === number) return proxy.id;
    return undefined;
  }

  #end(reason: string): void {
    this.#ended = true;
    for (const session of [...this.#members.keys()]) this.forget(session);
    this.#link?.removeMix(this.#number);
    this.#plays.failAll(reason);
    this.#recordings.failAll(reason);
    this.#options.ended(this);
  }
}
