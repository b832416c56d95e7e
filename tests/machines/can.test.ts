import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { ignoredBy, leavesOf } from '../../scripts/charts.ts';
import { type ChartPage, chartPages } from '../../scripts/state-diagrams.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { coverChart } from '../support/charts.ts';

/**
 * What a client may ask for is what the chart can do: in every state that the walk of a chart reaches, an operation is
 * refused where its event would change nothing, and is not where it would.
 */

/** What of the context refusals and guards look at. */
const keys: Readonly<Record<string, (context: never) => unknown>> = {
  channel: ({ origin }: { origin: string }) => origin,
  ownership: ({ attached, due, departures }: { attached?: true; due?: true; departures?: readonly object[] }) => [
    ...[attached, due, Math.min(departures?.length ?? 0, 2)],
  ],
  bridge: ({
    class: kind,
    musicClass,
    members,
  }: {
    class: string;
    musicClass?: string;
    members: readonly object[];
  }) => [...[kind, musicClass, Math.min(members.length, 2)]],
};

/** Operations whose event in the chart has another name. */
const eventOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ownership: { continue: 'leave', move: 'leave' },
};

/** What clients are refused in some states (everywhere, if none are named), and the server does there by itself. */
const ofServer: readonly { chart: string; operation: string; in?: readonly string[]; error?: string; why: string }[] = [
  { chart: 'channel', operation: 'dial', in: ['down'], why: 'an originate or a Dial calls by itself' },
  ...['destroy', 'startMoh', 'stopMoh'].map((operation) => ({
    ...{ chart: 'bridge', operation, error: 'bridgeNotInStasis' },
    why: 'the dialplan does it to the bridges that it has made',
  })),
  {
    ...{ chart: 'channel', operation: 'dtmf', in: ['dialing', 'ringing'] },
    why: 'keys of a party are passed on to the target in whose bridge it is',
  },
];

/** The walked snapshots in which a refusal and the chart say different things. */
function disagreements({ machine, refusals, ignores }: ChartPage): string[] {
  const { inputs, events } = chartSamples.find((each) => each.machine === machine)!;
  const found = new Set<string>();
  const look = (snapshot: AnyMachineSnapshot): void => {
    for (const { name, refuse, commands } of refusals)
      for (const command of commands) {
        const type = eventOf[machine.id]?.[command] ?? command;
        const samples = events.filter((event) => event.type === type);
        if (samples.length === 0) continue;
        const error = refuse(snapshot as never, (name.endsWith('Operation') ? command : { type: command }) as never);
        const can = samples.some((event) => snapshot.can(event));
        const leaf = leavesOf(machine.root).find((each) => snapshot._nodes.includes(each));
        const isIgnored = leaf && ignoredBy(leaf, type, ignores) !== undefined;
        const isOfServer = ofServer.some(
          (each) =>
            each.chart === machine.id &&
            each.operation === command &&
            (each.error ?? error) === error &&
            (each.in?.includes(String(snapshot.value)) ?? true),
        );
        if (error !== undefined && can && !isOfServer)
          found.add(
            `${machine.id}: ${command} is refused (${error}), and the chart would take it in ${String(snapshot.value)}`,
          );
        if (error === undefined && !can && !isIgnored)
          found.add(
            `${machine.id}: ${command} is allowed, and the chart would not take it in ${String(snapshot.value)}`,
          );
      }
  };
  const key = keys[machine.id];
  coverChart(machine as AnyStateMachine, {
    inputs,
    events: events as never,
    each: look,
    ...(key && { key: ({ context }: AnyMachineSnapshot) => key(context as never) }),
  });
  return [...found];
}

for (const page of (await chartPages()).filter(({ refusals }) => refusals.length > 0))
  test(`${page.noun}: what is refused is what the chart cannot do`, () => {
    assert.equal(disagreements(page), []);
  });

test.run();
