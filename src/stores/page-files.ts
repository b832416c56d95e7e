import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Chart, ChartSummary } from '../models/chart.ts';
import { AriError } from '../models/errors.ts';

/** A file that came along with the program, whole in memory. */
export type BundledFile = {
  /** Media type. */
  type: string;
  /** Bytes. */
  size: number;
  /** Entity tag, its quotes included; another one after the file has changed. */
  etag: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** Its bytes from `start` to `end`, both included. */
  read(start: number, end: number): ReadableStream<Uint8Array>;
};

/** Files of the page, made by the build. */
export type PageFiles = {
  /** A file of the page by its name; undefined for any other. */
  file(name: string): BundledFile | undefined;
  charts: Charts;
};

/** The charts as documents. */
export interface Charts {
  list(): ChartSummary[];
  /** @throws AriError chartNotFound. */
  get(name: string): Chart;
  /** It as a drawing, the states' ids in it. @throws AriError chartNotFound. */
  svg(name: string): Promise<BundledFile>;
  /** It as the JSON configuration of an xstate machine. @throws AriError chartNotFound. */
  json(name: string): Promise<BundledFile>;
  /** It as SCXML. @throws AriError chartNotFound. */
  scxml(name: string): Promise<BundledFile>;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

function bundled(type: string, content: Buffer): BundledFile {
  const bytes = new Uint8Array(content);
  return {
    type,
    bytes,
    size: bytes.length,
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    read: (start, end) => new Blob([bytes.subarray(start, end + 1)]).stream(),
  };
}

type ChartDocument = { chart: Chart; svg: string; machine: object; scxml: string };

/** Reads what a build has left in a directory; undefined when there was none. */
export function readPageFiles(directory: string): PageFiles | undefined {
  const chartsFile = join(directory, 'charts.json');
  if (!existsSync(chartsFile)) return undefined;
  const files = new Map<string, BundledFile>();
  for (const name of readdirSync(directory)) {
    const type = types[extname(name)];
    if (type) files.set(name, bundled(type, readFileSync(join(directory, name))));
  }
  // Read on demand, to save memory.
  const read = () => JSON.parse(readFileSync(chartsFile, 'utf8')) as ChartDocument[];
  return { file: (name) => files.get(name), charts: createCharts(read) };
}

/** The charts of a list of documents. @param read gives the list; called once. */
function createCharts(read: () => readonly ChartDocument[]): Charts {
  let documents: readonly ChartDocument[] | undefined;
  const all = () => (documents ??= read());
  const find = (name: string): ChartDocument => {
    const found = all().find(({ chart }) => chart.name === name);
    if (!found) throw new AriError('chartNotFound');
    return found;
  };
  return {
    list: () =>
      all().map(({ chart: { name, title, about, states } }) => ({
        name,
        title,
        about,
        states: states.map(({ id }) => id),
      })),
    get: (name) => find(name).chart,
    svg: async (name) => bundled('image/svg+xml', Buffer.from(find(name).svg)),
    json: async (name) => bundled('application/json', Buffer.from(JSON.stringify(find(name).machine))),
    scxml: async (name) => bundled('application/scxml+xml', Buffer.from(find(name).scxml)),
  };
}
