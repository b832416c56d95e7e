import { useEffect, useRef, useState } from 'preact/hooks';
import { socketUrl } from './session.ts';

/** Whether what is shown is what is. */
export type LiveState = 'connecting' | 'live' | 'lost' | 'gone';

const firstRetryMs = 500;
const longestRetryMs = 8_000;

/**
 * Follows the live WebSocket at a path; it is opened again when it is lost. Messages come at most four times a second.
 * `gone`: the server says that there is no such thing.
 */
export function useLive<M>(path: string | undefined, take: (message: M) => void): LiveState {
  const [state, setState] = useState<LiveState>('connecting');
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    if (path === undefined) return undefined;
    let socket: WebSocket | undefined;
    let retry = firstRetryMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let over = false;
    const open = async (): Promise<void> => {
      try {
        const url = await socketUrl(path);
        if (over) return;
        socket = new WebSocket(url);
      } catch {
        again();
        return;
      }
      socket.onopen = () => {
        retry = firstRetryMs;
        setState('live');
      };
      socket.onmessage = ({ data }) => latest.current(JSON.parse(String(data)) as M);
      socket.onclose = () => again();
    };
    const again = (): void => {
      if (over) return;
      setState('lost');
      timer = setTimeout(() => void open(), retry);
      retry = Math.min(retry * 2, longestRetryMs);
    };
    setState('connecting');
    void open();
    return () => {
      over = true;
      clearTimeout(timer);
      socket?.close();
    };
  }, [path]);
  return state;
}
