import { useEffect, useState } from 'preact/hooks';
import type { VideoVisibility } from '../../src/models/video-visibility.ts';
import { visibilityRowsOf } from '../../src/models/visibility-rows.ts';
import { ask, may } from '../core/session.ts';

const askEveryMs = 2_000;

/** Requests a bridge's visibility periodically; empty while unknown. */
function useVideoVisibility(bridge: string): readonly VideoVisibility[] {
  const [visibility, setVisibility] = useState<readonly VideoVisibility[]>([]);
  useEffect(() => {
    if (!may('videoVisibility:bridge')) return undefined;
    const look = () => {
      if (document.hidden) return;
      ask<VideoVisibility[]>('GET', `/hookswitch/bridges/${encodeURIComponent(bridge)}/video-visibility`).then(
        setVisibility,
        () => setVisibility([]),
      );
    };
    look();
    const timer = setInterval(look, askEveryMs);
    return () => clearInterval(timer);
  }, [bridge]);
  return visibility;
}

/** Which member of a bridge sees which, and reasons. */
export function VideoVisibilityTable({ bridge, nameOf }: { bridge: string; nameOf: (channel: string) => string }) {
  const rows = visibilityRowsOf(useVideoVisibility(bridge), nameOf);
  if (rows.length === 0) return null;
  return (
    <div class="scroll">
      <h4>Video visibility</h4>
      <table class="video-visibility" aria-label="Who sees whom">
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Sees</th>
            <th scope="col">Does not see</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ member, sees, unseen }) => (
            <tr key={member}>
              <th scope="row">{member}</th>
              <td>{sees.join(', ') || 'nobody'}</td>
              <td>
                {unseen.length === 0 ? '—' : null}
                {unseen.map(({ why, others }) => (
                  <p key={why}>
                    {others.join(', ')}
                    {why === '' ? '' : <span class="quiet">: {why}</span>}
                  </p>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
