import { useState } from 'preact/hooks';
import { useLanes } from '../core/lanes.ts';
import { askRaw, may } from '../core/session.ts';
import { reasonOf } from './bits.tsx';

/** What can be taken away of a call: its capture, its bundle, a link, a request. */

/** Saves an answer of the server as a file. @throws Error when it refuses. */
async function save(path: string, name: string): Promise<void> {
  const answer = await askRaw('GET', path);
  if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
  saveAs(await answer.blob(), name);
}

/** Saves octets as a file. */
export function saveAs(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Copies a text. Browsers allow that over HTTPS and on this machine only. */
async function write(text: string): Promise<void> {
  if (!isSecureContext) throw new Error('The browser allows copying over HTTPS only.');
  await navigator.clipboard.writeText(text);
}

type Told = { text: string; bad: boolean };

/** What came of a button: where it was pressed. */
function useTold() {
  const [told, setTold] = useState<Told>();
  const run = (what: Promise<unknown>, done: string): void =>
    void what.then(
      () => setTold({ text: done, bad: false }),
      (problem: unknown) => setTold({ text: reasonOf(problem), bad: true }),
    );
  const shown = (
    <span class={told?.bad ? 'told bad' : 'told'} role="status">
      {told?.text}
    </span>
  );
  return { run, shown };
}

/** A request of the server as a command. */
const curlOf = (path: string): string => `curl -u USER '${location.origin}${path.replaceAll("'", '%27')}'`;

/** The address of what is shown, with one object of it opened. */
function linkTo(object: string): string {
  const [before, query = ''] = location.href.split('?');
  const wanted = new URLSearchParams(query);
  wanted.set('object', object);
  return `${before}?${wanted}`;
}

export function CallButtons({ id }: { id: string }) {
  const { run, shown } = useTold();
  const path = `/hookswitch/calls/${encodeURIComponent(id)}`;
  return (
    <div class="call-buttons">
      {may('calls:getCapture') ? (
        <button type="button" class="small" onClick={() => run(save(`${path}.pcap`, `${id}.pcap`), 'Capture saved.')}>
          pcap
        </button>
      ) : null}
      {may('calls:getBundle') ? (
        <button type="button" class="small" onClick={() => run(save(`${path}/bundle`, `${id}.json`), 'Bundle saved.')}>
          Bundle
        </button>
      ) : null}
      <button type="button" class="small" onClick={() => run(write(location.href), 'Link copied.')}>
        Copy link
      </button>
      <button type="button" class="small" onClick={() => run(write(curlOf(path)), 'Command copied.')}>
        Copy as curl
      </button>
      {shown}
    </div>
  );
}

/** The same of one object. @param path where the interface has it; undefined where it has gone, or has no path */
export function ObjectButtons({ object, path, lane }: ObjectButtonsProps) {
  const [only, choose] = useLanes();
  const { run, shown } = useTold();
  return (
    <div class="call-buttons">
      {lane === undefined ? null : (
        <button type="button" class="small" aria-pressed={only.has(lane)} onClick={() => choose(lane)}>
          Only this in the ladder
        </button>
      )}
      <button
        type="button"
        class="small"
        aria-label="Copy a link to this object"
        onClick={() => run(write(linkTo(object)), 'Link copied.')}
      >
        Copy link
      </button>
      {path === undefined ? null : (
        <button
          type="button"
          class="small"
          aria-label="Copy this object's request as curl"
          onClick={() => run(write(curlOf(path)), 'Command copied.')}
        >
          Copy as curl
        </button>
      )}
      {shown}
    </div>
  );
}

type ObjectButtonsProps = {
  object: string;
  path: string | undefined;
  /** Its lane in the ladder; undefined where it has none. */
  lane: string | undefined;
};
