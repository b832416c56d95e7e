import { plainJson } from '../lib/plain-text.ts';
import type { Application } from '../models/application.ts';
import type { Bridge } from '../models/bridge.ts';
import type { Call, CallDetail, CallPage, WaitingFor } from '../models/call.ts';
import type { Channel } from '../models/channel.ts';
import type { ClusterNode } from '../models/cluster-node.ts';
import type { ContactView } from '../models/contact.ts';
import type { Endpoint } from '../models/endpoint.ts';
import type { LiveApplicationEvents, LiveCall, LiveOverview } from '../models/live.ts';
import type { ServerInfo } from '../models/server-info.ts';
import type { VideoVisibility } from '../models/video-visibility.ts';
import { visibilityRowsOf } from '../models/visibility-rows.ts';
import { AskError, type Client, createClient, type Server } from './client.ts';
import { drain } from './drain.ts';
import {
  applicationCells,
  applicationHeads,
  callCells,
  callHeads,
  callWidths,
  entryCells,
  entryWidths,
  type ListedApplication,
  nodeCells,
  nodeHeads,
  phoneCells,
  phoneHeads,
  stuckCells,
  stuckHeads,
  visibilityCells,
  visibilityHeads,
} from './lines.ts';
import { type Cell, lineOf, type Style, tableOf } from './table.ts';

/** Arguments of a command. */
type Asked = {
  command: string;
  /** Id of the call or bridge, for commands that take one. */
  id?: string | undefined;
  /** Application that `tail` follows. */
  app?: string | undefined;
  /** How long `drain` waits, in ms; undefined: until no call is left. */
  waitMs?: number | undefined;
  /** `drain`: have another node go on with the calls. */
  move?: boolean | undefined;
  /** `drain`: take calls again. */
  off?: boolean | undefined;
  /** Node that `nodes` removes. */
  forget?: string | undefined;
  /** Write JSON, one line for each item. */
  json: boolean;
};

type Surroundings = {
  write(text: string): void;
  /** ms since the epoch. */
  now(): number;
  /** Ends `tail` and `watch`. */
  signal: AbortSignal;
  /** Without it: no colours, and lines of any length. */
  style?: Style;
};

/** `none` is the text for an empty list on a terminal. */
type Command = { about: string; needsId?: true; takesBridge?: true; none?: string };

/** The commands that ask a running server. */
export const commands: Readonly<Record<string, Command>> = {
  calls: { about: 'list live calls', none: 'no live calls' },
  call: { about: 'show the recorded history of a call', needsId: true },
  apps: { about: 'list applications', none: 'no applications' },
  phones: { about: 'list endpoints', none: 'no endpoints' },
  nodes: { about: 'list the nodes of the cluster', none: 'no nodes' },
  'video-visibility': {
    about: 'list who sees whom in a bridge (default: in all), and why not',
    takesBridge: true,
    none: 'no bridge has video',
  },
  tail: { about: 'follow all calls, or the events of one application (--app)' },
  stuck: { about: 'list stuck calls and objects, and what they wait for', none: 'nothing is stuck' },
  bundle: { about: 'print all records of a call as one JSON document, without secrets', needsId: true },
  watch: { about: 'follow the entries of a call', needsId: true },
  drain: {
    about:
      'take no new calls and wait until no call is left (--wait); --off takes calls again, --move has another node go on with them',
  },
  upgrade: { about: 'let the installed version take over from the running one (serve --supervised)' },
};

/** Asks a server and writes its answer. @throws AskError. */
export async function operate(asked: Asked, server: Server, surroundings: Surroundings): Promise<void> {
  const { write, now, signal, style = { colours: false } } = surroundings;
  const client = createClient(server);
  const list = <T>(items: readonly T[], heads: readonly string[], cells: (item: T) => Cell[]): void => {
    if (asked.json) for (const item of items) write(`${plainJson(JSON.stringify(item))}\n`);
    // A person sees that the list is empty; a script gets no lines.
    else if (items.length === 0 && style.columns !== undefined)
      write(`${commands[asked.command]?.none ?? 'nothing'}\n`);
    else write(tableOf(heads, items.map(cells), style));
  };
  const each = <T>(items: readonly T[], widths: readonly number[], cells: (item: T) => Cell[]): void => {
    for (const item of items)
      write(asked.json ? `${plainJson(JSON.stringify(item))}\n` : lineOf(cells(item), widths, style));
  };
  const call = encodeURIComponent(asked.id ?? '');
  const acts: Readonly<Record<string, () => Promise<void>>> = {
    calls: async () => list(await liveCalls(client), callHeads, callCells),
    async call() {
      const { timeline, ...rest } = await client.get<CallDetail>(`/hookswitch/calls/${call}`);
      list([rest], callHeads, callCells);
      each(timeline, entryWidths, entryCells);
    },
    apps: async () => list(await applicationsInNumbers(client), applicationHeads, applicationCells),
    async phones() {
      const endpoints = await client.get<Endpoint[]>('/ari/endpoints');
      // A user may be allowed to see endpoints but not contacts.
      const contacts = asked.json
        ? []
        : ((await unlessRefused(client.get<ContactView[]>('/hookswitch/contacts'))) ?? []);
      list(endpoints, phoneHeads, (endpoint) => phoneCells(endpoint, contacts));
    },
    async nodes() {
      const { forget } = asked;
      if (forget !== undefined) await client.ask('DELETE', `/hookswitch/nodes/${encodeURIComponent(forget)}`);
      list(await client.get<ClusterNode[]>('/hookswitch/nodes'), nodeHeads, (node) => nodeCells(node, now()));
    },
    async 'video-visibility'() {
      const found = await videoVisibilityIn(client, asked.id);
      if (asked.json)
        return list(
          found.flatMap(({ bridge, members }) => members.map((each) => ({ bridge, ...each }))),
          visibilityHeads,
          () => [],
        );
      const names = await channelNames(client);
      const nameOf = (id: string): string => names.get(id) ?? id;
      const rows = found.flatMap(({ bridge, members }) =>
        visibilityRowsOf(members, nameOf).map((row) => ({ bridge, ...row })),
      );
      list(rows, visibilityHeads, visibilityCells);
    },
    stuck: async () =>
      list(await client.get<WaitingFor[]>('/hookswitch/stuck'), stuckHeads, (item) => stuckCells(item, now())),
    bundle: async () => write(`${plainJson(await client.text(`/hookswitch/calls/${call}/bundle`))}\n`),
    watch: () =>
      client.listen<LiveCall>(
        `/hookswitch/live?call=${call}`,
        ({ entries, let_go: letGo }) => {
          each(entries, entryWidths, entryCells);
          if (letGo !== undefined && !asked.json) write('the recorder has dropped this call\n');
        },
        signal,
      ),
    tail() {
      if (asked.app === undefined)
        return client.listen<LiveOverview>(
          '/hookswitch/live',
          ({ calls }) => each(calls, callWidths, callCells),
          signal,
        );
      const path = `/hookswitch/live?app=${encodeURIComponent(asked.app)}`;
      return client.listen<LiveApplicationEvents>(
        path,
        ({ events, skipped }) => {
          if (skipped > 0 && !asked.json) write(`… ${skipped} more events were skipped\n`);
          each(events, entryWidths, entryCells);
        },
        signal,
      );
    },
    drain: () => drain(client, { ...asked, signal, write }),
    async upgrade() {
      const before = await client.get<ServerInfo>('/hookswitch/server');
      await client.ask('POST', '/hookswitch/server/upgrade');
      // A new connection waits for the next server.
      const now = await client.get<ServerInfo>('/hookswitch/server');
      if (now.started === before.started) throw new AskError('the server has not been replaced; see its log');
      if (asked.json) write(`${JSON.stringify({ before: before.version, now: now.version })}\n`);
      else write(`version ${now.version} has taken over from ${before.version}\n`);
    },
  };
  const act = acts[asked.command];
  if (!act) throw new AskError(`unknown command: ${asked.command}`);
  await act();
}

/** Visibility in one bridge, or in all that the user may see. Omits bridges that end meanwhile. */
async function videoVisibilityIn(
  client: Client,
  id: string | undefined,
): Promise<{ bridge: string; members: VideoVisibility[] }[]> {
  const videoVisibilityOf = async (bridge: string) => ({
    bridge,
    members: await client.get<VideoVisibility[]>(`/hookswitch/bridges/${encodeURIComponent(bridge)}/video-visibility`),
  });
  if (id !== undefined) return [await videoVisibilityOf(id)];
  const found: { bridge: string; members: VideoVisibility[] }[] = [];
  for (const bridge of await client.get<Bridge[]>('/ari/bridges')) {
    // One member alone sees no other.
    if (bridge.channels.length < 2) continue;
    const visibility = await unlessRefused(videoVisibilityOf(bridge.id));
    if (visibility) found.push(visibility);
  }
  return found;
}

/** Names of channels by id, as far as the user may see them. */
async function channelNames(client: Client): Promise<ReadonlyMap<string, string>> {
  const channels = (await unlessRefused(client.get<Channel[]>('/ari/channels'))) ?? [];
  return new Map(channels.map(({ id, name }) => [id, name]));
}

/** Undefined if the server refuses. */
async function unlessRefused<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof AskError) return undefined;
    throw error;
  }
}

/** Applications, with their counters if the user may see them. */
async function applicationsInNumbers(client: Client): Promise<ListedApplication[]> {
  const listed = await client.get<Application[]>('/ari/applications');
  const figures = await overview(client);
  return listed.map((each) => ({ ...each, ...figures?.applications.find(({ name }) => name === each.name) }));
}

/** The live overview, or undefined if the user may not see it. */
async function overview(client: Client): Promise<LiveOverview | undefined> {
  const end = new AbortController();
  let first: LiveOverview | undefined;
  const hear = (message: LiveOverview): void => {
    first ??= message;
    end.abort();
  };
  await client.listen<LiveOverview>('/hookswitch/live', hear, end.signal).catch((error: unknown) => {
    if (!(error instanceof AskError)) throw error;
  });
  return first;
}

/** All live calls, page by page. */
async function liveCalls(client: Client): Promise<Call[]> {
  const found: Call[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const { calls, next }: CallPage = await client.get<CallPage>(
      `/hookswitch/calls?state=live&limit=1000&offset=${offset}`,
    );
    found.push(...calls);
    offset = next;
  }
  return found;
}
