import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { eventTypesOf, readActions, readTransition, transitionsOf } from './charts.ts';

/**
 * Charts in formats that other tools open: the configuration of `createMachine` as JSON, with guards, actions and delays by
 * name (Stately Studio, the editors of xstate), and SCXML (https://www.w3.org/TR/scxml/).
 */

type Named = { type: string };
type TransitionJson = { target?: string[]; guard?: Named; actions?: Named[]; reenter?: true };
type StateJson = {
  type?: string;
  initial?: string;
  meta?: unknown;
  entry?: Named[];
  exit?: Named[];
  on?: Record<string, TransitionJson[]>;
  after?: Record<string, TransitionJson[]>;
  always?: TransitionJson[];
  states?: Record<string, StateJson>;
};

const named = (names: readonly string[]): Named[] => names.map((type) => ({ type }));
const some = <T>(name: string, list: readonly T[]): Record<string, readonly T[]> =>
  list.length === 0 ? {} : { [name]: list };
const isEmpty = (object: object): boolean => Object.keys(object).length === 0;

/** Names of what a list of actions does: effects, facts as `emit <fact>`, raised events, and changes of the context. */
function namesOf(actions: readonly unknown[], machine: AnyStateMachine, types: readonly string[]): string[] {
  const { effects, facts, raised, keeps } = readActions(actions, machine, types);
  const emitted = facts.map((fact) => `emit ${fact}`);
  return [...(keeps ? ['assign'] : []), ...emitted, ...raised.map((type) => `raise ${type}`), ...effects];
}

/** The delay whose end an event is; undefined for others. */
const delayOf = (eventType: string): string | undefined => /^xstate\.after\.([^.]+)\./.exec(eventType)?.[1];

/** The id that xstate gives a state without one of its own. */
const idOf = ({ machine, path }: AnyStateNode): string => [machine.id, ...path].join('.');

function transitionJson(transition: AnyTransitionDefinition, machine: AnyStateMachine): TransitionJson {
  const { guard, targets } = readTransition(transition, machine);
  return {
    ...(targets.length > 0 && { target: targets.map((target) => `#${idOf(target)}`) }),
    ...(guard !== '' && { guard: { type: guard } }),
    ...some('actions', named(namesOf(transition.actions, machine, [transition.eventType]))),
    ...(transition.reenter && targets.length > 0 && { reenter: true as const }),
  };
}

function stateJson(node: AnyStateNode, machine: AnyStateMachine): StateJson {
  const on: Record<string, TransitionJson[]> = {};
  const after: Record<string, TransitionJson[]> = {};
  const always: TransitionJson[] = [];
  for (const transition of transitionsOf(node)) {
    const { eventType } = transition;
    const delay = delayOf(eventType);
    const list = eventType === '' ? always : delay === undefined ? (on[eventType] ??= []) : (after[delay] ??= []);
    list.push(transitionJson(transition, machine));
  }
  const types = eventTypesOf(machine);
  const states = Object.entries(node.states).map(([key, child]) => [key, stateJson(child, machine)] as const);
  return {
    ...(node.type === 'final' || node.type === 'parallel' ? { type: node.type } : {}),
    ...(node.type === 'compound' && { initial: node.initial.target[0]?.key ?? '' }),
    ...(node.meta !== undefined && { meta: node.meta as unknown }),
    ...some('entry', named(namesOf(node.entry.filter(isNoDelay), machine, types))),
    ...some('exit', named(namesOf(node.exit.filter(isNoDelay), machine, types))),
    ...(!isEmpty(on) && { on }),
    ...(!isEmpty(after) && { after }),
    ...(always.length > 0 && { always }),
    ...(states.length > 0 && { states: Object.fromEntries(states) }),
  };
}

/** Whether an action is the chart's own: xstate starts a delay by raising its end, and cancels it on exit. */
function isNoDelay(action: unknown): boolean {
  const { type, event, sendId } = action as { type?: string; event?: { type?: string }; sendId?: string };
  if (type === 'xstate.raise') return delayOf(event?.type ?? '') === undefined;
  return type !== 'xstate.cancel' || delayOf(sendId ?? '') === undefined;
}

/** The configuration of a chart, as plain JSON: `createMachine(config)` makes a machine of the same states of it. */
export const machineJson = (machine: AnyStateMachine): object => ({
  id: machine.id,
  ...stateJson(machine.root, machine),
});

/* ---- SCXML -------------------------------------------------------------------------------------------------------- */

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const xml = (text: string): string => text.replaceAll(/[&<>"]/g, (letter) => escapes[letter] ?? letter);
const attributes = (values: Record<string, string | undefined>): string =>
  Object.entries(values)
    .map(([name, value]) => (value === undefined ? '' : ` ${name}="${xml(value)}"`))
    .join('');

/** An identifier as SCXML allows it (an XML name). */
const scxmlId = (id: string): string => id.replaceAll(/[^\w.-]/g, '_');

function content({ type }: Named): string {
  const [verb, event] = type.split(' ');
  if (event === undefined) return `<script>${xml(type)}()</script>`;
  return verb === 'raise' ? `<raise${attributes({ event })}/>` : `<send${attributes({ event, target: '#_parent' })}/>`;
}

function transitionXml({ target, guard, actions = [] }: TransitionJson, event: string | undefined): string {
  const goal = target?.map((id) => scxmlId(id.slice(1))).join(' ');
  const open = `<transition${attributes({ event, cond: guard && `${guard.type}()`, target: goal })}`;
  return actions.length === 0 ? `${open}/>` : `${open}>${actions.map(content).join('')}</transition>`;
}

function stateXml(state: StateJson, id: string): string {
  const { type, initial, entry = [], exit = [], on = {}, after = {}, always = [], states = {} } = state;
  const delays = Object.keys(after);
  const timer = (delay: string) => scxmlId(`after.${delay}.${id}`);
  const starts = delays.map(
    (delay) =>
      `<send${attributes({ id: timer(delay), event: timer(delay), ...(/^\d+$/.test(delay) ? { delay: `${delay}ms` } : { delayexpr: delay }) })}/>`,
  );
  const stops = delays.map((delay) => `<cancel${attributes({ sendid: timer(delay) })}/>`);
  const block = (name: string, parts: readonly string[]) =>
    parts.length === 0 ? '' : `<${name}>${parts.join('')}</${name}>`;
  const inside = [
    block('onentry', [...entry.map(content), ...starts]),
    block('onexit', [...stops, ...exit.map(content)]),
    ...always.map((transition) => transitionXml(transition, undefined)),
    ...Object.entries(on).flatMap(([event, list]) => list.map((transition) => transitionXml(transition, event))),
    ...delays.flatMap((delay) => (after[delay] ?? []).map((transition) => transitionXml(transition, timer(delay)))),
    ...Object.entries(states).map(([key, child]) => stateXml(child, `${id}.${key}`)),
  ].join('');
  const tag = type === 'final' ? 'final' : type === 'parallel' ? 'parallel' : 'state';
  const first = initial === undefined ? undefined : scxmlId(`${id}.${initial}`);
  return `<${tag}${attributes({ id: scxmlId(id), initial: first })}>${inside}</${tag}>`;
}

/** A chart as an SCXML document. Guards and effects are calls by name; facts are sent to the parent. */
export function machineScxml(machine: AnyStateMachine): string {
  const { id } = machine;
  const head = attributes({ xmlns: 'http://www.w3.org/2005/07/scxml', version: '1.0', datamodel: 'ecmascript' });
  const document = `<scxml${head}${attributes({ name: id, initial: scxmlId(id) })}>${stateXml(stateJson(machine.root, machine), id)}</scxml>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${document}\n`;
}
