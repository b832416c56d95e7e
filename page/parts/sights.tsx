import { useEffect, useState } from 'preact/hooks';
import type { BridgeSight } from '../../src/models/bridge-sight.ts';
import { sightRowsOf } from '../../src/models/sight-rows.ts';
import { ask, may } from '../core/session.ts';

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
  const rows = sightRowsOf(useSights(bridge), nameOf);
  if (rows.length === 0) return null;
  return (
    <div class="scroll">
      <h4>Who sees whom</h4>
      <table class="sights">
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
