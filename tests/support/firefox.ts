import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { inTime, untilAsked } from './waiting.ts';

/** Preferences: a microphone that beeps, without a question, and ICE with the addresses of this machine. */
const preferences = {
  'media.navigator.streams.fake': true,
  'media.navigator.permission.disabled': true,
  'media.peerconnection.ice.loopback': true,
  'media.peerconnection.ice.obfuscate_host_addresses': false,
  'media.peerconnection.ice.tcp': true,
  'media.autoplay.default': 0,
  'media.autoplay.blocking_policy': 0,
  // Without it there is no H.264, and what is not there is fetched from the network.
  'media.gmp-manager.updateEnabled': false,
  'app.update.disabledForTesting': true,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'http://127.0.0.1:9',
};

type Answer = { id?: number; type: string; result?: unknown; error?: string; message?: string };

/** Firefox without a window, driven by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/). */
export class Firefox {
  readonly #profile: string;
  readonly #child: ChildProcess;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #asked = 0;

  private constructor(profile: string, child: ChildProcess, socket: WebSocket) {
    this.#profile = profile;
    this.#child = child;
    this.#socket = socket;
    socket.on('message', (data) => {
      const answer = JSON.parse(String(data)) as Answer;
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer);
    });
  }

  static async open(path: string): Promise<Firefox> {
    const profile = mkdtempSync(join(tmpdir(), 'hookswitch-firefox-'));
    const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
    writeFileSync(join(profile, 'user.js'), lines.join('\n'));
    const child = spawn(path, ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, HOME: profile, MOZ_DISABLE_CONTENT_SANDBOX: '1' },
    });
    let said = '';
    const url = await inTime(
      new Promise<string>((resolve, reject) => {
        child.on('error', reject).on('exit', () => reject(new Error(said)));
        child.stderr?.on('data', (piece) => {
          said += piece;
          const [, found] = /WebDriver BiDi listening on (ws:\S+)/.exec(said) ?? [];
          if (found) resolve(found);
        });
      }),
      () => `Firefox does not start: ${said}`,
    );
    const socket = new WebSocket(`${url}/session`);
    await once(socket, 'open');
    const firefox = new Firefox(profile, child, socket);
    await firefox.ask('session.new', { capabilities: {} });
    return firefox;
  }

  /** @throws Error what a command of WebDriver BiDi says against it */
  async ask(method: string, params: object): Promise<unknown> {
    const id = ++this.#asked;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { type, result, error, message } = await inTime(answered, () => `no answer to ${method}`);
    this.#waiting.delete(id);
    if (type === 'error') throw new Error(`${method}: ${error}: ${message}`);
    return result;
  }

  /** A tab that shows a page. */
  async page(url: string): Promise<FirefoxPage> {
    const { context } = (await this.ask('browsingContext.create', { type: 'tab' })) as { context: string };
    await this.ask('browsingContext.navigate', { context, url, wait: 'complete' });
    return new FirefoxPage(this, context);
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
    this.#socket.terminate();
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A tab of Firefox. */
export class FirefoxPage {
  readonly #firefox: Firefox;
  readonly #context: string;

  constructor(firefox: Firefox, context: string) {
    this.#firefox = firefox;
    this.#context = context;
  }

  /** The value of an expression, which JSON can carry, or what its promise resolves with. */
  async evaluate<T>(expression: string): Promise<T> {
    const answer = (await this.#firefox.ask('script.evaluate', {
      expression: `(async () => JSON.stringify([await (${expression})]))()`,
      target: { context: this.#context },
      awaitPromise: true,
    })) as { result?: { value: string }; exceptionDetails?: { text: string } };
    if (answer.exceptionDetails) throw new Error(`${expression}: ${answer.exceptionDetails.text}`);
    return (JSON.parse(answer.result?.value ?? '[]') as [T])[0];
  }

  async until(expression: string): Promise<void> {
    await untilAsked(
      () => this.evaluate<boolean>(expression),
      () => `this did not become true: ${expression}`,
    );
  }
}
