import { useEffect, useState } from 'preact/hooks';
import type { Chart } from '../../src/models/chart.ts';
import { ask, askRaw, may } from './session.ts';

/** A chart and its drawing. */
export type DrawnChart = { chart: Chart; svg: string };

const known = new Map<string, Promise<DrawnChart>>();

const load = (name: string): Promise<DrawnChart> => {
  const loading = known.get(name);
  if (loading) return loading;
  const path = `/hookswitch/charts/${encodeURIComponent(name)}`;
  const drawn = Promise.all([
    ask<Chart>('GET', path),
    askRaw('GET', `${path}.svg`).then((answer) => answer.text()),
  ]).then(([chart, svg]) => ({ chart, svg }));
  known.set(name, drawn);
  drawn.catch(() => known.delete(name));
  return drawn;
};

/** A chart by its name; undefined until it is there. Charts never change while a server runs. */
export function useChart(name: string | undefined): DrawnChart | undefined {
  const [drawn, setDrawn] = useState<DrawnChart>();
  useEffect(() => {
    let wanted = true;
    setDrawn(undefined);
    if (name !== undefined && may('charts:get'))
      load(name).then(
        (chart) => wanted && setDrawn(chart),
        () => undefined,
      );
    return () => {
      wanted = false;
    };
  }, [name]);
  return drawn;
}
