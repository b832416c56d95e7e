import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type Browser, chromium, type Page } from 'playwright-core';
import { patienceMs } from './waiting.ts';

/** SIP.js, unmodified, for pages. */
const library = build({
  stdin: { contents: "export * from 'sip.js'", resolveDir: fileURLToPath(new URL('../..', import.meta.url)) },
  ...{ bundle: true, format: 'iife', globalName: 'SIP', write: false, logLevel: 'error' },
});

/** What a page does with SIP.js; `phone` is there for the tests. */
const script = `
const context = new AudioContext();
const phone = {
  inviter: undefined, states: [], heard: undefined,
  async start(at, name, secret) {
    const configuration = { iceServers: [] };
    this.agent = new SIP.UserAgent({
      uri: SIP.UserAgent.makeURI('sip:' + name + '@' + at),
      transportOptions: { server: 'ws://' + at, keepAliveInterval: 0 },
      authorizationUsername: name, authorizationPassword: secret, logBuiltinEnabled: false,
      sessionDescriptionHandlerFactoryOptions: { peerConnectionConfiguration: configuration },
      delegate: { onInvite: (call) => { this.follow(call); void call.accept({ sessionDescriptionHandlerOptions: { constraints: { audio: true, video: false } } }); } },
    });
    await this.agent.start();
    const registerer = new SIP.Registerer(this.agent);
    // Its promise is settled when the request is sent.
    const registered = new Promise((resolve) =>
      registerer.stateChange.addListener((state) => state === 'Registered' && resolve()));
    await registerer.register();
    await registered;
  },
  follow(call) {
    this.call = call;
    call.stateChange.addListener((state) => {
      this.states.push(state);
      if (state === 'Established') this.listen();
    });
  },
  async dial(target, video = false) {
    const call = new SIP.Inviter(this.agent, SIP.UserAgent.makeURI(target), {
      sessionDescriptionHandlerOptions: { constraints: { audio: true, video } },
    });
    this.follow(call);
    await call.invite();
  },
  get connection() { return this.call.sessionDescriptionHandler.peerConnection; },
  listen() {
    const { track } = this.connection.getReceivers()[0];
    const stream = new MediaStream([track]);
    // Chromium feeds Web Audio from a stream that an element plays.
    const element = new Audio();
    element.muted = true;
    element.srcObject = stream;
    void element.play();
    this.heard = context.createAnalyser();
    this.heard.fftSize = 4096;
    context.createMediaStreamSource(stream).connect(this.heard);
  },
  /** The loudest frequency that is heard, in Hz; 0 while there is none. */
  loudest() {
    if (!this.heard) return 0;
    const bins = new Float32Array(this.heard.frequencyBinCount);
    this.heard.getFloatFrequencyData(bins);
    let best = 0;
    for (let bin = 1; bin < bins.length; bin++) if (bins[bin] > bins[best]) best = bin;
    return bins[best] > -60 ? (best * context.sampleRate) / this.heard.fftSize : 0;
  },
  /** Says a tone instead of what the microphone hears. */
  async hum(hertz) {
    const tone = context.createOscillator();
    tone.frequency.value = hertz;
    const out = context.createMediaStreamDestination();
    tone.connect(out);
    tone.start();
    await this.connection.getSenders()[0].replaceTrack(out.stream.getAudioTracks()[0]);
  },
  /** The codecs that are received. */
  async codecs() {
    const report = [...(await this.connection.getStats()).values()];
    const used = new Set(report.filter(({ type }) => type === 'inbound-rtp').map(({ codecId }) => codecId));
    return report.filter(({ id }) => used.has(id)).map(({ mimeType }) => mimeType);
  },
  async invite(options) {
    this.call.sessionDescriptionHandlerOptionsReInvite = { constraints: { audio: true, video: false }, ...options };
    await new Promise((resolve, reject) =>
      void this.call.invite({ requestDelegate: { onAccept: resolve, onReject: reject } }).catch(reject));
  },
  hold: (on) => phone.invite({ hold: on }),
  restart: () => phone.invite({ offerOptions: { iceRestart: true } }),
};
globalThis.phone = phone;
`;

/** Chromium with a microphone that beeps, and a server of pages that call. */
export class BrowserPhones {
  readonly #browser: Browser;
  readonly #url: string;
  readonly #close: () => void;
  /** What pages have said on their consoles, for failed tests. */
  readonly said: string[] = [];

  private constructor(browser: Browser, url: string, close: () => void) {
    this.#browser = browser;
    this.#url = url;
    this.#close = close;
  }

  static async open(executablePath: string): Promise<BrowserPhones> {
    const code = (await library).outputFiles[0]!.text;
    const http = createServer((request, response) => {
      const isScript = request.url === '/sip.js';
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(
        isScript
          ? code
          : `<!doctype html><script src="/sip.js"></script><script>${script}</script><title>phone</title>`,
      );
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const browser = await chromium.launch({
      executablePath,
      timeout: patienceMs,
      args: [
        ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
        ...['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
        ...['--autoplay-policy=no-user-gesture-required', '--allow-loopback-in-peer-connection'],
      ],
    });
    const { port } = http.address() as AddressInfo;
    return new BrowserPhones(browser, `http://127.0.0.1:${port}/`, () => {
      http.closeAllConnections();
      http.close();
    });
  }

  explain(): string {
    return this.said.join('\n');
  }

  /** A page whose phone is registered. @param at `address:port` of SIP over WebSockets. */
  async register(at: string, name: string, secret: string): Promise<Page> {
    const page = await (await this.#browser.newContext()).newPage();
    page.setDefaultTimeout(patienceMs);
    page.on('console', (message) => this.said.push(message.text()));
    page.on('pageerror', (error) => this.said.push(String(error)));
    await page.goto(this.#url);
    await page.evaluate(`phone.start(${JSON.stringify(at)}, ${JSON.stringify(name)}, ${JSON.stringify(secret)})`);
    return page;
  }

  async close(): Promise<void> {
    await this.#browser.close();
    this.#close();
  }
}

/** Waits until a page hears a frequency, within a few Hz. */
export async function hears(page: Page, hertz: number): Promise<void> {
  await page.waitForFunction(`Math.abs(phone.loudest() - ${hertz}) < 15`);
}
