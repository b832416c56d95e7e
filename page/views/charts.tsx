import type { ChartSummary } from '../../src/models/chart.ts';
import { useChart } from '../core/charts.ts';
import { to } from '../core/route.ts';
import { Empty, Panel, useAsked } from '../parts/bits.tsx';
import { ChartDrawing } from '../parts/chart.tsx';

export function Charts({ name = 'channel' }: { name: string | undefined }) {
  const { value: listed, error } = useAsked<ChartSummary[]>('/hookswitch/charts');
  const charts = listed ?? [];
  const isUnknown = listed !== undefined && !listed.some((each) => each.name === name);
  const drawn = useChart(isUnknown || !listed ? undefined : name);
  return (
    <>
      <h1>Charts</h1>
      <nav class="filters" aria-label="Charts">
        {charts.map((each) => (
          <a
            class="chip"
            key={each.name}
            href={to('charts', each.name)}
            aria-current={each.name === name ? 'true' : undefined}
          >
            {each.title}
          </a>
        ))}
      </nav>
      {error ? <Empty>{error}</Empty> : null}
      {isUnknown ? <Empty>There is no chart {name}. Choose one above.</Empty> : null}
      {drawn && !isUnknown ? (
        <>
          <p class="lead">{drawn.chart.about}</p>
          <Panel title={drawn.chart.title} extra={<code class="quiet">{drawn.chart.file}</code>}>
            <ChartDrawing name={name} />
          </Panel>
          {(['command', 'report'] as const).map((kind) => (
            <EventTable key={kind} kind={kind} drawn={drawn} />
          ))}
        </>
      ) : null}
    </>
  );
}

const toneOf = (text: string): string => {
  if (text.startsWith('refused')) return 'refused';
  if (text.startsWith('ignored')) return 'ignored';
  return text === 'allowed' ? 'allowed' : '';
};

function EventTable({ kind, drawn }: { kind: 'command' | 'report'; drawn: NonNullable<ReturnType<typeof useChart>> }) {
  const events = drawn.chart.events.filter((event) => event.kind === kind);
  const states = [...new Set(events.flatMap((event) => Object.keys(event.in)))];
  const last = (state: string): string => state.split('.').at(-1) ?? state;
  /** Its own name, with that of the state around it where another one is called the same. */
  const titleOf = (state: string): string =>
    states.some((other) => other !== state && last(other) === last(state)) ? state : last(state);
  if (events.length === 0) return null;
  return (
    <Panel title={kind === 'command' ? 'Commands and their transitions' : 'Reports and their transitions'}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section class="scroll" tabIndex={0} aria-label={`${kind}s by state`}>
        <table class="events-table" aria-label={`${kind}s by state`}>
          <thead>
            <tr>
              <th scope="col">{kind}</th>
              {states.map((state) => (
                <th scope="col" key={state}>
                  {titleOf(state)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {events.map(({ event, in: does }) => (
              <tr key={event}>
                <th scope="row">
                  <code>{event}</code>
                </th>
                {states.map((state) => (
                  <td key={state} class={toneOf(does[state] ?? '')}>
                    {does[state] ?? ''}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Panel>
  );
}
