import type { Dialog } from '../../sip/dialog/dialog.ts';
import { formatUri, type Uri } from '../../sip/message/uri.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { WatcherHost } from '../../telephony/watchers.ts';
import type { EndpointConfig } from './config.ts';
import {
  type BlfState,
  callsOf,
  dialogInfo,
  type MailboxCounts,
  messageSummary,
  presence,
  type Subject,
} from './event-packages.ts';
import type { CallView } from './legs.ts';
import { mayReplace } from './replacing.ts';
import { localHost, type Services } from './services.ts';

/** The current state of everything that phones can watch. */
export type Watched = {
  /** How a mailbox stands; undefined when there is no such one, which counts as empty. */
  mailbox(name: string): MailboxCounts | undefined;
  /** The devices of an extension and their state together; undefined where there is no hint for it. */
  hint(context: string, extension: string): { devices: readonly string[]; state: BlfState['state'] } | undefined;
  watchers: WatcherHost;
};

type Extension = { readonly context: string; readonly extension: string };

/** The watched objects of each subscription. */
type Watching = {
  readonly subject: Subject;
  readonly dialog: Dialog;
  /** Name of the endpoint. */
  readonly endpoint: string;
  /** Ids of the calls in the last document. */
  readonly told: readonly string[];
};

/** The state of a subject, and its document. */
type Telling = { state: string; calls: readonly string[]; document(version: number): string };

/** The topic of a device's changes. */
export const topicOf = (device: string): string => `device:${device.replace(/^SIP\//i, 'PJSIP/').toLowerCase()}`;

/** The topics of {@link WatcherHost.changed} that a subject depends on. */
export function topicsOf({ hint }: Watched, subject: Subject): string[] {
  if (subject.event === 'message-summary') return [`mailbox:${subject.mailbox}`];
  return hint(subject.context, subject.extension)?.devices.map(topicOf) ?? [];
}

/** The subscribed URI without parameters. */
function entityOf(uri: Uri): string {
  if (uri.scheme !== 'sip' && uri.scheme !== 'sips') return formatUri(uri);
  const { scheme, user, host, port } = uri;
  return formatUri({ scheme, user, host, port, params: {}, headers: {} } as Uri);
}

/** Reads the present state of subjects. */
export function createTelling(services: Services, { mailbox, hint }: Watched) {
  const { endpoints, legs, config } = services;

  /** The calls of an endpoint as a watcher may see them: data that allows taking them over is withheld. */
  const callsFor = (watcher: string, endpoint: EndpointConfig): CallView[] => {
    const asking = endpoints.named(watcher);
    const isNamed = asking && (asking.name === endpoint.name || mayReplace(asking, endpoint));
    const calls = legs.callsOf(endpoint.name);
    return isNamed ? calls : calls.map(({ id, direction, state, held }) => ({ id, direction, state, held }));
  };

  const blfOf = (watcher: string, { context, extension }: Extension, uri: Uri): BlfState => {
    const { devices = [], state = 'INVALID' } = hint(context, extension) ?? {};
    const calls = devices.flatMap((device) => {
      const [, name] = /^(?:PJSIP|SIP)\/(.+)$/i.exec(device) ?? [];
      const endpoint = name === undefined ? undefined : endpoints.named(name);
      return endpoint ? callsFor(watcher, endpoint) : [];
    });
    return { entity: entityOf(uri), extension, state, calls: calls.slice(0, config.subscriptions.calls) };
  };

  return ({ subject, dialog, told, endpoint }: Watching, target: Target): Telling => {
    if (subject.event === 'message-summary') {
      const { mailbox: name } = subject;
      const account = name.includes('@') ? name : `${name}@${localHost(services, target)}`;
      const summary = messageSummary(account, mailbox(name) ?? { newMessages: 0, oldMessages: 0 });
      return { state: summary, calls: [], document: () => summary };
    }
    const blf = blfOf(endpoint, subject, dialog.local.uri);
    if (subject.event === 'presence') {
      const document = presence(blf);
      return { state: document, calls: [], document: () => document };
    }
    return {
      state: dialogInfo(blf, 0, []),
      calls: callsOf(blf).map(({ id }) => id),
      document: (version) => dialogInfo(blf, version, told),
    };
  };
}
