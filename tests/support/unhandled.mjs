// Preloaded with `node --import`: a rejection or an exception that nobody handles fails the whole run, whichever test it
// came from and whatever options Node was given. The run goes on to its end, so that every one of them is shown.
import { isMainThread } from 'node:worker_threads';

let seen = 0;

function note(kind, error) {
  seen++;
  const told = error instanceof Error ? error.stack : String(error);
  process.stdout.write(`\n   FAIL  nobody handled ${kind}: ${told}\n`);
  process.exitCode = 1;
}

// In a worker thread the default is right: it ends the thread, and whoever started it hears the error.
if (isMainThread) {
  // The runner is gone: an error of writing must not be written again and again.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => process.exit(1));
  process.on('unhandledRejection', (reason) => note('a rejection', reason));
  process.on('uncaughtException', (error, origin) => origin === 'uncaughtException' && note('an exception', error));
  process.on('exit', () => {
    if (seen > 0) process.exitCode = 1;
  });
}
