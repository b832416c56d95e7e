import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type Browser, chromium, type Page } from 'playwright-core';
import { patienceMs } from './waiting.ts';

/** The package for pages, as a script that gives them `Hookswitch`. */
export async function packageScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../packages/browser/src/index.ts', import.meta.url))],
    ...{ bundle: true, format: 'iife', globalName: 'Hookswitch', write: false, logLevel: 'error' },
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
  /** A track with a tone. */
  tone(hertz) {
    const tone = context.createOscillator();
    tone.frequency.value = hertz;
    const out = context.createMediaStreamDestination();
    tone.connect(out);
    tone.start();
    return out.stream.getAudioTracks()[0];
  },
};
globalThis.ears = ears;
`;

/** Chromium with a microphone that beeps, and a server of pages with some scripts. */
export class BrowserPages {
  readonly #browser: Browser;
  readonly #http: Server;
  /** What pages have said on their consoles, for failed tests. */
  readonly said: string[] = [];

  private constructor(browser: Browser, http: Server) {
    this.#browser = browser;
    this.#http = http;
  }

  /** @param scripts run in each page, in order, after what it hears with (`ears`). */
  static async open(executablePath: string, scripts: readonly string[]): Promise<BrowserPages> {
    const all = [ears, ...scripts];
    const tags = all.map((_script, at) => `<script type="module" src="/${at}.js"></script>`).join('');
    const http = createServer((request, response) => {
      const script = all[Number(/^\/(\d+)\.js$/.exec(request.url ?? '')?.[1] ?? -1)];
      response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
      response.end(script ?? `<!doctype html><title>phone</title>${tags}`);
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
    return new BrowserPages(browser, http);
  }

  explain(): string {
    return this.said.join('\n');
  }

  /** The origin of its pages. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async page(): Promise<Page> {
    const page = await (await this.#browser.newContext()).newPage();
    page.setDefaultTimeout(patienceMs);
    page.on('console', (message) => this.said.push(message.text()));
    page.on('pageerror', (error) => this.said.push(String(error)));
    await page.goto(this.origin);
    return page;
  }

  async close(): Promise<void> {
    await this.#browser.close();
    this.#http.closeAllConnections();
    this.#http.close();
  }
}

/** Waits until a page hears a frequency above all others, within a few Hz. */
export async function pageHears(page: Page, hertz: number): Promise<void> {
  await page.waitForFunction(`Math.abs(ears.loudest() - ${hertz}) < 15`);
}
