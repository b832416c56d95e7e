import { useEffect, useState } from 'preact/hooks';
import type { BridgeSight } from '../../src/models/bridge-sight.ts';
import { ask, may } from '../core/session.ts';
import { whyUnseenText } from '../core/sights.ts';

const askEveryMs = 2_000;

/** Asks who sees whom in a bridge again and again; empty while nobody knows. */
function useSights(bridge: string): readonly BridgeSight[] {
  const [sights, setSights] = useState<readonly BridgeSight[]>([]);
  useEffect(() => {
    if (!may('sights:bridge')) return undefined;
    const look = () => {
      if (document.hidden) return;
      ask<BridgeSight[]>('GET', `/hookswitch/bridges/${encodeURIComponent(bridge)}/sights`).then(setSights, () =>
        setSights([]),
      );
    };
    look();
    const timer = setInterval(look, askEveryMs);
    return () => clearInterval(timer);
  }, [bridge]);
  return sights;
}

/** Who in a bridge sees whom, and why not. */
export function Sights({ bridge, nameOf }: { bridge: string; nameOf: (channel: string) => string }) {
  const rows = useSights(bridge).flatMap(({ channel, others }) =>
    others.map((other) => ({ viewer: channel, ...other })),
  );
  if (rows.length === 0) return null;
  return (
    <div class="scroll">
      <h4>Who sees whom</h4>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Other</th>
            <th scope="col">Sees it</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ viewer, channel, seen, why }) => (
            <tr key={`${viewer} ${channel}`}>
              <th scope="row">{nameOf(viewer)}</th>
              <td>{nameOf(channel)}</td>
              <td>{seen ? 'yes' : 'no'}</td>
              <td>{why === undefined ? '—' : whyUnseenText(why)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
