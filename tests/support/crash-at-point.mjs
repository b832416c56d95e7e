// Loaded into a supervised server by `--import`: kills it at the point that the file CRASH_PLAN names, once. Its JSON:
// `point` (`write` of state, `datagram`, `stream`: octets to a connection), `nth` such point, `when` (`before`, `within`,
// `behind`), and `text`, which the octets have. The file is removed then.
import dgram from 'node:dgram';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { isMainThread } from 'node:worker_threads';

const file = process.env.CRASH_PLAN;
let plan;
let left = 0;

/** @returns when to die at this point; undefined: not here */
function deathAt(point, octets) {
  if (!plan) {
    if (!fs.statSync(file, { throwIfNoEntry: false })) return undefined;
    plan = JSON.parse(fs.readFileSync(file, 'utf8'));
    left = plan.nth;
  }
  if (point !== plan.point) return undefined;
  if (plan.text !== undefined && !String(octets).includes(plan.text)) return undefined;
  return left-- === 0 ? plan.when : undefined;
}

function die() {
  fs.rmSync(file, { force: true });
  process.kill(process.pid, 'SIGKILL');
}

/** @param half does a part of it */
function passing(point, octets, act, half = () => {}) {
  const when = deathAt(point, octets);
  if (when === 'within') half();
  if (when === 'before' || when === 'within') die();
  const done = act();
  if (when === 'behind') die();
  return done;
}

if (process.env.HOOKSWITCH_SUPERVISED !== undefined && file !== undefined && isMainThread) {
  const { writeSync } = fs;
  const isState = (descriptor) => fs.readlinkSync(`/proc/self/fd/${descriptor}`).includes('/state.log');
  fs.writeSync = (descriptor, octets, ...rest) => {
    const write = () => writeSync(descriptor, octets, ...rest);
    if (typeof octets === 'string' || !isState(descriptor)) return write();
    const [offset = 0, length = octets.length, position] = rest;
    const half = () => writeSync(descriptor, octets, offset, length >> 1, position);
    return passing('write', octets.subarray(offset, offset + length), write, half);
  };
  syncBuiltinESMExports();
  const { send } = dgram.Socket.prototype;
  dgram.Socket.prototype.send = function (octets, ...rest) {
    return passing('datagram', octets, () => send.call(this, octets, ...rest));
  };
  const { _writeGeneric } = net.Socket.prototype;
  net.Socket.prototype._writeGeneric = function (writev, data, ...rest) {
    const octets = writev ? data.map(({ chunk }) => chunk).join('') : data;
    return passing('stream', octets, () => _writeGeneric.call(this, writev, data, ...rest));
  };
}
