import type { Server } from 'node:http';
import { AriError } from '../models/errors.ts';
import type { EventsSocket } from './events-socket.ts';
import type { MediaSockets } from './media-sockets.ts';
import type { Responder } from './responses.ts';
import { type TakeUpgrade, takeUpgrades } from './upgrades.ts';

/** Kinds of WebSockets by the beginning of their paths; all others carry events. */
export const mediaPath = '/media';

/** All WebSockets that clients open. */
export interface Sockets {
  /** Takes the upgrades of a server. */
  attach(server: Server): void;
  /** Sends 1001 to every socket and closes those that do not answer within `graceMs`; resolves when all are closed. */
  close(graceMs: number): Promise<void>;
}

/** Makes one of all of them. `takeMedia` is there when servers may open theirs for audio. */
export function createSockets(parts: {
  events: EventsSocket;
  media: { sockets: MediaSockets; take: TakeUpgrade } | undefined;
  responder: Responder;
}): Sockets {
  const { events, media, responder } = parts;
  const refuseMethod = (): Response =>
    responder.refusal(new Request('http://localhost/'), new AriError('methodInvalid'), { Allow: 'OPTIONS' });
  const take: TakeUpgrade = (request, socket, head) => {
    const isMedia = media && request.url?.startsWith(`${mediaPath}/`);
    return (isMedia ? media.take : events.take)(request, socket, head);
  };
  return {
    attach: (server) => takeUpgrades(server, take, refuseMethod),
    close: async (graceMs) => {
      await Promise.all([events.close(graceMs), media?.sockets.close(graceMs)]);
    },
  };
}
