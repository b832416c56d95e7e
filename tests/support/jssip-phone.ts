import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** What a page does with JsSIP, as `phone` does with SIP.js. */
const script = `
globalThis.jsPhone = {
  states: [],
  options: { mediaConstraints: { audio: true, video: false }, pcConfig: { iceServers: [] } },
  async start(at, name, secret) {
    this.agent = new JsSIP.UA({
      sockets: [new JsSIP.WebSocketInterface('ws://' + at)],
      uri: 'sip:' + name + '@' + at, password: secret, session_timers: false,
    });
    this.agent.on('newRTCSession', ({ originator, session }) => {
      this.follow(session);
      if (originator === 'remote') session.answer(this.options);
    });
    const registered = new Promise((resolve) => this.agent.on('registered', resolve));
    this.agent.start();
    await registered;
  },
  follow(call) {
    this.call = call;
    call.on('confirmed', () => {
      this.states.push('Established');
      this.listen(call);
    });
    for (const end of ['ended', 'failed']) call.on(end, () => this.states.push('Terminated'));
  },
  listen(call) { ears.listen(new MediaStream([call.connection.getReceivers()[0].track])); },
  /** Calls with an offer without candidates, and tells them by INFO once the call is answered (RFC 8840). */
  trickle(target) {
    const call = this.agent.call(target, this.options);
    let offer = '';
    call.on('sdp', (told) => {
      if (offer !== '' || told.type !== 'offer') return;
      offer = told.sdp;
      told.sdp = offer.replaceAll(/^a=(candidate:.*|end-of-candidates)\\r\\n/gm, '');
    });
    call.on('confirmed', () => {
      const lines = offer.match(/^(a=(ice-ufrag|ice-pwd|candidate|mid):|m=).*\\r\\n/gm);
      call.sendInfo('application/trickle-ice-sdpfrag', lines.join('') + 'a=end-of-candidates\\r\\n', {
        extraHeaders: ['Info-Package: trickle-ice', 'Content-Disposition: Info-Package'],
      });
    });
  },
  restart() { return new Promise((resolve) => this.call.renegotiate({ rtcOfferConstraints: { iceRestart: true } }, resolve)); },
  /** A check of the server has come. */
  async checked() {
    const report = await this.call.connection.getStats();
    return [...report.values()].some(({ type, requestsReceived }) => type === 'candidate-pair' && requestsReceived > 0);
  },
  dial(target) { this.agent.call(target, this.options); },
  hum(hertz) { return this.call.connection.getSenders()[0].replaceTrack(ears.tone(hertz)); },
};
`;

/** JsSIP, unmodified, for pages, and what they do with it (`jsPhone`). */
export async function jsSipScripts(): Promise<string[]> {
  const { outputFiles } = await build({
    stdin: {
      contents: "import JsSIP from 'jssip'; globalThis.JsSIP = JsSIP;",
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
    },
    ...{ bundle: true, format: 'iife', write: false, logLevel: 'error' },
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  return [outputFiles[0]!.text, script];
}
