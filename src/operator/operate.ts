import { plainJson } from '../lib/plain-text.ts';
import type { Application } from '../models/application.ts';
import type { Bridge } from '../models/bridge.ts';
import type { Call, CallDetail, CallPage, WaitingFor } from '../models/call.ts';
import type { Channel } from '../models/channel.ts';
import type { ContactView } from '../models/contact.ts';
import type { Endpoint } from '../models/endpoint.ts';
import type { LiveApplicationEvents, LiveCall, LiveOverview } from '../models/live.ts';
import type { VideoVisibility } from '../models/video-visibility.ts';
import { visibilityRowsOf } from '../models/visibility-rows.ts';
import { AskError, type Client, createClient, type Server } from './client.ts';
import {
  applicationCells,
  applicationHeads,
  callCells,
  callHeads,
  callWidths,
  entryCells,
  entryWidths,
  type ListedApplication,
  phoneCells,
  phoneHeads,
  stuckCells,
  stuckHeads,
  visibilityCells,
  visibilityHeads,
} from './lines.ts';
import { type Cell, lineOf, type Style, tableOf } from './table.ts';

/** What a command is given besides the server. */
export type Asked = {
  command: string;
  /** Id of a call, or of a bridge, for the commands about one. */
  id?: string | undefined;
  /** Name of an application, for `tail`. */
  app?: string | undefined;
  /** Write JSON, a line for each thing, in place of words. */
  json: boolean;
};

export type Surroundings = {
  write(text: string): void;
  /** ms since the epoch. */
  now(): number;
  /** Ends what would go on for ever. */
  signal: AbortSignal;
  /** How it is shown; without colours, and lines of any length, where left out. */
  style?: Style;
};

/** A command: what it does, whether it is about one call or may be about one bridge, and what is said when there is nothing. */
type Command = { about: string; needsId?: true; takesBridge?: true; none?: string };

/** The commands that ask a running server, with what they need. */
export const commands: Readonly<Record<string, Command>> = {
  calls: { about: 'list the calls that are live', none: 'no call is live' },
  call: { about: 'show everything that was recorded of a call', needsId: true },
  apps: { about: 'list the applications', none: 'no application is known' },
  phones: { about: 'list the endpoints', none: 'there is no phone' },
  'video-visibility': {
    about: 'list which member of a bridge (of every bridge, without an id) sees which, and why not',
    takesBridge: true,
    none: 'nobody in a bridge has video',
  },
  tail: { about: 'follow the events of an application (--app), or all calls' },
  stuck: { about: 'list what stays longer than expected, and what it waits for', none: 'nothing waits too long' },
  bundle: { about: 'write everything about a call as one file, without secrets', needsId: true },
  watch: { about: 'follow a call', needsId: true },
};

/** Asks a server and writes its answer. @throws AskError. */
export async function operate(asked: Asked, server: Server, surroundings: Surroundings): Promise<void> {
  const { write, now, signal, style = { colours: false } } = surroundings;
  const client = createClient(server);
  const list = <T>(items: readonly T[], heads: readonly string[], cells: (item: T) => Cell[]): void => {
    if (asked.json) for (const item of items) write(`${plainJson(JSON.stringify(item))}\n`);
    // Who looks is told that there is nothing; what reads lines gets none.
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
      // Who may see the endpoints may not see where they are.
      const contacts = asked.json
        ? []
        : ((await unlessRefused(client.get<ContactView[]>('/hookswitch/contacts'))) ?? []);
      list(endpoints, phoneHeads, (endpoint) => phoneCells(endpoint, contacts));
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
          if (letGo !== undefined && !asked.json) write('nothing of this call is recorded any more\n');
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
          if (skipped > 0 && !asked.json) write(`… ${skipped} more, too many at once to be shown\n`);
          each(events, entryWidths, entryCells);
        },
        signal,
      );
    },
  };
  const act = acts[asked.command];
  if (!act) throw new AskError(`unknown command: ${asked.command}`);
  await act();
}

/** Who sees whom in one bridge, or in all that whoever asks may see; those that go meanwhile are left out. */
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
    // With fewer than two nobody sees anybody.
    if (bridge.channels.length < 2) continue;
    const visibility = await unlessRefused(videoVisibilityOf(bridge.id));
    if (visibility) found.push(visibility);
  }
  return found;
}

/** Names of channels by their ids, as far as whoever asks may see them. */
async function channelNames(client: Client): Promise<ReadonlyMap<string, string>> {
  const channels = (await unlessRefused(client.get<Channel[]>('/ari/channels'))) ?? [];
  return new Map(channels.map(({ id, name }) => [id, name]));
}

/** Undefined where the server refuses to tell. */
async function unlessRefused<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof AskError) return undefined;
    throw error;
  }
}

/** Applications with their figures, where whoever asks may see these. */
async function applicationsInNumbers(client: Client): Promise<ListedApplication[]> {
  const listed = await client.get<Application[]>('/ari/applications');
  const figures = await overview(client);
  return listed.map((each) => ({ ...each, ...figures?.applications.find(({ name }) => name === each.name) }));
}

/** How things are at a glance; undefined for who may not see that. */
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

/** All of them, page by page. */
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
