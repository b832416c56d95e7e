import type { Server } from './server.ts';

/** `ringing` until the far side answers, or until we do. */
export type CallState = 'ringing' | 'up' | 'ended';

/** How a call is made; see {@link Phone}. */
type CallParts = {
  server: Server;
  /** Names the call at the server, once that is known. */
  id: string;
  caller: { name: string; number: string };
  /** Settles what is offered, and with it the query of the request. */
  iceServers: RTCIceServer[];
  /** What is asked of the microphone and the camera; left out: nothing, the call only listens. */
  media: MediaStreamConstraints | undefined;
  /** Pictures that it can show at once. */
  screens: number;
  /** The sizes in which the camera is sent; empty: one. */
  encodings: readonly RTCRtpEncodingParameters[];
  ended: (call: Call) => void;
};

/** One call. Its audio is in `stream`: give it to an `<audio autoplay>`, or to a `<video autoplay>` where it has video. */
export class Call {
  /** Who calls; empty for calls that the page makes. */
  readonly caller: { name: string; number: string };
  /** What the far side says and shows. In bridges that show several members there is a track of video for each. */
  readonly stream = new MediaStream();
  readonly connection: RTCPeerConnection;
  /** Hears every change of `state`. */
  onchange: ((call: Call) => void) | undefined;
  readonly #parts: CallParts;
  #id: string;
  #state: CallState = 'ringing';
  #cause = 16;
  #local: MediaStream | undefined;
  /** Pressed, and not yet given to the connection. */
  #keys = '';
  /** One offer at a time. */
  #changes: Promise<unknown> = Promise.resolve();

  constructor(parts: CallParts) {
    this.#parts = parts;
    this.#id = parts.id;
    this.caller = parts.caller;
    this.connection = new RTCPeerConnection({ iceServers: parts.iceServers, bundlePolicy: 'max-bundle' });
    this.connection.ontrack = ({ track }) => this.stream.addTrack(track);
    this.connection.oniceconnectionstatechange = () => {
      if (this.connection.iceConnectionState === 'disconnected') this.restart().catch(() => {});
    };
    this.connection.onconnectionstatechange = () => {
      this.#sendKeys();
      if (this.connection.connectionState === 'failed') this.restart().catch(() => this.hangup());
    };
  }

  /** The server's name of the call. */
  get id(): string {
    return this.#id;
  }

  get state(): CallState {
    return this.#state;
  }

  /** The Q.850 cause of its end. */
  get cause(): number {
    return this.#cause;
  }

  /** What the microphone and the camera give. */
  get local(): MediaStream | undefined {
    return this.#local;
  }

  /** Answers a call to this page. @throws Refused when another page has it, or it has ended. */
  async answer(): Promise<MediaStream> {
    await this.begin(`/webrtc?call=${encodeURIComponent(this.#id)}`);
    return this.stream;
  }

  /** Sends the first offer. For {@link Phone}. */
  async begin(path: string): Promise<void> {
    try {
      const { media, screens, encodings } = this.#parts;
      this.#local = media && (await navigator.mediaDevices.getUserMedia(media));
      for (const track of this.#local?.getTracks() ?? [])
        if (track.kind === 'video' && encodings.length > 0)
          this.connection.addTransceiver(track, { streams: [this.#local!], sendEncodings: [...encodings] });
        else this.connection.addTrack(track, this.#local!);
      if (!this.#local) this.connection.addTransceiver('audio', { direction: 'recvonly' });
      for (let shown = this.#local?.getVideoTracks().length ?? 0; shown < screens; shown++)
        this.connection.addTransceiver('video', { direction: 'recvonly' });
      await this.#offer('POST', path);
      if (this.#state === 'ended') await this.#parts.server.ask('DELETE', `/webrtc/sessions/${this.#id}`);
    } catch (error) {
      this.finish(41);
      throw error;
    }
  }

  /** Puts the far side on hold, or takes it back. */
  async hold(on: boolean): Promise<void> {
    for (const each of this.connection.getTransceivers())
      if (each.sender.track) each.direction = on ? 'sendonly' : 'sendrecv';
      else each.direction = on ? 'inactive' : 'recvonly';
    await this.#again();
  }

  /** Silences the microphone, or ends that. */
  mute(on: boolean): void {
    for (const track of this.#local?.getAudioTracks() ?? []) track.enabled = !on;
  }

  /**
   * Presses keys: `0-9`, `*`, `#`, `A-D`; a comma is a pause of two seconds.
   * They are sent one after the other, as soon as the connection can carry them.
   * @throws SyntaxError for another character
   */
  press(keys: string): void {
    if (!/^[0-9A-D*#,]*$/i.test(keys)) throw new SyntaxError('Keys are 0-9, *, #, A-D, and a comma for a pause.');
    this.#keys += keys;
    this.#sendKeys();
  }

  /** Looks for another way to the server, as after a change of the network. It happens by itself when checks fail. */
  async restart(): Promise<void> {
    this.connection.restartIce();
    await this.#again();
  }

  /** Hangs up, or refuses a call to this page. */
  hangup(): void {
    if (this.#state === 'ended') return;
    const path = this.#id === '' ? undefined : `/webrtc/sessions/${this.#id}`;
    this.finish(16);
    // The server may have ended it at the same time.
    if (path) this.#parts.server.ask('DELETE', path).catch(() => {});
  }

  /** The server says that it was accepted. For {@link Phone}. */
  accept(): void {
    // A call to this page that another page has answered.
    if (this.connection.signalingState === 'stable' && !this.connection.remoteDescription) this.finish(26);
    else if (this.#state === 'ringing') this.#enter('up');
  }

  /** It is over. For {@link Phone}. */
  finish(cause: number): void {
    if (this.#state === 'ended') return;
    this.#cause = cause;
    for (const track of this.#local?.getTracks() ?? []) track.stop();
    this.connection.close();
    this.#parts.ended(this);
    this.#enter('ended');
  }

  #enter(state: CallState): void {
    this.#state = state;
    this.onchange?.(this);
  }

  /**
   * Sends what was pressed once there is a connection: before, it is lost.
   * Keys that the sender has not played yet are given again, because a new list replaces theirs (W3C webrtc, 7.2).
   */
  #sendKeys(): void {
    const dtmf = this.connection.getSenders().find((each) => each.dtmf)?.dtmf;
    if (this.#keys === '' || this.connection.connectionState !== 'connected' || !dtmf) return;
    // Browsers can play keys some milliseconds after the connection is made, and tell nobody.
    if (!dtmf.canInsertDTMF) setTimeout(() => this.#sendKeys(), 20);
    else {
      dtmf.insertDTMF(dtmf.toneBuffer + this.#keys);
      this.#keys = '';
    }
  }

  #again(): Promise<void> {
    const next = this.#changes.then(async () => {
      if (this.#state !== 'ended') await this.#offer('PATCH', `/webrtc/sessions/${this.#id}`);
    });
    this.#changes = next.catch(() => {});
    return next;
  }

  /** A lite server finds us by our checks, unless a TURN server lets none through without. A full one checks our candidates, too. */
  async #offer(method: string, path: string): Promise<void> {
    const { connection } = this;
    await connection.setLocalDescription();
    const response = await this.#parts.server.ask(method, path, connection.localDescription?.sdp ?? '');
    // Candidates may be complete already, and are sent to the session.
    this.#id = response.headers.get('location')?.split('/').pop() ?? this.#id;
    const sdp = await response.text();
    await connection.setRemoteDescription({ type: 'answer', sdp });
    if (sdp.includes(' typ relay') || !sdp.includes('a=ice-lite')) {
      if (connection.iceGatheringState === 'complete') this.#trickle();
      else connection.onicegatheringstatechange = () => this.#trickle();
    }
  }

  /** Tells the server our candidates once they are complete (RFC 8840). */
  #trickle(): void {
    const { iceGatheringState, localDescription } = this.connection;
    if (iceGatheringState !== 'complete' || this.#id === '' || this.#state === 'ended') return;
    const lines = (localDescription?.sdp ?? '').split('\r\n');
    const [, first = ''] = (localDescription?.sdp ?? '').split(/(?=^m=)/m);
    const said = [...lines.filter((line) => /^a=ice-(?:ufrag|pwd):/.test(line)).slice(0, 2), ...first.split('\r\n')];
    const fragment = said.filter((line) => /^(?:m=|a=(?:ice-ufrag|ice-pwd|mid|candidate):)/.test(line));
    // Without it, it may still find us by our address.
    this.#parts.server.ask('PATCH', `/webrtc/sessions/${this.#id}`, `${fragment.join('\r\n')}\r\n`).catch(() => {});
  }
}
