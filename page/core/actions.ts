import type { AllowedOperations } from '../../src/models/allowed-operations.ts';

/** How operations are asked for: what to send for each. Whether one may be done is said by the charts alone. */

/** A parameter of an operation. */
export type Field = { name: string; label: string; value: string };
export type Action = {
  label: string;
  method: string;
  path: string;
  fields: readonly Field[];
  /** It ends something: the page asks first. */
  grave: boolean;
  /** Whose work it is: that of an operator, or of an application's developer. */
  who: 'operator' | 'developer';
};

type Kind = AllowedOperations['kind'];

const field = (name: string, label: string, value = ''): Field => ({ name, label, value });

/** By kind and operation: label, method, path below the object, and what is asked for first. */
const actions: Readonly<
  Record<Kind, Readonly<Record<string, readonly [label: string, method: string, path: string, ...Field[]]>>>
> = {
  channel: {
    hangup: ['Hang up', 'DELETE', ''],
    answer: ['Answer', 'POST', '/answer'],
    ring: ['Ring', 'POST', '/ring'],
    ringStop: ['Stop ringing', 'DELETE', '/ring'],
    progress: ['Progress', 'POST', '/progress'],
    dtmf: ['Send digits', 'POST', '/dtmf', field('dtmf', 'Digits', '1')],
    play: ['Play', 'POST', '/play', field('media', 'Media', 'sound:hello-world')],
    record: ['Record', 'POST', '/record', field('name', 'Name', 'recording'), field('format', 'Format', 'wav')],
    hold: ['Hold', 'POST', '/hold'],
    unhold: ['Unhold', 'DELETE', '/hold'],
    mute: ['Mute', 'POST', '/mute', field('direction', 'Direction', 'both')],
    moh: ['Music', 'POST', '/moh', field('mohClass', 'Class', 'default')],
    silence: ['Silence', 'POST', '/silence'],
    dial: ['Dial', 'POST', '/dial'],
    continue: [
      'Continue in dialplan',
      'POST',
      '/continue',
      field('context', 'Context'),
      field('extension', 'Extension'),
    ],
    move: ['Move', 'POST', '/move', field('app', 'Application')],
    redirect: ['Redirect', 'POST', '/redirect', field('endpoint', 'Endpoint')],
    transferProgress: [
      'Report transfer progress',
      'POST',
      '/transfer_progress',
      field('states', 'State', 'channel_answered'),
    ],
    setVariable: ['Set variable', 'POST', '/variable', field('variable', 'Name'), field('value', 'Value')],
  },
  bridge: {
    destroy: ['Destroy', 'DELETE', ''],
    addChannel: ['Add channel', 'POST', '/addChannel', field('channel', 'Channel')],
    removeChannel: ['Remove channel', 'POST', '/removeChannel', field('channel', 'Channel')],
    startMoh: ['Music', 'POST', '/moh', field('mohClass', 'Class', 'default')],
    stopMoh: ['Stop music', 'DELETE', '/moh'],
    play: ['Play', 'POST', '/play', field('media', 'Media', 'sound:hello-world')],
    record: ['Record', 'POST', '/record', field('name', 'Name', 'recording'), field('format', 'Format', 'wav')],
    clearVideoSource: ['Clear video source', 'DELETE', '/videoSource'],
  },
  playback: {
    stop: ['Stop', 'DELETE', ''],
    restart: ['Restart', 'POST', '/control?operation=restart'],
    pause: ['Pause', 'POST', '/control?operation=pause'],
    unpause: ['Resume', 'POST', '/control?operation=unpause'],
    reverse: ['Back', 'POST', '/control?operation=reverse'],
    forward: ['Forward', 'POST', '/control?operation=forward'],
  },
  recording: {
    stop: ['Stop', 'POST', '/stop'],
    cancel: ['Discard', 'DELETE', ''],
    pause: ['Pause', 'POST', '/pause'],
    unpause: ['Resume', 'DELETE', '/pause'],
    mute: ['Mute', 'POST', '/mute'],
    unmute: ['Unmute', 'DELETE', '/mute'],
  },
};

const bases: Readonly<Record<Kind, string>> = {
  channel: '/ari/channels',
  bridge: '/ari/bridges',
  playback: '/ari/playbacks',
  recording: '/ari/recordings/live',
};

/** By kind and operation: what nothing brings back. */
const grave: ReadonlySet<string> = new Set([
  ...['channel hangup', 'bridge destroy', 'playback stop', 'recording stop', 'recording cancel'],
]);

/** Commands of channels and bridges that control an application's flow. An operator needs none of them. */
const forDevelopers: ReadonlySet<string> = new Set([
  ...['answer', 'ring', 'ringStop', 'progress', 'silence', 'dial', 'continue', 'move', 'transferProgress'],
  ...['setVariable', 'clearVideoSource'],
]);

/** How an operation of an object is asked for; undefined for one that has no button of its own. */
export function actionOf(kind: Kind, id: string, operation: string): Action | undefined {
  const found = actions[kind][operation];
  if (!found) return undefined;
  const [label, method, path, ...fields] = found;
  return {
    label,
    method,
    path: `${bases[kind]}/${encodeURIComponent(id)}${path}`,
    fields,
    grave: grave.has(`${kind} ${operation}`),
    who: forDevelopers.has(operation) ? 'developer' : 'operator',
  };
}

/** Where the interface has an object; undefined for a kind that it has no path for. */
export const pathOf = (kind: string, id: string): string | undefined => {
  const base = Object.hasOwn(bases, kind) ? bases[kind as Kind] : undefined;
  return base === undefined ? undefined : `${base}/${encodeURIComponent(id)}`;
};

/** The path with the entered values. */
export function withFields({ path }: Action, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== '')).toString();
  return query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
}
