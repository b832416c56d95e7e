import { useEffect, useRef, useState } from 'preact/hooks';
import { paced } from './paced.ts';
import { ask, Refused, socketUrl } from './session.ts';

/** Whether the shown data is current. */
export type LiveState = 'connecting' | 'live' | 'lost' | 'gone';

const firstRetryMs = 500;
const longestRetryMs = 8_000;

/**
 * Follows the live WebSocket at a path; it is opened again when it is lost. Messages come at most four times a second; while much comes they
 * are taken once a second.
 * `gone`: the server says that there is no such thing; it is not asked again until it is `known` from elsewhere.
 */
export function useLive<M>(path: string | undefined, take: (message: M) => void, known = false): LiveState {
  const [state, setState] = useState<LiveState>('connecting');
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (known && state === 'gone') setTurn((before) => before + 1);
    // Only when it becomes known: what is known and yet not found is not asked for again and again.
  }, [known]);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    if (path === undefined) return undefined;
    let socket: WebSocket | undefined;
    let retry = firstRetryMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let over = false;
    const messages = paced<M>((message) => latest.current(message));
    const open = async (): Promise<void> => {
      try {
        const url = await socketUrl(path);
        if (over) return;
        socket = new WebSocket(url);
      } catch {
        again();
        return;
      }
      let isOpen = false;
      socket.onopen = () => {
        isOpen = true;
        retry = firstRetryMs;
        setState('live');
      };
      socket.onmessage = ({ data }) => messages.hear(JSON.parse(String(data)) as M, String(data).length);
      // A browser does not say why a WebSocket was refused: the same path without one does.
      socket.onclose = () => (isOpen || over ? again() : void ask('GET', path).catch(explained).then(again));
    };
    let isGone = false;
    const explained = (problem: unknown): void => {
      isGone = problem instanceof Refused && problem.status === 404;
    };
    const again = (): void => {
      if (over) return;
      setState(isGone ? 'gone' : 'lost');
      if (isGone) return;
      timer = setTimeout(() => void open(), retry);
      retry = Math.min(retry * 2, longestRetryMs);
    };
    setState('connecting');
    void open();
    return () => {
      over = true;
      clearTimeout(timer);
      messages.close();
      socket?.close();
    };
  }, [path, turn]);
  return state;
}
