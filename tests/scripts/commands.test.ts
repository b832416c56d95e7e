import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checked, company } from '../import/fixtures.ts';
import { need } from '../support/need.ts';
import { patience, untilHolds } from '../support/waiting.ts';

/** Every command of the readme and of the guides, run as it is printed, but for ports and directories. */
const commands = suite('commands of the guides');

const root = fileURLToPath(new URL('../../', import.meta.url));
const guides = [...readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`), 'docs/providers.md'];
const scripts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts as Record<string, string>;

/** The commands of a page in their order: of its shell blocks, and those that stand in its sentences. */
function commandsOf(text: string): string[] {
  const parts = text.matchAll(/```(\w*)\n([\s\S]*?)```|`((?:[A-Z_]+=\S+ )?(?:sipp|curl|npx|npm|node|python3) [^`]+)`/g);
  return [...parts].flatMap(([, language, block = '', inline]) => {
    if (inline !== undefined) return [inline.replaceAll(/\s+/g, ' ')];
    const lines = language === 'sh' ? block.replaceAll('\\\n', ' ').split('\n') : [];
    return lines.map((line) => line.replace(/\s# .*$/, '').trim()).filter((line) => line !== '');
  });
}

/** A program under way, with what it has written, and who hears when that becomes more. */
type Spawned = { child: ChildProcess; waiting: Set<() => void>; written(): string };

/** A place where the commands of one page are run, with everything that a fresh clone has. */
class Desk {
  readonly directory = mkdtempSync(join(tmpdir(), 'hookswitch-guide-'));
  readonly #running: { child: ChildProcess; what: string }[] = [];
  #http = '';
  #sip = '';

  constructor(page: string) {
    for (const name of [
      'package.json',
      'dist',
      'src',
      'node_modules',
      'examples',
      'scripts',
      'sounds',
      'deploy',
      'hookswitch.example.yaml',
      'tsconfig.json',
    ])
      symlinkSync(join(root, name), join(this.directory, name));
    for (const [name, text] of Object.entries(company)) {
      mkdirSync(dirname(join(this.directory, 'asterisk', name)), { recursive: true });
      writeFileSync(join(this.directory, 'asterisk', name), text);
    }
    // What the page tells to write down is written down.
    const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    if (yaml !== undefined) writeFileSync(join(this.directory, 'hookswitch.yaml'), yaml);
  }

  async run(printed: string): Promise<void> {
    const [, script] = /^(?:[A-Z_]+=\S+ )*npm (?:run )?(test|bench)\b/.exec(printed) ?? [];
    // These would run this test again, or measure for minutes.
    if (script !== undefined) return assert.type(scripts[script], 'string', printed);
    if (/\bnpm start$|\bcli\.js serve$/.test(printed)) return this.#serve(printed);
    if (/\btest-server$/.test(printed)) return void (await this.#begin(printed, /"token"/));
    if (printed.startsWith('nats-server ')) return void (await this.#begin(printed, /Server is ready/));
    if (/(npx tsx|python3) examples\//.test(printed)) return void (await this.#begin(printed, /waiting for calls/));
    const { written, code } = await this.#end(this.#spawn(this.#adapted(printed)));
    assert.is(code, 0, `${printed}\n${written()}`);
  }

  /** With the addresses that are there now. */
  #adapted(printed: string): string {
    return printed
      .replaceAll('127.0.0.1:8088', this.#http)
      .replaceAll('127.0.0.1:5060', this.#sip)
      .replaceAll('/etc/asterisk', './asterisk')
      .replace(/^nats-server (.*)\/var\/lib\/nats$/, 'nats-server $1nats -a 127.0.0.1 -p -1');
  }

  async #serve(printed: string): Promise<void> {
    for (const { child, what } of this.#running.splice(0)) if (what) await ended(child);
    const banner = await this.#begin(printed, /is ready[\s\S]*SIP +\S+/);
    this.#http = /HTTP +http:\/\/(\S+)\/ari/.exec(banner)?.[1] ?? '';
    this.#sip = /SIP +(\S+)/.exec(banner)?.[1] ?? '';
  }

  /** Begins a program that goes on, and waits until it says that it does. */
  async #begin(printed: string, says: RegExp): Promise<string> {
    const { child, written, waiting } = this.#spawn(this.#adapted(printed));
    this.#running.push({ child, what: printed });
    const holds = () => {
      if (says.test(written())) return true;
      if (child.exitCode !== null) throw new Error(`${printed} has ended:\n${written()}`);
      return false;
    };
    await untilHolds(waiting, holds, () => `${printed} did not say ${says}:\n${written()}`);
    return written();
  }

  #spawn(command: string): Spawned {
    const child = spawn('bash', ['-c', `exec 2>&1; ${command}`], {
      cwd: this.directory,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
      env: {
        ...process.env,
        HOOKSWITCH_HTTP_BIND: '127.0.0.1',
        HOOKSWITCH_HTTP_PORT: '0',
        HOOKSWITCH_SIP_BIND: '127.0.0.1',
        HOOKSWITCH_SIP_PORT: '0',
        HOOKSWITCH_RTP_PORTS: '0-0',
        HOOKSWITCH_DATA: join(this.directory, 'data'),
        HOOKSWITCH_RECORDINGS: join(this.directory, 'recordings'),
        HOOKSWITCH_URL: `http://${this.#http || '127.0.0.1:9'}`,
        TERM: 'dumb',
      },
    });
    const waiting = new Set<() => void>();
    const look = () => [...waiting].forEach((each) => void each());
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      look();
    });
    child.on('close', look);
    return { child, waiting, written: () => text };
  }

  async #end({ child, written }: Spawned): Promise<{ written(): string; code: number | null }> {
    const stop = patience(() => end(child));
    if (child.exitCode === null) await once(child, 'close');
    stop();
    return { written, code: child.exitCode };
  }

  async close(): Promise<void> {
    for (const { child } of this.#running.splice(0).reverse()) await ended(child);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** A program with all that it has started. */
function end(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

async function ended(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close');
  const isOver = child.exitCode !== null || child.signalCode !== null;
  end(child);
  if (!isOver) await closed;
}

for (const page of ['README.md', ...guides]) {
  const text = readFileSync(join(root, page), 'utf8');
  const printed = commandsOf(text);
  if (printed.length === 0) continue;
  need(printed.some((command) => command.startsWith('nats-server ')) ? 'nats-server' : 'sipp').test(
    commands,
    `${page}: ${printed.length} commands`,
    async () => {
      const desk = new Desk(text);
      try {
        for (const command of printed) await desk.run(command);
      } finally {
        await desk.close();
      }
    },
  );
}

commands('every configuration of the page about providers can be read', () => {
  const page = readFileSync(join(root, 'docs/providers.md'), 'utf8');
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => yaml);
  assert.ok(blocks.length >= 4);
  for (const yaml of blocks) checked(yaml);
});

commands('the pages that the guides point to are there', () => {
  const missing = guides.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!http)([^)#]+)/g)]
      .map(([, target = '']) => join(root, dirname(page), target))
      .filter((target) => {
        try {
          return readdirSync(dirname(target)).includes(target.split('/').at(-1)!) === false;
        } catch {
          return true;
        }
      }),
  );
  assert.equal(missing, []);
});

commands.run();
