// Loaded into a supervised server by `--import`: while the file SLOW_DISK is there, each write of its state takes a second.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const file = process.env.SLOW_DISK;
if (process.env.HOOKSWITCH_SUPERVISED !== undefined && file !== undefined) {
  const { writeSync } = fs;
  const never = new Int32Array(new SharedArrayBuffer(4));
  const isState = (descriptor) => fs.readlinkSync(`/proc/self/fd/${descriptor}`).includes('/state.log');
  fs.writeSync = (descriptor, octets, ...rest) => {
    if (typeof octets !== 'string' && fs.existsSync(file) && isState(descriptor)) Atomics.wait(never, 0, 0, 1_000);
    return writeSync(descriptor, octets, ...rest);
  };
  syncBuiltinESMExports();
}
