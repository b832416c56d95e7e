import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Command } from './program.ts';
import { untilAsked } from './waiting.ts';

const run = promisify(execFile);

type JamiOptions = {
  user: string;
  password: string;
  /** `address:port` of its registrar. */
  registrar: string;
  /** Its own port of SIP. */
  port: number;
  /** The tone that it says. */
  hertz: number;
};

/** A text and a map of texts as GVariant has them. */
const quoted = (text: string): string => `'${text}'`;
const dictionary = (all: Readonly<Record<string, string>>): string =>
  `{${Object.entries(all)
    .map((pair) => pair.map(quoted).join(': '))
    .join(', ')}}`;

const audio = { MEDIA_TYPE: 'MEDIA_TYPE_AUDIO', ENABLED: 'true', MUTED: 'false', SOURCE: '', LABEL: 'audio_0' };

/** There is no sound card: a pipe with a tone is the microphone of ALSA. */
function openMicrophone(home: string, hertz: number): Command {
  const pipe = join(home, 'microphone');
  execFileSync('mkfifo', [pipe]);
  const capture = `{ type file slave.pcm "null" file "/dev/null" infile "${pipe}" format "raw" }`;
  const card = `pcm.!default { type asym playback.pcm "null" capture.pcm ${capture} }\nctl.!default { type null }\n`;
  writeFileSync(join(home, '.asoundrc'), card);
  const tone = `-v error -re -f lavfi -i sine=frequency=${hertz}:sample_rate=16000 -ac 2 -f s16le -y`;
  // It ends with each reader, and a call may have several.
  return new Command('sh', ['-c', `while kill -0 $PPID; do ffmpeg ${tone} "$0" </dev/null; done`, pipe], {}, true);
}

/**
 * Debian's jamid, the daemon of Jami: PJSIP's stack with SRTP. It answers calls by itself and is told what to do over the
 * D-Bus of the session.
 */
export class Jami extends Command {
  readonly #home: string;
  readonly #microphone: Command;
  #account = '';

  private constructor(program: string, home: string, microphone: Command) {
    const at = (name: string): string => join(home, name);
    super(program, ['-p', '-c'], {
      ...{ HOME: home, XDG_DATA_HOME: at('data'), XDG_CONFIG_HOME: at('config'), XDG_CACHE_HOME: at('cache') },
    });
    this.#home = home;
    this.#microphone = microphone;
  }

  /** Starts it; it registers. */
  static async start(program: string, { user, password, registrar, port, hertz }: JamiOptions): Promise<Jami> {
    const home = mkdtempSync(join(tmpdir(), 'hookswitch-jami-'));
    const jami = new Jami(program, home, openMicrophone(home, hertz));
    try {
      await run('gdbus', ['wait', '--session', '--timeout', '30', 'cx.ring.Ring']);
      // A tone is no noise here.
      await jami.#ask('ConfigurationManager', 'setNoiseSuppressState', 'off');
      const account = dictionary({
        ...{ 'Account.type': 'SIP', 'Account.alias': user, 'Account.enable': 'true', 'Account.autoAnswer': 'true' },
        ...{ 'Account.hostname': registrar, 'Account.username': user, 'Account.password': password },
        ...{ 'Account.localPort': String(port), 'Account.upnpEnabled': 'false', 'Account.videoEnabled': 'false' },
        ...{ 'SRTP.enable': 'true', 'SRTP.keyExchange': 'sdes', 'SRTP.rtpFallback': 'false' },
      });
      jami.#account = jami.#word(await jami.#ask('ConfigurationManager', 'addAccount', account));
      return jami;
    } catch (error) {
      await jami.close();
      throw error;
    }
  }

  /** Calls a URI; resolves with the id of the call. */
  async call(uri: string): Promise<string> {
    const made = await this.#ask('CallManager', 'placeCallWithMedia', this.#account, uri, `[${dictionary(audio)}]`);
    return this.#word(made);
  }

  /** The id of the one call that it is in. */
  async inCall(): Promise<string> {
    let said = '';
    await untilAsked(
      async () => {
        said = await this.#ask('CallManager', 'getCallList', this.#account);
        return /'\d+'/.test(said);
      },
      () => `it is in no call: ${this.written}`,
    );
    return this.#word(said);
  }

  async hangUp(call: string): Promise<void> {
    await this.#ask('CallManager', 'hangUp', this.#account, call);
  }

  /** Records what a call hears and says until `enough` has resolved, as 16-bit samples of 8 kHz. */
  async record(call: string, enough: () => Promise<void>): Promise<Int16Array> {
    const files = (): string[] => readdirSync(this.#home).filter((name) => name.endsWith('.ogg'));
    const before = new Set(files());
    const toggle = () => this.#ask('CallManager', 'toggleRecording', this.#account, call);
    await toggle();
    await enough();
    await toggle();
    const file = files().find((name) => !before.has(name));
    if (file === undefined) throw new Error(`it has recorded nothing: ${this.written}`);
    const how = ['-v', 'error', '-i', join(this.#home, file), '-f', 's16le', '-ac', '1', '-ar', '8000', '-'];
    const { stdout } = await run('ffmpeg', how, { encoding: 'buffer' });
    return new Int16Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.length));
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#microphone.close();
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** What a method answers, as GVariant's text. */
  async #ask(object: string, method: string, ...args: readonly string[]): Promise<string> {
    const at = ['--session', '--dest', 'cx.ring.Ring', '--object-path', `/cx/ring/Ring/${object}`];
    return (await run('gdbus', ['call', ...at, '--method', `cx.ring.Ring.${object}.${method}`, ...args])).stdout;
  }

  #word(answer: string): string {
    const [, word] = /'(\w+)'/.exec(answer) ?? [];
    if (word === undefined) throw new Error(`jamid answers ${answer}; it wrote: ${this.written}`);
    return word;
  }
}
