import type { Logger } from '../lib/log.ts';
import { memoryWord } from '../media/session-memory.ts';
import { videoWord } from '../media/video/stream-memory.ts';
import type { AriEventBody } from '../models/events.ts';
import type { Recorder } from '../recorder/recorder.ts';
import type { StateStore } from '../stores/state-store.ts';
import { emptyServerData, put, readServerData, type ServerData } from './server-data.ts';

/**
 * The server's data that the process before left in its state store, as `state-keeper.ts` writes it; undefined if there
 * is none. Data that cannot be read is logged and dropped: the server starts without it.
 * @param intervalMs how often streams were written: a clock that was set back must not hide what was sent since then.
 */
export function savedIn(
  store: Pick<StateStore, 'left' | 'leftEvents'>,
  now: number,
  intervalMs: number,
  log: Logger,
): ServerData | undefined {
  if (store.left.size === 0) return undefined;
  try {
    const data = readServerData(dataOf(store));
    const writtenAt = Number(store.left.get(writtenAtKey) ?? now);
    const elapsedMs = Math.min(Math.max(intervalMs, now - writtenAt), Math.max(intervalMs, longestBlockMs));
    for (const { leg } of data.calls.channels) moveAhead(leg, elapsedMs);
    return data;
  } catch (error) {
    log.error({ reason: (error as Error).message }, 'cannot read the saved state; calls of the last run are lost');
    return undefined;
  }
}

/** The entry with the time, in ms since the Unix epoch, since when no stream is older. */
export const writtenAtKey = 'writtenAt';

/** When the process before has written last, about, in ms since the Unix epoch; 0 if that is unknown. */
export const savedAt = (store: Pick<StateStore, 'left'> | undefined): number =>
  Number(store?.left.get(writtenAtKey) ?? 0);

/**
 * A process that was alive had written its streams within this time, in ms. A longer time is a clock that was set forward, or
 * a time without a process, in which nothing was sent: the far side's SRTP index would not follow (RFC 3711 3.3.1).
 */
const longestBlockMs = 120_000;

/** Packets a second at most (video: 10 Mbit/s), and those that no estimate covers. */
const mostPackets = { audio: 100, video: 1_000 };
const sparePackets = 500;
/** A receiver of SRTP follows a jump of less than 32,768 packets (RFC 3711 3.3.1); some of those before may be lost. */
const longestJump = 32_000;
/** Frames a second of video at most. */
const mostFrames = 120;
/**
 * How far the short ids of frames move: of a PictureID of 7 bits and a TL0PICIDX (RFC 7741 4.2). They wrap at 128 and
 * 256, and an id counts as newer up to half of that.
 */
const shortIdStep = 48;
/** The same of a PictureID of 15 bits: nearly half of its 32,768. */
const longestIdStep = 125 * 128 + shortIdStep;

/**
 * Moves the RTP numbers in a leg's data past all that the process before may have sent since: a sequence number must
 * not come twice, nor an index of SRTP with its key (RFC 3711 9.1).
 * @param elapsedMs time since the numbers were written.
 * @param spare packets that no estimate covers.
 */
export function moveAhead(data: unknown, elapsedMs: number, spare: number = sparePackets): void {
  if (typeof data !== 'object' || data === null) return;
  const packetsOf = (kind: keyof typeof mostPackets): number =>
    Math.min(longestJump, Math.ceil((elapsedMs * mostPackets[kind]) / 1000) + spare);
  const stream = data as { ssrc?: number; sequence?: number; secret?: { sealed: number; control: number } };
  if (typeof stream.ssrc === 'number' && typeof stream.sequence === 'number') {
    const packets = packetsOf('audio');
    stream.sequence = (stream.sequence + packets) & 0xffff;
    if (stream.secret) {
      if (stream.secret.sealed > 0) stream.secret.sealed += packets;
      stream.secret.control += packets;
    }
  }
  const { stream: video, numbers } = data as { stream?: number; numbers?: number[] };
  if (typeof video === 'number' && Array.isArray(numbers)) moveVideoAhead(numbers, packetsOf('video'), elapsedMs);
  else for (const value of Object.values(data)) moveAhead(value, elapsedMs, spare);
}

function moveVideoAhead(numbers: number[], packets: number, elapsedMs: number): void {
  const { begun, sequence, pictureId, tl0 } = videoWord;
  if (numbers[begun] !== 1) return;
  const { sealed, control } = memoryWord;
  for (const word of [sequence, control, ...(numbers[sealed]! > 0 ? [sealed] : [])])
    numbers[word] = (numbers[word] ?? 0) + packets;
  // A receiver drops frames with ids that it had before; a key frame among them, and its picture would stand still. The
  // ids of 15 bits pass all that may have been sent; their last 7 bits are the short form.
  const frames = Math.floor((elapsedMs * mostFrames) / 1000 / 128) * 128 + 128 + shortIdStep;
  numbers[pictureId] = (numbers[pictureId]! + Math.min(frames, longestIdStep)) & 0x7fff;
  numbers[tl0] = (numbers[tl0]! + shortIdStep) & 0xff;
}

/** Puts elements of lists together whose members, and parts of members, are entries of their own. */
function membersInto(data: Record<string, unknown>) {
  const elements = new Map<string, Record<string, unknown>>();
  const parts: Parameters<typeof put>[] = [];
  return {
    add(path: string, id: string, member: string, value: unknown): void {
      const element = elements.get(`${path} ${id}`) ?? {};
      if (!elements.has(`${path} ${id}`)) put(data, path, element, true);
      elements.set(`${path} ${id}`, element);
      if (member.includes('.')) parts.push([element, member, value]);
      else element[member] = value;
    },
    /** Behind all members. */
    addParts(): void {
      for (const part of parts) put(...part);
    },
  };
}

type Left = Pick<StateStore, 'left' | 'leftEvents'>;

/** Entries as the data of a server, which is not checked. */
export function dataOf({ left, leftEvents }: Left): Record<string, unknown> {
  const data = emptyServerData();
  const members = membersInto(data);
  const numbers = new Map([...leftEvents].map(([name, events]) => [name, events.at(-1)?.[0] ?? 0]));
  const subscriptions = new Map<string, [topic: string, count: number][]>();
  for (const [key, json] of left) {
    // Builds before this one had the second.
    if (key === writtenAtKey || key === 'handedOver') continue;
    const [path = '', ...ids] = key.split(' ');
    const [id = '', part] = ids.map(decodeURIComponent);
    if (path === 'seq') numbers.set(id, Number(json));
    else if (path === 'sub') {
      const known = subscriptions.get(id);
      if (known) known.push([part ?? '', Number(json)]);
      else subscriptions.set(id, [[part ?? '', Number(json)]]);
    } else if (part === undefined) put(data, path, JSON.parse(json), ids.length > 0);
    else members.add(path, id, part, JSON.parse(json));
  }
  members.addParts();
  // The number of the last event is newer than what is written of its application.
  for (const application of (
    data['calls'] as { applications: { actor: { context: { name: string } }; seq: number; subscriptions: unknown[] }[] }
  ).applications) {
    application.seq = Math.max(application.seq, numbers.get(application.actor.context.name) ?? 0);
    application.subscriptions = subscriptions.get(application.actor.context.name) ?? [];
  }
  return data;
}

/** Gives the recorder the events that the process before kept, so that applications resume behind them. */
export function recallEvents({ leftEvents }: StateStore, recorder: Pick<Recorder, 'sent'>): void {
  for (const [name, events] of leftEvents)
    for (const [number, json] of events)
      recorder.sent({ application: name, number, missed: false }, JSON.parse(json) as AriEventBody, json);
}
