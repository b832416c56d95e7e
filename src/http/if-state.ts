import { channelStates } from '../models/channel.ts';
import { deviceStateWords } from '../models/device-state.ts';
import { AriError } from '../models/errors.ts';
import { recordingStates } from '../models/live-recording.ts';
import { playbackStates } from '../models/playback.ts';
import type { Deps } from './deps.ts';
import type { Operation } from './operation.ts';

/**
 * The header `If-State`: a command that names states is carried out only while its object is in one of them. Object and
 * command are looked at in one turn, so nothing comes between the two.
 */
type Kind = {
  kind: string;
  param: string;
  states: readonly string[];
  stateOf(owners: Deps, id: string): string | undefined;
};

const kinds: readonly Kind[] = [
  {
    kind: 'channel',
    param: 'channelId',
    states: channelStates,
    stateOf: ({ channels }, id) => channels?.get(id).state,
  },
  {
    kind: 'playback',
    param: 'playbackId',
    states: playbackStates,
    stateOf: ({ playbacks }, id) => playbacks?.get(id).state,
  },
  {
    kind: 'recording',
    param: 'recordingName',
    states: recordingStates,
    stateOf: ({ recordings }, id) => recordings?.get(id).state,
  },
  {
    kind: 'device',
    param: 'deviceName',
    states: deviceStateWords,
    stateOf: ({ deviceStates }, id) => deviceStates?.get(id).state,
  },
];

/** Checks a header `If-State` before a command. */
export type StateCheck = (header: string, params: Record<string, unknown>) => void;

/**
 * The check of an operation. It throws AriError: ifStateUnsupported (400) if the path names no object with a state,
 * ifStateInvalid (400) for unknown states, stateDiffers (412), and the object's own 404.
 */
export function createStateCheck({ params: declared, method, owner }: Operation, owners: Deps): StateCheck {
  // The path of a new object's id, and of a stored recording, names nothing that has a state.
  const found = kinds.find(
    ({ kind, param }) => declared[param]?.in === 'path' && (declared[param].names === kind || owner === 'deviceStates'),
  );
  if (!found || method === 'GET')
    return () => {
      const what = method === 'GET' ? 'the request changes nothing' : 'the path names no object with a state';
      throw new AriError('ifStateUnsupported', { what });
    };
  const { kind, param, states, stateOf } = found;
  const named = new Map(states.map((state) => [state.toLowerCase(), state]));
  return (header, params) => {
    const wanted = header.split(',').map((word) => {
      const state = named.get(word.trim().toLowerCase());
      if (state === undefined)
        throw new AriError('ifStateInvalid', { state: word.trim().slice(0, 40), allowed: states.join(', ') });
      return state;
    });
    const state = stateOf(owners, String(params[param]));
    if (state !== undefined && !wanted.includes(state))
      throw new AriError('stateDiffers', { kind, state, wanted: wanted.join(' or ') });
  };
}
