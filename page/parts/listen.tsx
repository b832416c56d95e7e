import { useEffect, useState } from 'preact/hooks';
import type { ServerInfo } from '../../src/models/server-info.ts';
import { useCell } from '../core/cell.ts';
import { type Listening, listenTo } from '../core/listen.ts';
import { may, session } from '../core/session.ts';
import { useAsked } from './bits.tsx';
import { TalkButtons } from './phone.tsx';

/** A button that lets the loudspeaker say what a channel says and hears; nothing where that is not allowed. */
export function ListenButton({ channel, name }: { channel: string; name: string }) {
  const who = useCell(session);
  const { value: server } = useAsked<ServerInfo>('/hookswitch/server');
  const [on, setOn] = useState(false);
  const [listening, setListening] = useState<Listening>();
  useEffect(() => (on ? listenTo(channel, setListening) : undefined), [on, channel]);
  const over = listening?.state === 'over';
  useEffect(() => {
    if (over) setOn(false);
  }, [over]);
  const mayListen =
    may('listening:listen') &&
    (server?.listening === 'everyone' || (server?.listening === 'operators' && who?.read_only === false));
  if (!mayListen) return null;
  return (
    <p class="listen">
      <button type="button" class={on ? 'small on' : 'small'} aria-pressed={on} onClick={() => setOn(!on)}>
        {on ? 'Stop listening' : 'Listen'}
      </button>{' '}
      <TalkButtons channel={channel} name={name} />
      <span class="quiet" role="status">
        {on
          ? listening?.state === 'heard'
            ? 'You hear both sides. The log names you as a listener.'
            : 'Opening …'
          : ''}
        {listening?.state === 'over' && !on ? listening.reason : ''}
      </span>
    </p>
  );
}
