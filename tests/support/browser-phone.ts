import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { BrowserPages } from './browser-pages.ts';

/** SIP.js, unmodified, for pages. */
const library = build({
  stdin: { contents: "export * from 'sip.js'", resolveDir: fileURLToPath(new URL('../..', import.meta.url)) },
  ...{ bundle: true, format: 'iife', globalName: 'SIP', write: false, logLevel: 'error' },
  footer: { js: 'globalThis.SIP = SIP;' },
});

/** What a page does with SIP.js; `phone` is there for the tests. */
const script = `
const phone = {
  inviter: undefined, states: [], video: false,
  async start(at, name, secret) {
    const configuration = { iceServers: [] };
    this.agent = new SIP.UserAgent({
      uri: SIP.UserAgent.makeURI('sip:' + name + '@' + at),
      transportOptions: { server: 'ws://' + at, keepAliveInterval: 0 },
      authorizationUsername: name, authorizationPassword: secret, logBuiltinEnabled: false,
      sessionDescriptionHandlerFactoryOptions: { peerConnectionConfiguration: configuration },
      delegate: { onInvite: (call) => { this.follow(call); void call.accept({ sessionDescriptionHandlerOptions: { constraints: { audio: true, video: this.video } } }); } },
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
  listen() { ears.listen(new MediaStream([this.connection.getReceivers()[0].track])); },
  look() {
    const tracks = this.connection.getReceivers().map(({ track }) => track);
    eyes.watch(tracks.filter(({ kind }) => kind === 'video'));
  },
  /** Says a tone instead of what the microphone hears. */
  hum(hertz) { return this.connection.getSenders()[0].replaceTrack(ears.tone(hertz)); },
  /** The codecs that are received. */
  async codecs() {
    const report = [...(await this.connection.getStats()).values()];
    const used = new Set(report.filter(({ type }) => type === 'inbound-rtp').map(({ codecId }) => codecId));
    return report.filter(({ id }) => used.has(id)).map(({ mimeType }) => mimeType);
  },
  /** Streams of video whose pictures are decoded. */
  async pictures() {
    const report = [...(await this.connection.getStats()).values()];
    return report.filter((each) => each.type === 'inbound-rtp' && each.framesDecoded > 1).length;
  },
  async invite(options) {
    this.call.sessionDescriptionHandlerOptionsReInvite = { constraints: { audio: true, video: this.video }, ...options };
    await new Promise((resolve, reject) =>
      void this.call.invite({ requestDelegate: { onAccept: resolve, onReject: reject } }).catch(reject));
  },
  hold: (on) => phone.invite({ hold: on }),
  restart: () => phone.invite({ offerOptions: { iceRestart: true } }),
};
globalThis.phone = phone;
`;

/** SIP.js for pages, and what they do with it (`phone`). */
export const phoneScripts = async (): Promise<string[]> => [(await library).outputFiles[0]!.text, script];

/** Pages that call with SIP.js. */
export class BrowserPhones {
  readonly #pages: BrowserPages;

  private constructor(pages: BrowserPages) {
    this.#pages = pages;
  }

  /** @param more what its pages run besides. */
  static async open(executablePath: string, more: readonly string[] = []): Promise<BrowserPhones> {
    return new BrowserPhones(await BrowserPages.open(executablePath, [...(await phoneScripts()), ...more]));
  }

  /** A page without a phone. */
  page(): Promise<Page> {
    return this.#pages.page();
  }

  explain(): string {
    return this.#pages.explain();
  }

  /** A page whose phone is registered. @param at `address:port` of SIP over WebSockets. @param isElsewhere as of pages. */
  async register(at: string, name: string, secret: string, isElsewhere = false): Promise<Page> {
    const page = await this.#pages.page(isElsewhere);
    await page.evaluate(`phone.start(${JSON.stringify(at)}, ${JSON.stringify(name)}, ${JSON.stringify(secret)})`);
    return page;
  }

  close(): Promise<void> {
    return this.#pages.close();
  }
}
