// Loaded into a supervised server by `--import`: crashes it as it takes a step of the channel that the file CRASH_AT names.
import { readFileSync } from 'node:fs';

const file = process.env.CRASH_AT;
const isServer = process.env.HOOKSWITCH_SUPERVISED !== undefined;
/** The channel that is worked on, as the server names it in the memory that it shares with its supervisor. */
let isWorkedOn = false;

const victim = () => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
};

if (isServer && file !== undefined) {
  const write = Buffer.prototype.write;
  Buffer.prototype.write = function (text, ...rest) {
    if (typeof text === 'string' && text.startsWith('channel ')) isWorkedOn = text === `channel ${victim()}`;
    return write.call(this, text, ...rest);
  };
  const add = Set.prototype.add;
  // What a step has changed is noted in sets.
  Set.prototype.add = function (value) {
    if (isWorkedOn) process.abort();
    return add.call(this, value);
  };
  const queue = globalThis.queueMicrotask;
  globalThis.queueMicrotask = (callback) => {
    if (isWorkedOn) process.abort();
    queue(callback);
  };
}
