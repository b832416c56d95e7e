import { Session } from 'node:inspector/promises';
import { importConfiguration } from '../../packages/importer/src/import.ts';

/**
 * Imports what is made with each of two sizes, and tells as JSON how many functions of `packages/importer` were called for each. In a
 * process of its own: counting calls would spoil what measures the coverage of tests.
 */
const numbered = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('');

const shapes: Readonly<Record<string, (count: number) => string>> = {
  'an endpoint that names one AOR again and again, with as many contacts': (count) =>
    `[e]\ntype=endpoint\n${numbered(count, () => 'aors=a\n')}[a]\ntype=aor\n${numbered(count, (at) => `contact=sip:${at}@192.0.2.1\n`)}`,
  'an endpoint of many AORs': (count) =>
    `[e]\ntype=endpoint\n${numbered(count, (at) => `aors=a${at}\n`)}${numbered(count, (at) => `[a${at}]\ntype=aor\n`)}`,
  'phones with passwords and addresses': (count) =>
    numbered(
      count,
      (at) =>
        `[p${at}]\ntype=endpoint\naors=p${at}\nauth=p${at}\n[p${at}]\ntype=aor\n[p${at}]\ntype=auth\nusername=p\npassword=x\n[i${at}]\ntype=identify\nendpoint=p${at}\nmatch=192.0.2.1\n`,
    ),
  'lines that register': (count) =>
    numbered(
      count,
      (at) =>
        `[l${at}]\ntype=endpoint\naors=l${at}\n[l${at}]\ntype=aor\ncontact=sip:h${at}\n[r${at}]\ntype=registration\nserver_uri=sip:h${at}\nclient_uri=sip:a@h${at}\n`,
    ),
  'endpoints that share one AOR and credentials, each of as many lines': (count) =>
    `${numbered(count, (at) => `[e${at}]\ntype=endpoint\naors=a\nauth=a\n`)}[a]\ntype=aor\n${numbered(count, (at) => `contact=sip:${at}@192.0.2.1\npermit=192.0.2.${at % 250}\nx${at}=1\n`)}[a]\ntype=auth\nusername=a\npassword=x\n${numbered(count, (at) => `x${at}=1\n`)}`,
  'sections of a template, with settings that are added to': (count) =>
    `[t](!)\ntype=aor\n${numbered(count, (at) => `[a${at}](t)\ncontact+=sip:${at}@192.0.2.1\n`)}[b]\ntype=aor\n${numbered(count, (at) => `x${at}+=1\n`)}`,
};

const pjsip = Object.entries(shapes).map(
  ([name, make]) => [name, (count: number) => ({ 'pjsip.conf': make(count) })] as const,
);

/** By the files that there are. */
const everything: Readonly<Record<string, (count: number) => Readonly<Record<string, string>>>> = {
  ...Object.fromEntries(pjsip),
  'programs, their WebSockets and users': (count) => ({
    'ari.conf': numbered(
      count,
      (at) =>
        `[u${at}]\ntype=user\npassword=x\n[o${at}]\ntype=outbound_websocket\nwebsocket_client_id=w${at}\napps=a\nlocal_ari_user=u${at}\n`,
    ),
    'websocket_client.conf': numbered(count, (at) => `[w${at}]\ntype=websocket_client\nuri=ws://192.0.2.1/${at}\n`),
  }),
};

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

async function stepsOf(files: Readonly<Record<string, string>>): Promise<number> {
  await session.post('Profiler.takePreciseCoverage');
  importConfiguration({
    read: (name) => {
      const text = files[name];
      return text === undefined ? { missing: true } : { text };
    },
    matching: () => [],
  });
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.includes('/packages/importer/src/'))
    .flatMap(({ functions }) => functions.map(({ ranges: [whole] }) => whole?.count ?? 0))
    .reduce((sum, count) => sum + count, 0);
}

const steps: Record<string, number[]> = {};
for (const [name, make] of Object.entries(everything))
  steps[name] = [await stepsOf(make(200)), await stepsOf(make(400))];
process.stdout.write(JSON.stringify(steps));
