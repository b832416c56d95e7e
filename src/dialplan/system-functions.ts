import { deviceStateWords } from '../models/device-state.ts';
import { splitArguments } from './arguments.ts';
import type { SystemFunction } from './function.ts';
import { pjsipSystemFunctions } from './pjsip-functions.ts';
import { compileSearch, search } from './search.ts';

/** The functions that ask and tell the whole system: they work with a channel and without one. */

const global: SystemFunction = {
  takes: 'it names a variable, of which there may be so many as limits.global_variables says',
  read: (system, text) => system.globalVariable(text.trim()) ?? '',
  write: (system, text, value) => {
    const name = text.trim();
    return name !== '' && system.setGlobalVariable(name, value);
  },
};

/** `GLOBAL_DELETE(name)`; what is assigned does not matter. */
const globalDelete: SystemFunction = {
  takes: 'it names a variable',
  write: (system, text) => {
    const name = text.trim();
    return name !== '' && system.setGlobalVariable(name, undefined);
  },
};

const deviceState: SystemFunction = {
  takes: `the devices are those that begin with Custom: or Stasis:, in a state of ${deviceStateWords.filter((word) => word !== 'UNKNOWN').join(', ')}`,
  read: (system, text) => (text.trim() === '' ? undefined : system.deviceState(text.trim())),
  write: (system, text, value) => system.setDeviceState(text.trim(), value.trim()),
};

const trimmed = (text: string): string[] => splitArguments(text).map((each) => each.trim());

/** `DIALPLAN_EXISTS(context[,extension[,priority or label]])`: 1 or 0. */
const dialplanExists: SystemFunction = {
  read: (system, text) => {
    const [context = '', extension = '', priority = ''] = trimmed(text);
    if (context === '') return undefined;
    return system.placeExists(context, extension || undefined, priority || undefined) ? '1' : '0';
  },
};

/** Most names that CHANNELS reads. */
const mostNames = 1_000;

/** `CHANNELS([expression])`: the names of channels that fit, joined by blanks; expressions are bounded as in `$[…]`. */
const channelList: SystemFunction = {
  read: (system, text) => {
    const expression = compileSearch(text.trim());
    if (!expression) return undefined;
    const names: string[] = [];
    for (const name of system.channelNames()) {
      if (names.length === mostNames) break;
      if (search(expression, name)) names.push(name);
    }
    return names.join(' ');
  },
};

/** By name, in capitals. */
export const systemFunctions: ReadonlyMap<string, SystemFunction> = new Map<string, SystemFunction>([
  ['CHANNELS', channelList],
  ['DEVICE_STATE', deviceState],
  ['DIALPLAN_EXISTS', dialplanExists],
  ['GLOBAL', global],
  ['GLOBAL_DELETE', globalDelete],
  ['GLOBAL_EXISTS', { read: (system, text) => (system.globalVariable(text.trim()) === undefined ? '0' : '1') }],
  ...pjsipSystemFunctions,
]);
