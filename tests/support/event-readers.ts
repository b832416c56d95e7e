import { inShort, type Message } from './conformance-client.ts';

/** What events are about. */
type About = Message & {
  application: string;
  channel?: { id: string; state: string };
  bridge?: { id: string; channels: string[] };
  playback?: { id: string; state: string };
  recording?: { name: string; state: string };
  peer?: { id: string };
  dialstatus?: string;
};
/** Reads a story: says what contradicts what came before, and at its end what is missing. */
type Reader = { read(message: About): string | undefined; missing(): string[] };

/** A channel is made, changed and destroyed, and never goes back to an earlier state. */
export function channelReader(): Reader {
  const order = ['Down', 'Ring', 'Ringing', 'Busy', 'Up'];
  const states = new Map<string, number>();
  return {
    read({ type, channel }) {
      // Applications hear of these two beside what is told of the channel.
      if (!channel || type === 'StasisEnd' || type === 'ChannelUserevent') return undefined;
      const [before, now] = [states.get(channel.id), order.indexOf(channel.state)];
      if (type === 'ChannelDestroyed') states.delete(channel.id);
      else states.set(channel.id, now);
      if (type === 'ChannelCreated') return before === undefined ? undefined : 'made twice';
      if (before === undefined) return 'of a channel that is not there';
      return now < before ? 'a state before the last' : undefined;
    },
    missing: () => [...states.keys()].map((id) => `${id} was never destroyed`),
  };
}

/** A bridge has the members that entered and have not left; a channel is in one at most, and in none when it ends. */
export function bridgeReader(): Reader {
  const bridges = new Map<string, string[]>();
  const places = new Map<string, string>();
  const move = (type: string, bridge: string, members: string[], channel: string): string | undefined => {
    const place = places.get(channel);
    if (type === 'ChannelEnteredBridge') {
      bridges.set(bridge, [...members, channel]);
      places.set(channel, bridge);
      return place === undefined ? undefined : `it is in ${place}`;
    }
    bridges.set(
      bridge,
      members.filter((id) => id !== channel),
    );
    places.delete(channel);
    return place === bridge ? undefined : 'it is not there';
  };
  return {
    read({ type, channel, bridge }) {
      if (type === 'ChannelDestroyed' && channel && places.has(channel.id)) return 'it is in a bridge';
      if (!bridge) return undefined;
      const members = bridges.get(bridge.id);
      if (type === 'BridgeCreated') {
        bridges.set(bridge.id, []);
        return members ? 'made twice' : undefined;
      }
      if (!members) return 'of a bridge that is not there';
      const wrong = channel && move(type, bridge.id, members, channel.id);
      if (wrong) return wrong;
      const now = bridges.get(bridge.id) ?? [];
      if (type === 'BridgeDestroyed') bridges.delete(bridge.id);
      return [...now].sort().join() === [...bridge.channels].sort().join() ? undefined : `its members are ${now}`;
    },
    missing: () => [...bridges.keys()].map((id) => `${id} was never destroyed`),
  };
}

/** A playback that has begun ends once, and nothing is told of it otherwise but that it was stopped while it waited. */
export function playbackReader(): Reader {
  const begun = new Set<string>();
  return {
    read({ type, playback }) {
      if (!playback) return undefined;
      const before = begun.has(playback.id);
      if (type === 'PlaybackFinished') begun.delete(playback.id);
      if (type === 'PlaybackStarted') begun.add(playback.id);
      else if (!before && !(type === 'PlaybackFinished' && playback.state === 'done')) return 'never begun';
      return undefined;
    },
    missing: () => [...begun].map((id) => `${id} never finished`),
  };
}

/** A recording begins once and ends once; without having begun it is cancelled, or fails. */
export function recordingReader(): Reader {
  const begun = new Set<string>();
  return {
    read({ type, recording }) {
      if (!recording) return undefined;
      const { name, state } = recording;
      if (type === 'RecordingStarted') {
        const before = begun.has(name);
        begun.add(name);
        return before || state !== 'recording' ? 'begun twice, or not recording' : undefined;
      }
      return begun.delete(name) || type === 'RecordingFailed' || state === 'canceled' ? undefined : 'never begun';
    },
    missing: () => [...begun].map((name) => `${name} never finished`),
  };
}

/** A Dial is opened, goes on, and ends once; who hangs up while it rings may leave it open. */
export function dialReader(): Reader {
  const open = new Set<string>();
  return {
    read({ peer, dialstatus }) {
      if (!peer || dialstatus === undefined) return undefined;
      if (dialstatus === '') open.add(peer.id);
      else if (!open.has(peer.id)) return 'a Dial that is not open';
      else if (!['RINGING', 'PROCEEDING', 'PROGRESS'].includes(dialstatus)) open.delete(peer.id);
      return undefined;
    },
    missing: () => [],
  };
}

/** A channel is in one application at a time, and leaves the one that it is in. */
export function stayReader(): Reader {
  const where = new Map<string, string>();
  return {
    read({ type, application, channel }) {
      if (!channel || (type !== 'StasisStart' && type !== 'StasisEnd')) return undefined;
      const now = where.get(channel.id);
      if (type === 'StasisEnd') where.delete(channel.id);
      else where.set(channel.id, application);
      return now === (type === 'StasisEnd' ? application : undefined) ? undefined : `it is in ${now}`;
    },
    missing: () => [...where].map(([id, application]) => `${id} never left ${application}`),
  };
}

/** Everything that contradicts itself. */
export function contradictions(messages: readonly Message[], readers: readonly Reader[]): string[] {
  const found = messages.flatMap((message) =>
    readers.flatMap((reader) => {
      const wrong = reader.read(message as About);
      return wrong === undefined ? [] : [`${wrong}: ${inShort(message)} ${JSON.stringify(message)}`];
    }),
  );
  return [...found, ...readers.flatMap((reader) => reader.missing())];
}
