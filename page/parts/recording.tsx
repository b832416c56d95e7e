import { useEffect, useRef, useState } from 'preact/hooks';
import { askRaw, may } from '../core/session.ts';
import { decodedByBrowser, openRecording, outlineOf, type Waveform, waveformOf } from '../core/waveform.ts';
import { duration, octets } from '../core/words.ts';
import { reasonOf } from './bits.tsx';
import { saveAs } from './call-buttons.tsx';

/** Longer files are saved, not played here, in octets: two hours of 8 kHz. */
const mostOctets = 120_000_000;
const columns = 600;

type Opened = { url: string; blob: Blob; waveform: Waveform | undefined };

/** Fetches a kept recording. @throws Error with words for the user. */
async function fetchRecording(name: string, format: string): Promise<Opened> {
  const answer = await askRaw('GET', `/ari/recordings/stored/${encodeURIComponent(name)}/file`);
  if (!answer.ok) {
    const { message } = (await answer.json().catch(() => ({}))) as { message?: string };
    throw new Error(answer.status === 404 ? 'The recording was deleted, or was not kept.' : (message ?? ''));
  }
  const size = Number(answer.headers.get('content-length') ?? 0);
  if (size > mostOctets) {
    await answer.body?.cancel();
    throw new Error(`It has ${octets(size)}: fetch it with GET /ari/recordings/stored/${name}/file.`);
  }
  const blob = await answer.blob();
  const content = await blob.arrayBuffer();
  const { parts, samples } = openRecording(content, format);
  const [only] = parts;
  // What is decoded is detached, so it is a copy.
  const known = samples ?? (await decodedByBrowser(await blob.arrayBuffer()));
  const played = only === content ? blob : new Blob([...parts], { type: 'audio/wav' });
  return { url: URL.createObjectURL(played), blob, waveform: known && waveformOf(known, columns) };
}

/** Plays a kept recording, with its waveform: a click goes to that place. */
export function RecordingPlayer({ name, format }: { name: string; format: string }) {
  const [opened, setOpened] = useState<Opened>();
  const [problem, setProblem] = useState<string>();
  const [place, setPlace] = useState(0);
  const audio = useRef<HTMLAudioElement>(null);
  useEffect(() => () => opened && URL.revokeObjectURL(opened.url), [opened]);
  if (!may('recordings:getStoredFile'))
    return <p class="quiet">Your user may not play recordings (operation recordings:getStoredFile).</p>;
  const open = () => fetchRecording(name, format).then(setOpened, (error: unknown) => setProblem(reasonOf(error)));
  if (!opened)
    return (
      <p class="row">
        <button type="button" class="small" onClick={() => void open()}>
          Play recording
        </button>
        {problem === undefined ? null : (
          <span class="bad" role="alert">
            {problem}
          </span>
        )}
      </p>
    );
  const { url, blob, waveform } = opened;
  const seconds = waveform?.seconds ?? 0;
  return (
    <figure class="recording" aria-label={`Recording ${name}`}>
      {waveform ? (
        <svg
          viewBox={`0 0 ${waveform.peaks.length} 2`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Waveform, ${duration(seconds * 1000)}`}
          onPointerDown={({ offsetX, currentTarget }) => {
            if (audio.current) audio.current.currentTime = (offsetX / currentTarget.clientWidth) * seconds;
          }}
        >
          <path d={outlineOf(waveform.peaks)} />
          <rect x="0" y="0" height="2" width={seconds > 0 ? (place / seconds) * waveform.peaks.length : 0} />
        </svg>
      ) : (
        <p class="quiet">This recording is too long for a waveform, or its format is unknown.</p>
      )}
      <div class="row">
        {/* biome-ignore lint/a11y/useMediaCaption: nobody has written down what is said in a call */}
        <audio
          ref={audio}
          controls
          src={url}
          aria-label={`Recording ${name}`}
          onTimeUpdate={({ currentTarget }) => setPlace(currentTarget.currentTime)}
          onError={() => setProblem('The browser cannot play this format: save it.')}
        />
        <button type="button" class="small" onClick={() => saveAs(blob, name.split('/').at(-1) ?? name)}>
          Save
        </button>
      </div>
      {problem === undefined ? null : <p class="bad">{problem}</p>}
    </figure>
  );
}
