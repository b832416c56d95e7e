/** Calls of phones with audio, joined as scenarios say: placed, fed and checked by a separate process (media-caller.ts). */
import { fork } from 'node:child_process';
import { on } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startForwarder } from './forwarder.ts';
import { BenchApplication } from './media-bridges.ts';
import type { CallerFigures, CallerReport, CallerTask } from './media-caller.ts';
import type { Scenario } from './media-scenarios.ts';
import { cpuMs, residentOctets, type Subject, startServerProcess } from './server-process.ts';

const packetsPerSecond = 50;

export type MediaBench = {
  scenarios: readonly Scenario[];
  legs: readonly number[];
  /** Of audio. */
  seconds: number;
  /** `media.threads` of ours; 0 = its default. */
  threads: number;
  /** `media.sockets` of ours. */
  sockets: string;
  /** Measured just before ours, each time. */
  reference: Subject | undefined;
};

type Measured = { legs: number; seconds: number; figures: CallerFigures; cpu: number; resident: number };

/** Measures every scenario with every number of legs: the reference, the C forwarder where it can be compared, and ours. */
export async function benchMedia({ scenarios, legs, seconds, threads, sockets, reference }: MediaBench): Promise<void> {
  for (const count of legs) {
    const least = await measureForwarder(count, seconds);
    if (least) print('C forwarder', 'pairs', least);
    for (const scenario of scenarios) {
      const theirs = reference && (await measure(reference, scenario, { legs: count, seconds }));
      if (reference && theirs) print(reference.name, scenario.name, theirs, { least });
      const server = await startServerProcess({}, { sockets, ...(threads > 0 && { threads }) });
      try {
        print(server.name, scenario.name, await measure(server, scenario, { legs: count, seconds }), { least, theirs });
      } finally {
        await server.stop();
      }
    }
  }
}

/** The process with the phones. */
class Phones {
  readonly #child = fork(fileURLToPath(new URL('media-caller.ts', import.meta.url)));
  readonly #heard = on(this.#child, 'message', { close: ['exit'] });

  static async open(): Promise<Phones> {
    const phones = new Phones();
    await phones.report('over');
    return phones;
  }

  ask(task: CallerTask | 'talk' | 'hangUp'): void {
    this.#child.send(task);
  }

  async report<Type extends CallerReport['type']>(type: Type): Promise<Extract<CallerReport, { type: Type }>> {
    const { value } = await this.#heard.next();
    const message = (value as [CallerReport] | undefined)?.[0];
    if (message?.type !== type) throw new Error(`expected the caller to be ${type}, heard ${JSON.stringify(message)}`);
    return message as Extract<CallerReport, { type: Type }>;
  }

  close(): void {
    this.#child.kill();
  }
}

async function measure(
  server: Subject,
  scenario: Scenario,
  { legs, seconds }: { legs: number; seconds: number },
): Promise<Measured> {
  const phones = await Phones.open();
  const { sip } = server;
  const { extension, hearing } = scenario;
  const application = extension === 'numbered' ? await BenchApplication.open(server) : undefined;
  try {
    // One call first: what the server makes once is no call's.
    phones.ask({ sip, calls: 1, seconds: 0.5 });
    for (const type of ['up', 'sent'] as const) await phones.report(type);
    phones.ask('hangUp');
    await phones.report('over');
    const before = residentOctets(server.pid);
    phones.ask({ sip, calls: legs, seconds, extension, hearing, waits: true });
    const { echoPort } = await phones.report('up');
    await application?.arrange(scenario, legs, echoPort);
    const cpuBefore = cpuMs(server.pid);
    phones.ask('talk');
    const { figures } = await phones.report('sent');
    const cpu = (cpuMs(server.pid) - cpuBefore) / (seconds * 1000);
    const resident = residentOctets(server.pid) - before;
    await application?.close();
    phones.ask('hangUp');
    await phones.report('over');
    return { legs, seconds, figures, cpu, resident };
  } finally {
    phones.close();
  }
}

/** The same packets through `forwarder.c`; undefined where it cannot be compiled. */
async function measureForwarder(legs: number, seconds: number): Promise<Measured | undefined> {
  const forwarder = await startForwarder(legs);
  if (!forwarder) return undefined;
  const phones = await Phones.open();
  try {
    const { pid, ports } = forwarder;
    const before = residentOctets(pid);
    const task = { sip: '', ports, calls: legs, seconds, hearing: 'neighbour' as const };
    phones.ask(task);
    await phones.report('up');
    const cpuBefore = cpuMs(pid);
    const { figures } = await phones.report('sent');
    const cpu = (cpuMs(pid) - cpuBefore) / (seconds * 1000);
    const resident = residentOctets(pid) - before;
    phones.ask('hangUp');
    await phones.report('over');
    return { legs, seconds, figures, cpu, resident };
  } finally {
    phones.close();
    forwarder.close();
  }
}

/** CPU of one packet that comes and goes, in µs. */
const packetCost = ({ cpu, legs }: Measured): number => (cpu * 1e6) / (legs * packetsPerSecond);

function print(
  name: string,
  scenario: string,
  measured: Measured,
  { least, theirs }: { least?: Measured | undefined; theirs?: Measured | undefined } = {},
): void {
  const { legs, seconds, figures, cpu, resident } = measured;
  const percent = (part: number) => ((100 * part) / figures.sent).toFixed(3);
  const ratio = (ours: number, others: number) => `${(ours / others).toFixed(2)} ×`;
  const kilobytes = resident / 1024 / legs;
  const beside = [
    least && `${ratio(packetCost(measured), packetCost(least))} the C forwarder a packet`,
    theirs &&
      `${ratio(cpu, theirs.cpu)} the CPU and ${ratio(resident, theirs.resident)} the memory of the reference, late ${((100 * theirs.figures.late) / theirs.figures.sent).toFixed(3)} % there`,
  ].filter((each) => each !== undefined);
  const setup = figures.setupPerSecond > 0 ? `; set up at ${figures.setupPerSecond.toFixed(0)} calls/s` : '';
  console.log(
    [
      `media, ${scenario}, ${name}: ${legs} legs, ${seconds} s, ${legs * packetsPerSecond} packets/s each way${setup}`,
      `  lost ${percent(figures.lost)} %, late (gap > 40 ms) ${percent(figures.late)} %, wrong ${figures.wrong}, heard ${figures.received} of ${figures.sent}, caller itself late ${percent(figures.sentLate)} %`,
      ...(figures.delayMaximum > 0
        ? [
            `  delay p50 ${figures.delayP50.toFixed(2)} ms, p99 ${figures.delayP99.toFixed(2)} ms, maximum ${figures.delayMaximum.toFixed(1)} ms`,
          ]
        : []),
      `  CPU ${(100 * cpu).toFixed(1)} % of a core, ${((100 * cpu) / legs).toFixed(4)} % a leg, ${packetCost(measured).toFixed(1)} µs a packet; memory ${kilobytes.toFixed(0)} KB a leg`,
      ...beside.map((each) => `  ${each}`),
    ].join('\n'),
  );
}
