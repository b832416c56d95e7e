import { useEffect, useRef, useState } from 'preact/hooks';
import { useCell } from '../core/cell.ts';
import {
  answer,
  dial,
  hasMicrophone,
  hold,
  mute,
  type PhoneCall,
  pagePhone,
  supervise,
  turnOff,
  turnOn,
} from '../core/phone.ts';
import { may } from '../core/session.ts';
import { Pill } from './bits.tsx';

/** Plays what the far side of a call says, while the component is shown. */
function useSound(stream: MediaStream): void {
  useEffect(() => {
    const player = new Audio();
    player.srcObject = stream;
    // A browser that wants a click first has had it: the call was answered or made by one.
    player.play().catch(() => {});
    return () => {
      player.srcObject = null;
    };
  }, [stream]);
}

/** What the far side shows, once it shows something. Its sound is played apart. */
function Picture({ call, peer }: Pick<PhoneCall, 'call' | 'peer'>) {
  const screen = useRef<HTMLVideoElement>(null);
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const tracks = call.stream.getVideoTracks();
    if (screen.current) screen.current.srcObject = tracks.length === 0 ? null : new MediaStream(tracks);
  }, [call, call.state]);
  return (
    <video
      ref={screen}
      hidden={!isShown}
      autoplay
      muted
      playsInline
      aria-label={`Video of ${peer}`}
      onResize={({ currentTarget }) => setShown(currentTarget.videoWidth > 0)}
    />
  );
}

function KeyPad({ call }: { call: PhoneCall['call'] }) {
  return (
    <fieldset class="key-pad" aria-label="Keys">
      {[...'123456789*0#'].map((key) => (
        <button key={key} type="button" class="small" onClick={() => call.press(key)}>
          {key}
        </button>
      ))}
    </fieldset>
  );
}

function OneCall({ one }: { one: PhoneCall }) {
  const { call, peer, incoming, muted, held } = one;
  const rings = incoming && call.state === 'ringing';
  useSound(call.stream);
  return (
    <li>
      <p>
        <strong class="cut">{peer}</strong> <Pill state={call.state} />
      </p>
      <Picture call={call} peer={peer} />
      <p class="phone-buttons">
        {rings ? (
          <button type="button" class="small" onClick={() => void answer(one)}>
            Answer
          </button>
        ) : (
          <>
            <button type="button" class={muted ? 'small on' : 'small'} aria-pressed={muted} onClick={() => mute(one)}>
              Mute
            </button>
            <button
              type="button"
              class={held ? 'small on' : 'small'}
              aria-pressed={held}
              onClick={() => void hold(one)}
            >
              Hold
            </button>
          </>
        )}
        <button type="button" class="small danger" onClick={() => call.hangup()}>
          {rings ? 'Refuse' : 'Hang up'}
        </button>
      </p>
      {call.state === 'up' ? <KeyPad call={call} /> : null}
    </li>
  );
}

/** The second click of a double click places no second call. */
const once = (event: MouseEvent): void => {
  if (event.detail > 1) event.preventDefault();
};

function Dialer({ placing }: { placing: boolean }) {
  const [extension, setExtension] = useState('');
  const [context, setContext] = useState('default');
  return (
    <form
      class="dialer"
      onSubmit={(event) => {
        event.preventDefault();
        if (extension.trim() !== '') void dial(extension.trim(), context.trim() || 'default');
      }}
    >
      <input
        aria-label="Extension"
        placeholder="Extension"
        value={extension}
        onInput={({ currentTarget }) => setExtension(currentTarget.value)}
      />
      <input
        aria-label="Context"
        placeholder="Context"
        value={context}
        onInput={({ currentTarget }) => setContext(currentTarget.value)}
      />
      <button type="submit" class="small" aria-disabled={placing} onClick={once}>
        Call
      </button>
    </form>
  );
}

/** Turns the page's phone on and off. Nothing where that is not allowed. */
export function PhoneButton() {
  const on = useCell(pagePhone) !== undefined;
  if (!may('webrtc:call')) return null;
  const possible = hasMicrophone();
  return (
    <button
      type="button"
      class={on ? 'small on' : 'small'}
      aria-pressed={on}
      disabled={!possible}
      title={possible ? undefined : 'Browsers give a microphone to pages with HTTPS only.'}
      onClick={() => (on ? turnOff() : void turnOn())}
    >
      Phone
    </button>
  );
}

/** The page as a phone: it calls, and is called as `WebRTC/<user>`. */
export function PhonePanel() {
  const phone = useCell(pagePhone);
  if (!phone) return null;
  return (
    <section class="phone-panel" aria-label="Phone">
      <p>
        {phone.name === undefined ? (
          <Pill state="connecting" />
        ) : (
          <>
            Calls to <code>WebRTC/{phone.name}</code> ring here.
          </>
        )}
      </p>
      <ul>
        {phone.calls.map((one) => (
          <OneCall key={one.call} one={one} />
        ))}
      </ul>
      <Dialer placing={phone.placing} />
      <p class="problem" role="status">
        {phone.problem}
      </p>
    </section>
  );
}

/** Buttons that talk to the party of a channel, or to both sides of its call, with the page's phone. */
export function TalkButtons({ channel, name }: { channel: string; name: string }) {
  if (!may('listening:supervise') || !hasMicrophone()) return null;
  return (
    <>
      <button
        type="button"
        class="small"
        onClick={({ detail }) => detail > 1 || void supervise(channel, 'whisper', `The whisper to ${name}`)}
      >
        Whisper
      </button>{' '}
      <button
        type="button"
        class="small"
        onClick={({ detail }) => detail > 1 || void supervise(channel, 'barge', `The talk in ${name}`)}
      >
        Barge in
      </button>{' '}
    </>
  );
}
