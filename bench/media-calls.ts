/** N concurrent SIP calls into `echo`, placed, fed and checked by a separate process (media-caller.ts). */
import { fork } from 'node:child_process';
import { on } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CallerFigures, CallerReport } from './media-caller.ts';
import { cpuMs, residentOctets, type Subject, startServerProcess } from './server-process.ts';

/** What a real Asterisk 23.4 does up to 1,000 calls on a machine of this kind. */
const asterisk = { lossPercent: 0.1, coreShareLow: 0.06, coreSharePercent: 0.09, kilobytes: 127 };
const packetsPerSecond = 50;

/**
 * Runs one number of calls for some seconds of audio and prints what came of it.
 * @param reference is measured, too, just before.
 */
export async function benchMedia(calls: number, seconds: number, reference?: Subject): Promise<void> {
  if (reference) await measure(reference, calls, seconds);
  const server = await startServerProcess();
  try {
    await measure(server, calls, seconds);
  } finally {
    await server.stop();
  }
}

async function measure(server: Subject, calls: number, seconds: number): Promise<void> {
  const caller = fork(fileURLToPath(new URL('media-caller.ts', import.meta.url)));
  const heard = on(caller, 'message', { close: ['exit'] });
  const report = async (type: CallerReport['type']): Promise<CallerReport> => {
    const { value } = await heard.next();
    const message = (value as [CallerReport] | undefined)?.[0];
    if (message?.type !== type) throw new Error(`expected the caller to be ${type}, heard ${JSON.stringify(message)}`);
    return message;
  };
  try {
    // One call first: what the server makes once is no call's.
    caller.send({ sip: server.sip, calls: 1, seconds: 0.5 });
    for (const type of ['up', 'sent', 'over'] as const) await report(type);

    const before = residentOctets(server.pid);
    caller.send({ sip: server.sip, calls, seconds });
    await report('up');
    const cpuBefore = cpuMs(server.pid);
    const { figures } = (await report('sent')) as { figures: CallerFigures };
    const cpu = (cpuMs(server.pid) - cpuBefore) / (seconds * 1000);
    const resident = residentOctets(server.pid) - before;
    await report('over');
    print(server.name, { calls, seconds, figures, cpu, resident });
  } finally {
    caller.kill();
  }
}

type Result = { calls: number; seconds: number; figures: CallerFigures; cpu: number; resident: number };

function print(name: string, result: Result): void {
  const { calls, seconds, figures, cpu, resident } = result;
  const percent = (part: number) => ((100 * part) / figures.sent).toFixed(3);
  const each = (100 * cpu) / calls;
  const kilobytes = resident / 1024 / calls;
  console.log(
    [
      `media, ${name}, ${calls} calls, ${seconds} s, ${calls * packetsPerSecond} packets/s each way; set up at ${figures.setupPerSecond.toFixed(0)} calls/s`,
      `  lost ${percent(figures.lost)} %, late (gap > 40 ms) ${percent(figures.late)} % (Asterisk elsewhere: under ${asterisk.lossPercent} %), wrong ${figures.wrong}, caller itself late ${percent(figures.sentLate)} %`,
      `  delay p50 ${figures.delayP50.toFixed(2)} ms, p99 ${figures.delayP99.toFixed(2)} ms, maximum ${figures.delayMaximum.toFixed(1)} ms`,
      `  server CPU ${(100 * cpu).toFixed(1)} % of a core, ${each.toFixed(4)} % a call (${(each / asterisk.coreSharePercent).toFixed(2)}–${(each / asterisk.coreShareLow).toFixed(2)} × Asterisk elsewhere)`,
      `  memory ${kilobytes.toFixed(0)} KB a call (${(kilobytes / asterisk.kilobytes).toFixed(2)} × Asterisk elsewhere)`,
    ].join('\n'),
  );
}
