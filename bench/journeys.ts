import { Session } from 'node:inspector';
import { freePort } from '../tests/support/free-port.ts';
import { Phone } from '../tests/support/phone.ts';
import { onServer } from '../tests/support/server.ts';

/**
 * Counts the files of `src` that a journey runs through: `node --import ./tests/support/typescript.mjs bench/journeys.ts
 * [-v]`. A file counts if one of its functions runs in the process of the server between the message and the event. The
 * first journey of each kind is not counted, and neither are `lib`, `models`, and functions that an idle server runs.
 */

const inspector = new Session();
inspector.connect();
const post = <T>(method: string, params: object = {}) =>
  new Promise<T>((resolve, reject) =>
    inspector.post(method, params, (error, result) => (error ? reject(error) : resolve(result as T))),
  );
type Ran = {
  result: { url: string; functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[] }[];
};

/** The functions that have run since the last call, as `file function offset`; the whole of a file is none. */
async function ran(): Promise<Set<string>> {
  const { result } = await post<Ran>('Profiler.takePreciseCoverage');
  return new Set(
    result.flatMap(({ url, functions }) => {
      const file = /\/src\/(.*\.ts)$/.exec(url)?.[1];
      if (file === undefined || /^(lib|models)\//.test(file)) return [];
      return functions
        .filter(({ ranges: [whole] }) => whole!.count > 0 && whole!.startOffset > 0)
        .map(({ functionName, ranges }) => `${file} ${functionName} ${ranges[0]!.startOffset}`);
    }),
  );
}

await post('Profiler.enable');
await post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
const ports = [await freePort(), await freePort()] as const;
const endpoints = {
  anonymous: { match: ['127.0.0.1'] },
  bob: { aor: { contacts: [`sip:bob@127.0.0.1:${ports[0]}`] } },
  carol: { aor: { contacts: [`sip:carol@127.0.0.1:${ports[1]}`] } },
};
const dialplan = { default: { desk: ['Stasis(desk)'], '200': ['Dial(PJSIP/bob)'], '300': ['Dial(PJSIP/carol)'] } };
await onServer({ dialplan, endpoints }, async (server) => {
  const open = async (number: string, port = 0) => server.closing(await Phone.open(number, server.sip(), port));
  const [alice, bob, carol] = [await open('alice'), await open('bob', ports[0]), await open('carol', ports[1])];
  const app = await server.app('desk');
  let round = 0;
  const count = async (title: string, journey: () => Promise<unknown>): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await ran();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const idle = await ran();
    await journey();
    const files = new Map<string, number>();
    for (const each of await ran()) {
      const file = each.slice(0, each.indexOf(' '));
      if (!idle.has(each)) files.set(file, (files.get(file) ?? 0) + 1);
    }
    if (round === 0) return;
    const rooms = new Map<string, number>();
    for (const file of files.keys()) {
      const room = file.slice(0, file.indexOf('/'));
      rooms.set(room, (rooms.get(room) ?? 0) + 1);
    }
    console.log(`${title}: ${files.size} files`);
    console.log(
      `  ${[...rooms]
        .sort()
        .map((each) => each.join(' '))
        .join(', ')}`,
    );
    if (process.argv.includes('-v'))
      for (const [file, functions] of [...files].sort()) console.log(`    ${file} ${functions}`);
  };
  for (round of [0, 1]) {
    let id = '';
    let call: Promise<unknown> = Promise.resolve();
    app.events.length = 0;
    await count('INVITE to StasisStart', async () => {
      call = alice.call('desk');
      id = (await app.waitFor('StasisStart')).channel.id;
    });
    await count('answer to ACK', async () => {
      await app.ok('POST', `/channels/${id}/answer`);
      await call;
      await app.waitFor('ChannelStateChange');
    });
    alice.hangup();
    await app.waitFor('StasisEnd');
    await alice.call('200');
    await count('REFER to the end of the transferor', async () => {
      await bob.refer('<sip:300@127.0.0.1>');
      await bob.over();
    });
    carol.hangup();
    await alice.over();
  }
});
inspector.disconnect();
