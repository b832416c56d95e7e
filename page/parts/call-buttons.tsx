import { useState } from 'preact/hooks';
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

export function CallButtons({ id }: { id: string }) {
  const [told, setTold] = useState<{ text: string; bad: boolean }>();
  const path = `/hookswitch/calls/${encodeURIComponent(id)}`;
  const run = (what: Promise<unknown>, done: string) =>
    what.then(
      () => setTold({ text: done, bad: false }),
      (problem: unknown) => setTold({ text: reasonOf(problem), bad: true }),
    );
  const copy = (text: string, done: string) => void run(write(text), done);
  return (
    <div class="call-buttons">
      {may('calls:getCapture') ? (
        <button
          type="button"
          class="small"
          onClick={() => void run(save(`${path}.pcap`, `${id}.pcap`), 'Capture saved.')}
        >
          pcap
        </button>
      ) : null}
      {may('calls:getBundle') ? (
        <button
          type="button"
          class="small"
          onClick={() => void run(save(`${path}/bundle`, `${id}.json`), 'Bundle saved.')}
        >
          Bundle
        </button>
      ) : null}
      <button type="button" class="small" onClick={() => copy(location.href, 'Link copied.')}>
        Copy link
      </button>
      <button
        type="button"
        class="small"
        onClick={() => copy(`curl -u USER '${location.origin}${path.replaceAll("'", '%27')}'`, 'Command copied.')}
      >
        Copy as curl
      </button>
      <span class={told?.bad ? 'told bad' : 'told'} role="status">
        {told?.text}
      </span>
    </div>
  );
}
