import type { Application } from '../models/application.ts';
import type { Call, CallDetail, CallPage, WaitingFor } from '../models/call.ts';
import type { Endpoint } from '../models/endpoint.ts';
import type { LiveApplicationEvents, LiveCall, LiveOverview } from '../models/live.ts';
import { AskError, type Client, createClient, type Server } from './client.ts';
import { callLine, entryLine, plain, stuckLine } from './lines.ts';

/** What a command is given besides the server. */
export type Asked = {
  command: string;
  /** Id of a call, for the commands about one. */
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
};

/** The commands that ask a running server, with what they need. */
export const commands: Readonly<Record<string, { about: string; needsId?: true }>> = {
  calls: { about: 'list the calls that are live' },
  call: { about: 'show everything that was recorded of a call', needsId: true },
  apps: { about: 'list the applications' },
  phones: { about: 'list the endpoints' },
  tail: { about: 'follow the events of an application (--app), or all calls' },
  stuck: { about: 'list what stays longer than expected, and what it waits for' },
  bundle: { about: 'write everything about a call as one file, without secrets', needsId: true },
  watch: { about: 'follow a call', needsId: true },
};

/** Asks a server and writes its answer. @throws AskError. */
export async function operate(asked: Asked, server: Server, { write, now, signal }: Surroundings): Promise<void> {
  const client = createClient(server);
  const each = <T>(items: readonly T[], line: (item: T) => string): void => {
    for (const item of items) write(`${asked.json ? JSON.stringify(item) : line(item)}\n`);
  };
  const call = encodeURIComponent(asked.id ?? '');
  const acts: Readonly<Record<string, () => Promise<void>>> = {
    calls: async () => each(await liveCalls(client), callLine),
    async call() {
      const { timeline, ...rest } = await client.get<CallDetail>(`/hookswitch/calls/${call}`);
      each([rest], callLine);
      each(timeline, entryLine);
    },
    apps: async () =>
      each(
        await client.get<Application[]>('/ari/applications'),
        ({ name, channel_ids: channels, bridge_ids: bridges }) =>
          plain(`${name}  ${channels.length} channels, ${bridges.length} bridges`),
      ),
    phones: async () =>
      each(await client.get<Endpoint[]>('/ari/endpoints'), ({ technology, resource, state, channel_ids: channels }) =>
        plain(`${technology}/${resource}  ${state ?? 'unknown'}  ${channels.length} channels`),
      ),
    stuck: async () => each(await client.get<WaitingFor[]>('/hookswitch/stuck'), (item) => stuckLine(item, now())),
    bundle: async () => write(`${await client.text(`/hookswitch/calls/${call}/bundle`)}\n`),
    watch: () =>
      client.listen<LiveCall>(`/hookswitch/live?call=${call}`, ({ entries }) => each(entries, entryLine), signal),
    tail() {
      if (asked.app === undefined)
        return client.listen<LiveOverview>('/hookswitch/live', ({ calls }) => each(calls, callLine), signal);
      const path = `/hookswitch/live?app=${encodeURIComponent(asked.app)}`;
      return client.listen<LiveApplicationEvents>(path, ({ events }) => each(events, entryLine), signal);
    },
  };
  const act = acts[asked.command];
  if (!act) throw new AskError(`unknown command: ${asked.command}`);
  await act();
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
