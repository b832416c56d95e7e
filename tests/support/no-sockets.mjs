// Preloaded by `npm run test:quick`: its tests open no socket and start no process or thread. One that does fails, with the
// name of what it asked for.
import processes from 'node:child_process';
import dgram from 'node:dgram';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import threads from 'node:worker_threads';

const refuse = (what) =>
  function refused() {
    throw new Error(`a quick test may not ${what}: scripts/quick-tests.mjs chooses them by their imports`);
  };

// The threads that load TypeScript start a compiler.
if (threads.isMainThread) {
  net.Server.prototype.listen = refuse('listen');
  net.Socket.prototype.connect = refuse('connect');
  dgram.Socket.prototype.bind = refuse('bind a UDP socket');
  processes.ChildProcess.prototype.spawn = refuse('start a process');
  for (const name of ['spawnSync', 'execFileSync', 'execSync']) processes[name] = refuse('start a process');
  threads.Worker = class {
    constructor() {
      refuse('start a thread')();
    }
  };
  syncBuiltinESMExports();
}
