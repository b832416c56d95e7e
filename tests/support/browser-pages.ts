import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type Browser, chromium, type Page } from 'playwright-core';
import { password, type TestServer, user } from './server.ts';
import { patienceMs, untilAsked } from './waiting.ts';

/** A method of a page's object: of the candidates in answers it takes those with this text alone, such as `typ relay`. */
export const onlyCandidates = `only(type) {
    const take = RTCPeerConnection.prototype.setRemoteDescription;
    RTCPeerConnection.prototype.setRemoteDescription = function (answer) {
      const lines = answer.sdp.split('\\r\\n');
      const kept = lines.filter((line) => !line.startsWith('a=candidate:') || line.includes(type));
      return take.call(this, { ...answer, sdp: kept.join('\\r\\n') });
    };
  }`;

/** The package for pages, as a script that gives them `Hookswitch`. @param minify as pages serve it. */
export async function packageScript(minify = false): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../packages/browser/src/index.ts', import.meta.url))],
    ...{ bundle: true, format: 'iife', globalName: 'Hookswitch', minify, write: false, logLevel: 'error' },
  });
  return `${outputFiles[0]!.text};globalThis.Hookswitch = Hookswitch;`;
}

/** What every page of tests can hear and say with. */
const ears = `
const context = new AudioContext();
const ears = {
  heard: undefined,
  listen(stream) {
    // Chromium feeds Web Audio from a stream that an element plays.
    const element = new Audio();
    element.muted = true;
    element.srcObject = stream;
    void element.play();
    this.heard = context.createAnalyser();
    this.heard.fftSize = 4096;
    context.createMediaStreamSource(stream).connect(this.heard);
  },
  bins() {
    const bins = new Float32Array(this.heard.frequencyBinCount);
    this.heard.getFloatFrequencyData(bins);
    return bins;
  },
  /** How loud a frequency is, in dB. */
  level(hertz) {
    if (!this.heard) return -200;
    const bins = this.bins();
    const at = Math.round((hertz * this.heard.fftSize) / context.sampleRate);
    return Math.max(...bins.slice(at - 1, at + 2));
  },
  /** The loudest frequency that is heard, in Hz; 0 while there is none. */
  loudest() {
    if (!this.heard) return 0;
    const bins = this.bins();
    let best = 1;
    for (let bin = 1; bin < bins.length; bin++) if (bins[bin] > bins[best]) best = bin;
    return bins[best] > -60 ? (best * context.sampleRate) / this.heard.fftSize : 0;
  },
  /** A track with a tone. Five of them in a mix are not clipped. */
  tone(hertz) {
    const tone = new OscillatorNode(context, { frequency: hertz });
    const out = context.createMediaStreamDestination();
    tone.connect(new GainNode(context, { gain: 0.2 })).connect(out);
    tone.start();
    return out.stream.getAudioTracks()[0];
  },
};
globalThis.ears = ears;
`;

/** What every page of tests can see and show with. */
const eyes = `
const colours = { red: [200, 20, 20], green: [20, 180, 20], blue: [20, 20, 200], yellow: [200, 200, 20], white: [230, 230, 230] };
const eyes = {
  screens: [],
  /**
   * A track of a camera that shows a colour. Something moves in it, so that there are pictures to send. @param specks so many
   * other ones: without any, pictures of each size take next to no bit rate.
   */
  camera(colour, width = 160, height = 120, specks = 0) {
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width, height });
    const brush = canvas.getContext('2d');
    let count = 0;
    setInterval(() => {
      brush.fillStyle = 'rgb(' + colours[colour].join() + ')';
      brush.fillRect(0, 0, width, height);
      for (let speck = 0; speck < specks; speck++) {
        brush.fillStyle = 'rgb(' + colours[colour].map((each) => each + 80 * (Math.random() - 0.5)).join() + ')';
        brush.fillRect(Math.random() * width, Math.random() * height, 24, 24);
      }
      brush.fillStyle = 'black';
      brush.fillRect(count++ % 8, 0, 4, 4);
    }, 100);
    return canvas.captureStream(10).getVideoTracks()[0];
  },
  /** The camera of this page is such a one: that of the device shows a test pattern. */
  useCamera(colour, ...size) {
    const camera = this.camera(colour, ...size);
    const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
    navigator.mediaDevices.getUserMedia = async (asked) => {
      const stream = await ask({ ...asked, video: false });
      if (asked.video) stream.addTrack(camera.clone());
      return stream;
    };
  },
  /** Looks at these tracks of video, in their order. */
  watch(tracks) {
    this.screens = tracks.map((track) => {
      const element = document.createElement('video');
      Object.assign(element, { muted: true, autoplay: true, srcObject: new MediaStream([track]) });
      void element.play().catch(() => {});
      return element;
    });
  },
  /** The colour in the middle of a screen; 'nothing' before the first picture. */
  colour(screen = 0) {
    const element = this.screens[screen];
    if (!element?.videoWidth) return 'nothing';
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width: 1, height: 1 });
    const brush = canvas.getContext('2d');
    brush.drawImage(element, element.videoWidth / 4, element.videoHeight / 4, element.videoWidth / 2, element.videoHeight / 2, 0, 0, 1, 1);
    const seen = brush.getImageData(0, 0, 1, 1).data;
    const distance = (of) => colours[of].reduce((sum, each, at) => sum + Math.abs(each - seen[at]), 0);
    const [nearest] = Object.keys(colours).sort((one, other) => distance(one) - distance(other));
    return distance(nearest) < 120 ? nearest : 'rgb(' + seen.slice(0, 3).join() + ')';
  },
  /** How wide the picture on a screen is. */
  width: (screen = 0) => eyes.screens[screen]?.videoWidth ?? 0,
  /** Pictures that a screen has shown. */
  pictures: (screen = 0) => eyes.screens[screen]?.getVideoPlaybackQuality().totalVideoFrames ?? 0,
  colours: () => eyes.screens.map((_screen, at) => eyes.colour(at)),
};
globalThis.eyes = eyes;
`;

/** A server of pages that run some scripts, after what they hear and see with (`ears`, `eyes`). */
export async function servePages(scripts: readonly string[]): Promise<{ origin: string; close(): void }> {
  const all = [ears, eyes, ...scripts];
  const tags = all.map((_script, at) => `<script type="module" src="/${at}.js"></script>`).join('');
  const http = createServer((request, response) => {
    const script = all[Number(/^\/(\d+)\.js$/.exec(request.url ?? '')?.[1] ?? -1)];
    response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
    response.end(script ?? `<!doctype html><title>phone</title>${tags}`);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    close() {
      http.closeAllConnections();
      http.close();
    },
  };
}

/** Chromium with a microphone that beeps, and pages with some scripts. */
export class BrowserPages {
  readonly #browser: Browser;
  readonly #served: Awaited<ReturnType<typeof servePages>>;
  /** What pages have said on their consoles, for failed tests. */
  readonly said: string[] = [];

  private constructor(browser: Browser, served: Awaited<ReturnType<typeof servePages>>) {
    this.#browser = browser;
    this.#served = served;
  }

  /** @param scripts as of {@link servePages}. */
  static async open(executablePath: string, scripts: readonly string[]): Promise<BrowserPages> {
    const served = await servePages(scripts);
    const browser = await chromium.launch({
      executablePath,
      timeout: patienceMs,
      args: [
        ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
        ...['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
        ...['--autoplay-policy=no-user-gesture-required', '--allow-loopback-in-peer-connection'],
      ],
    });
    return new BrowserPages(browser, served);
  }

  explain(): string {
    return this.said.join('\n');
  }

  /** The origin of its pages. */
  get origin(): string {
    return this.#served.origin;
  }

  /** @param isElsewhere the browser is in another network: this process fetches the page for it. */
  async page(isElsewhere = false): Promise<Page> {
    const context = await this.#browser.newContext();
    if (isElsewhere) {
      await context.grantPermissions(['local-network-access']);
      await context.route(`${this.origin}/**`, async (route) => route.fulfill({ response: await route.fetch() }));
    }
    const page = await context.newPage();
    page.setDefaultTimeout(patienceMs);
    page.on('console', (message) => this.said.push(message.text()));
    page.on('pageerror', (error) => this.said.push(String(error)));
    await page.goto(this.origin);
    return page;
  }

  async close(): Promise<void> {
    await this.#browser.close();
    this.#served.close();
  }
}

/** Makes a token that covers calls of browsers alone. */
export async function pageToken(server: TestServer, name: string): Promise<string> {
  const response = await fetch(`${server.url.replace(/\/ari$/, '')}/hookswitch/tokens`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ name, operations: ['webrtc', 'listening'], applications: ['desk'], contexts: ['default'] }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return (JSON.parse(text) as { token: string }).token;
}

/** Waits until a page hears a frequency above all others, within a few Hz. */
export async function pageHears(page: Page, hertz: number): Promise<void> {
  await page.waitForFunction(`Math.abs(ears.loudest() - ${hertz}) < 15`);
}

/** Waits until a page sees this colour on a screen, and it is moving. */
export async function pageSees(page: Page, colour: string, screen = 0): Promise<void> {
  await untilAsked(
    async () => (await page.evaluate(`eyes.colour(${screen})`)) === colour,
    () => `screen ${screen} did not become ${colour}`,
  );
  const before = await page.evaluate<number>(`eyes.pictures(${screen})`);
  await untilAsked(
    async () => (await page.evaluate<number>(`eyes.pictures(${screen})`)) > before + 2,
    () => `screen ${screen} stands still`,
  );
}
