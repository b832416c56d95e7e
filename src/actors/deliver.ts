import type { ChannelEntry, ChannelMessage } from './channel-entry.ts';

/** Routes a message to its chart. If both charts take it, the chart whose facts must come first goes first. */
export function deliver({ actor, ownership }: ChannelEntry, message: ChannelMessage): void {
  switch (message.type) {
    case 'run':
    case 'enter':
    case 'enter.soon':
    case 'continue':
    case 'move':
    case 'leave':
    case 'turn':
    case 'application.accepted':
    case 'application.refused':
    case 'application.lost':
      ownership.send(message);
      break;
    case 'leg.offered':
    case 'leg.answered':
      actor.send(message);
      ownership.send(message);
      break;
    case 'leg.ended':
    case 'dialplan.ended':
      ownership.send(message);
      actor.send(message);
      break;
    default:
      actor.send(message);
  }
}
