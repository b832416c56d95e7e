import { Graphviz } from '@hpcc-js/wasm-graphviz';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import type { Chart, ChartEvent, ChartState, ChartTransition } from '../src/models/chart.ts';
import { machineJson, machineScxml } from './chart-formats.ts';
import {
  type Decision,
  descendants,
  eventName,
  eventTypesOf,
  type Handling,
  readActions,
  readTransition,
  transitionsOf,
} from './charts.ts';
import { type ChartPage, chartPages, decisions } from './state-diagrams.ts';

/**
 * Makes the documents of `GET /hookswitch/charts` from src/machines: JSON and drawings. It runs in the build, so that
 * the server needs no layout engine.
 */

/** A chart as it is kept beside the built program. */
export type ChartDocument = { chart: Chart; svg: string; machine: object; scxml: string };

const abouts: Readonly<Record<string, string>> = {
  awayPolicy: 'What happens to the channels of an application that is away.',
  connectionCall: 'The call that a connection to an application was made for.',
  earlyAudio: 'What the caller of a Dial hears before the answer.',
  lifecycle: 'The life of a part of the server that takes calls or makes connections.',
  memberMusic: 'The music on hold that a bridge plays to one member.',
  ownRefers: 'REFERs that we send inside a call, and their progress.',
  receivedRefers: 'REFERs that the far side sends inside a call.',
  broadcastOffer: 'A call that is offered to several applications until one claims it.',
  externalLeg: 'The leg of a channel that exchanges audio with an external media server.',
  groupMember: 'A member of a group of connections that share an application.',
  groupMembership: 'A WebSocket that shares an application, at its node of the cluster.',
  nodeName: 'Whether this server has the name under which it is a node of a cluster.',
  idDirectory:
    'How a node of a cluster decides about ids that clients choose: in memory while it is alone, else by rows at NATS.',
  takeover: 'The calls of another node of a cluster, which this server goes on with when the node is lost.',
  stateReplica: 'The copy of the state of a node of a cluster that NATS keeps, as the node sees it.',
  bridgeLink: 'The audio between a bridge and its members at another node of a cluster, as each of both nodes sees it.',
  nodeMember: 'Another node of the cluster, as this one sees it.',
  leg: 'A call of a SIP endpoint, from its INVITE to its end.',
  localLeg: 'One half of a Local channel.',
  mediaQueue: 'The playbacks and recordings of a channel or bridge, one after another.',
  pendingMediaSession: 'The media session of a leg, usable before its port is open.',
  phoneSubscription: 'The dialog of a phone that watches extensions or mailboxes.',
  trickle: 'Candidates that the far side of a call tells by INFO.',
  pictureUpdates: 'Requests for key frames that a call sends by INFO.',
  outsideRefer: 'A REFER outside a dialog: the phone asks for a call to another number.',
  application: 'An application, with or without a connection that takes its events.',
  bridge: 'A bridge, from its creation to its destruction.',
  bridgeVideo: 'The video of a bridge: its mode and its source.',
  channel: 'A channel, from its creation to its destruction with a cause.',
  channelAudio: 'The audio of a channel: mute, hold and the music meanwhile.',
  contact: 'A contact of a phone, and whether it answers OPTIONS.',
  externalConnection: 'The connection of a channel to an audio server.',
  featureKeys: 'Feature keys of a party: blind and attended transfer, hangup, recording.',
  liveRecording: 'A recording while it is made.',
  outboundConnection: 'A WebSocket that the server opens to an application.',
  registration: 'The registration of a line at its provider.',
  ownership: 'Who controls a channel: nobody, the dialplan, or an application.',
  dial: 'A Dial: calls the targets for a channel, and connects the first that answers.',
  consultation: 'The consultation call of an attended transfer, while the other party hears music.',
  supervision: 'The process of a supervised server: started, restarted after a crash, replaced in an upgrade.',
  transfer: 'The transfer of a call to another party.',
  playback: 'A list of media that a channel or bridge plays.',
  watcher: 'The subscription of a phone to device states or messages.',
  webrtcLeg: 'A call of a browser over HTTP, from its offer to its end.',
};

const pathOf = (node: AnyStateNode): string => node.path.join('.');

/** Words of a name: `liveRecording` is `Live recording`. */
const titleOf = (name: string): string => {
  const words = name
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/\brefer(s?)\b/, 'REFER$1')
    .replace(/^webrtc\b/, 'WebRTC');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
};

function statesOf(machine: AnyStateMachine): ChartState[] {
  const types = eventTypesOf(machine);
  return descendants(machine.root).map((node) => {
    const { effects, facts } = readActions(node.entry, machine, types);
    const parent = node.parent ? pathOf(node.parent) : '';
    const shown = (node.meta as { ari?: string } | undefined)?.ari;
    const isInitial = node.parent?.type === 'compound' && node.parent.initial.target[0] === node;
    return {
      id: pathOf(node),
      kind: node.type as ChartState['kind'],
      ...(parent === '' ? {} : { parent }),
      ...(isInitial ? { initial: true } : {}),
      ...(shown === undefined ? {} : { shown }),
      effects: [...effects],
      facts: [...facts],
    };
  });
}

/** One line stands for all transitions from one state to another. */
const edgeId = (from: string, to: string): string => `edge:${from}:${to}`;

function transitionsIn(machine: AnyStateMachine): ChartTransition[] {
  return [machine.root, ...descendants(machine.root)].flatMap((node) =>
    transitionsOf(node).flatMap((transition): ChartTransition[] => {
      const { guard, targets, effects, facts } = readTransition(transition, machine);
      const from = pathOf(node);
      const common = {
        from,
        event: eventName(transition.eventType),
        ...(guard === '' ? {} : { guard }),
        effects: [...effects],
        facts: [...facts],
      };
      if (targets.length === 0) return [common];
      return targets.map((target) => ({ ...common, to: pathOf(target), edge: edgeId(from, pathOf(target)) }));
    }),
  );
}

const inWords = ({ guard, targets, effects, facts, raised, keeps }: Handling): string => {
  const done = [...effects, ...facts, ...raised.map((type) => `raise ${type}`)].join(', ');
  const what = [...targets.map(({ key }) => `→ ${key}`), ...(done === '' ? [] : [done])].join(' / ');
  return `${guard === '' ? '' : `[${guard}] `}${what || (keeps ? 'noted' : 'ignored')}`;
};

const plain = (error: string): string => error.replaceAll('*', '');

function decisionInWords(decision: Decision): string {
  switch (decision.type) {
    case 'handled': {
      const refused = decision.refused === undefined ? '' : `; refused: ${plain(decision.refused)}`;
      return decision.handling.map(inWords).join('; ') + refused;
    }
    case 'refused':
      return `refused: ${plain(decision.error)}`;
    case 'allowed':
      return 'allowed';
    case 'ignored': {
      const refused = decision.refused === undefined ? '' : `; refused: ${plain(decision.refused)}`;
      return `ignored: ${decision.why}${refused}`;
    }
    case 'undecided':
      return '';
  }
}

function eventsOf(page: ChartPage): ChartEvent[] {
  const byEvent = new Map<string, ChartEvent>();
  for (const { leaf, event, decision } of decisions(page)) {
    const kind = event.includes('.') && !event.endsWith('.set') ? 'report' : 'command';
    const entry: ChartEvent = byEvent.get(event) ?? { event, kind, in: {} };
    entry.in[pathOf(leaf)] = decisionInWords(decision);
    byEvent.set(event, entry);
  }
  return [...byEvent.values()].sort((one, other) => one.kind.localeCompare(other.kind));
}

const delaysOf = (machine: AnyStateMachine): Record<string, string> =>
  Object.fromEntries(
    Object.entries(machine.implementations.delays).map(([name, delay]) => [
      name,
      typeof delay === 'number' ? `${delay} ms` : 'decided when it starts',
    ]),
  );

/* ---- Drawing --------------------------------------------------------------------------------------------------- */

const quote = (label: string): string => `"${label.replaceAll(/["\\]/g, '\\$&')}"`;
const longestLabel = 2;
/** Transitions to one state from this many others are listed only on lines that have no others. */
const manySources = 3;

/** The box that stands for all states; no state has this id. */
const anyState = 'any state';

/** The chart in Graphviz' language: a line for each pair of states, what leads along it as its label. */
export function dotOf({ name, states, transitions }: Chart): string {
  const lines = [
    `digraph ${quote(name)} {`,
    'bgcolor=transparent; rankdir=TB; nodesep=0.35; ranksep=0.42; fontname=Helvetica; fontsize=12; compound=true;',
    'node [shape=box, style="rounded,filled", fillcolor=white, fontname=Helvetica, fontsize=13, margin="0.18,0.09", height=0.4];',
    // Pages write them smaller, in letters that are wider than those of Helvetica.
    'edge [fontname=Helvetica, fontsize=12, arrowsize=0.65];',
  ];
  const children = (parent: string | undefined) => states.filter((state) => state.parent === parent);
  const holds = (id: string) => states.some(({ parent }) => parent === id);
  const draw = (state: ChartState): void => {
    const key = state.id.split('.').at(-1) ?? state.id;
    if (holds(state.id)) {
      lines.push(`subgraph ${quote(`cluster_${state.id}`)} { id=${quote(`state:${state.id}`)}; class="region";`);
      lines.push(`label=${quote(key)}; style=rounded; margin=14;`);
      for (const child of children(state.id)) draw(child);
      lines.push('}');
      return;
    }
    const classes = ['state', ...(state.kind === 'final' ? ['final'] : []), ...(state.initial ? ['initial'] : [])];
    const shape = state.kind === 'final' ? ', peripheries=2' : '';
    lines.push(
      `${quote(state.id)} [label=${quote(key)}, id=${quote(`state:${state.id}`)}, class=${quote(classes.join(' '))}${shape}];`,
    );
  };
  for (const state of children(undefined)) draw(state);
  const leafIn = (id: string): string => {
    const inner = children(id);
    return inner.length === 0 ? id : leafIn((inner.find(({ initial }) => initial) ?? inner[0] ?? { id }).id);
  };
  // What every state does alike is drawn once, from a box that stands for all of them.
  if (transitions.some(({ from, to }) => from === '' && to !== undefined))
    lines.push(`${quote(anyState)} [label="any state", class="any"];`);
  const pairs = new Map<string, { from: string; to: string; events: Set<string> }>();
  for (const { from, to, event, edge } of transitions) {
    if (to === undefined || edge === undefined || from === to) continue;
    const pair = pairs.get(edge) ?? { from, to, events: new Set() };
    pair.events.add(event);
    pairs.set(edge, pair);
  }
  /** Whether an event leads to a state from so many others that the drawing does not say it each time. */
  const isCommon = (event: string, to: string): boolean =>
    [...pairs.values()].filter((pair) => pair.to === to && pair.events.has(event)).length >= manySources;
  for (const [edge, { from, to, events }] of pairs) {
    const own = [...events].filter((event) => !isCommon(event, to));
    const all = own.length > 0 ? own : [...events];
    const shown =
      all.length > longestLabel + 1 ? [...all.slice(0, longestLabel), `+ ${all.length - longestLabel} more`] : all;
    const ends = [
      holds(from) ? `, ltail=${quote(`cluster_${from}`)}` : '',
      holds(to) ? `, lhead=${quote(`cluster_${to}`)}` : '',
    ];
    const label = shown
      // Room for the next line beside it: letters of pages are wider.
      .map((event) => `${event}   \\l`)
      .join('')
      .replaceAll('"', '');
    lines.push(
      `${quote(from === '' ? anyState : leafIn(from))} -> ${quote(leafIn(to))} [id=${quote(edge)}, class=way, label="${label}"${ends.join('')}];`,
    );
  }
  return [...lines, '}'].join('\n');
}

/** Removes Graphviz's frame; the page sets the colours. */
const bare = (svg: string): string =>
  svg
    .slice(svg.indexOf('<svg'))
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/<title>[^<]*<\/title>/g, '')
    .replaceAll(/&#45;/g, '-')
    .replaceAll(/\n+/g, '\n')
    .trim();

/** Every chart there is, in the order of their names. */
export async function chartDocuments(): Promise<ChartDocument[]> {
  const graphviz = await Graphviz.load();
  return (await chartPages()).map((page) => {
    const { machine, file } = page;
    const chart: Chart = {
      name: machine.id,
      title: titleOf(machine.id),
      about: abouts[machine.id] ?? '',
      file,
      states: statesOf(machine),
      transitions: transitionsIn(machine),
      events: eventsOf(page),
      delays: delaysOf(machine),
    };
    const svg = bare(graphviz.dot(dotOf(chart), 'svg'));
    return { chart, svg, machine: machineJson(machine), scxml: machineScxml(machine) };
  });
}
