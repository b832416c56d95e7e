import type { Call } from '../../src/models/call.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { endsOf, outcomeText } from './calls.ts';
import { type Measure, measuresOf } from './measures.ts';
import { legQualities, withQuality } from './quality.ts';
import { duration, plural, shortNames, stateNames } from './words.ts';

/** A call in one sentence: who, how, how long, and what went wrong. */

type Talk = { up?: number; end?: number; began: number };

/** When each channel was answered, and when it ended, in ms since the epoch. */
function talksOf(timeline: readonly TimelineEntry[]): ReadonlyMap<string, Talk> {
  const talks = new Map<string, Talk>();
  for (const entry of timeline) {
    if (entry.kind !== 'step' || entry.chart !== 'channel') continue;
    const talk = talks.get(entry.object) ?? { began: entry.at };
    const states = stateNames(entry.to);
    if (states.includes('up')) talk.up ??= entry.at;
    else if (talk.up !== undefined) talk.end ??= entry.at;
    talks.set(entry.object, talk);
  }
  return talks;
}

/** The sounds that could not be played, each once. */
export const missingSounds = (timeline: readonly TimelineEntry[]): string[] => [
  ...new Set(
    timeline.flatMap((entry) => {
      if (entry.kind !== 'event') return [];
      const { playback } = entry.event as { playback?: { state?: string; media_uri?: string } };
      return playback?.state === 'failed' ? [playback.media_uri ?? 'a sound'] : [];
    }),
  ),
];

/** Two reports of one digit within this time are one key press, in ms: nobody presses as fast. */
const doubledMs = 150;

/** Whether an entry is a key press that comes in SIP (INFO), not in the audio. */
const isDigitInfo = (entry: TimelineEntry): boolean =>
  entry.kind === 'sip' &&
  entry.direction === 'in' &&
  entry.first_line.startsWith('INFO ') &&
  /^(?:content-type|c)\s*:\s*application\/dtmf/im.test(entry.headers);

/**
 * Digits that a channel reported twice for one key press, each once: two reports that follow each other, and came in two ways
 * or at nearly the same time.
 */
export function doubledDigits(timeline: readonly TimelineEntry[]): string[] {
  const last = new Map<string, { digit: string; at: number; infos: number; isInfo: boolean }>();
  const doubled = new Set<string>();
  let infos = 0;
  for (const entry of timeline) {
    if (isDigitInfo(entry)) infos++;
    if (entry.kind !== 'event' || entry.type !== 'ChannelDtmfReceived') continue;
    const { digit = '', channel } = entry.event as { digit?: string; channel?: { id: string } };
    const key = `${entry.application} ${channel?.id ?? ''}`;
    const before = last.get(key);
    const isInfo = infos > (before?.infos ?? 0);
    if (before?.digit === digit && (isInfo !== before.isInfo || entry.at - before.at < doubledMs)) doubled.add(digit);
    last.set(key, { digit, at: entry.at, infos, isInfo });
  }
  return [...doubled];
}

/** Answers to INVITE that are sent so often without an ACK are not heard, or their ACK is not. */
const fewestRepeats = 3;

/** How often an answer was sent whose ACK never came, most of all calls; 0: none was. */
export function unacknowledged(timeline: readonly TimelineEntry[]): number {
  const sent = new Map<string, number>();
  for (const entry of timeline) {
    if (entry.kind !== 'sip') continue;
    const call = /^(?:call-id|i)\s*:\s*(.*)$/im.exec(entry.headers)?.[1]?.trim() ?? '';
    if (entry.direction === 'in' && entry.first_line.startsWith('ACK ')) sent.delete(call);
    const isAnswer = /^SIP\/2\.0 2\d\d/.test(entry.first_line) && /^cseq\s*:\s*\d+\s+INVITE/im.test(entry.headers);
    if (entry.direction === 'out' && isAnswer) sent.set(call, (sent.get(call) ?? 0) + 1);
  }
  const most = Math.max(0, ...sent.values());
  return most < fewestRepeats ? 0 : most;
}

/** An answered leg is expected to have audio so soon, in ms. */
const firstAudioMs = 2_000;

/** Legs that nothing came from and nothing went to, though they were answered long enough before they were measured. */
function silentLegs(timeline: readonly TimelineEntry[], measures: readonly Measure[]): ReadonlySet<string> {
  const talks = talksOf(timeline);
  const last = new Map(
    measures.filter(({ report }) => report['video'] === undefined).map((each) => [each.object, each] as const),
  );
  const isSilent = ({ object, at, report }: Measure): boolean =>
    report['packets_heard'] === 0 &&
    report['packets_sent'] === 0 &&
    at - (talks.get(object)?.up ?? Number.POSITIVE_INFINITY) >= firstAudioMs;
  return new Set([...last.values()].filter(isSilent).map(({ object }) => object));
}

/** Directions of legs in which the audio was bad: which, and how bad. That nothing is sent to a leg may be wanted. */
export function badAudio(timeline: readonly TimelineEntry[], nameOf: (channel: string) => string): string[] {
  const measures = measuresOf(timeline, []);
  const silent = silentLegs(timeline, measures);
  return legQualities(withQuality(measures), undefined).flatMap(({ object, direction, word, worst }) => {
    if (silent.has(object))
      return direction === 'heard' ? [`no audio comes from ${nameOf(object)}, and none is sent to it`] : [];
    if (direction === 'heard' && word === 'silent') return [`no audio comes from ${nameOf(object)}`];
    const way = direction === 'heard' ? 'from' : 'to';
    return word === 'poor' ? [`poor audio ${way} ${nameOf(object)}${worst === undefined ? '' : `: MOS ${worst}`}`] : [];
  });
}

/** SIP statuses that refuse what was offered, rather than the call (RFC 3261, 21.4.26 and 21.6.4). */
const refusesMedia: ReadonlySet<number | undefined> = new Set([488, 606]);

/** Why channels failed, where the call's outcome does not say so. */
function failedChannels(call: Call, talks: ReadonlyMap<string, Talk>, nameOf: (channel: string) => string): string[] {
  // What the caller was told comes of the others.
  const inOrder = call.channels.toSorted(
    (one, other) => Number(one.direction === 'in') - Number(other.direction === 'in'),
  );
  return inOrder.flatMap(({ id, direction, outcome, sip_status: status }) => {
    if (direction === 'out' && refusesMedia.has(status))
      return [`${nameOf(id)} refused what was offered: it has none of the codecs, or wants other encryption`];
    if (outcome.result !== 'failed' || outcome.reason === call.outcome.reason) return [];
    const isTold = direction === 'in' && talks.get(id)?.up === undefined;
    return [`${isTold ? 'the caller was told' : nameOf(id)}: ${outcome.reason}`];
  });
}

/** The parts of the sentence; the last ones say what went wrong. */
export function summaryOf(call: Call, timeline: readonly TimelineEntry[]): { said: string; wrong: string[] } {
  const { from, to } = endsOf(call);
  const nameOf = shortNames(new Map(call.channels.map(({ id, name }) => [id, name])));
  const called = call.channels[0]?.extension.split('@')[0] ?? '';
  const through = call.applications.length > 0 ? ` (${call.applications.join(', ')})` : '';
  // A number that was dialed to reach the party stands beside its name.
  const isOwn = called === '' || called === 's' || to === called || to.includes(`(${called})`);
  const way = [from, ...(isOwn ? [] : [`${called}${through}`]), isOwn ? `${to}${through}` : to];
  const talks = talksOf(timeline);
  const [first] = talks.values();
  const end = timeline.at(-1)?.at ?? call.began;
  const { up } = first ?? {};
  const answered =
    up === undefined
      ? call.state === 'live'
        ? ['not answered yet']
        : []
      : [
          `answered after ${((up - (first?.began ?? up)) / 1000).toFixed(1)} s`,
          `talked ${duration((first?.end ?? end) - up)}`,
        ];
  const missed = timeline.filter((entry) => entry.kind === 'event' && entry.missed).length;
  const sounds = missingSounds(timeline);
  const doubled = doubledDigits(timeline);
  const repeats = unacknowledged(timeline);
  const audio = badAudio(timeline, nameOf);
  const { result } = call.outcome;
  const isPlain = call.state === 'live' || result === 'answered';
  return {
    said: [way.join(' → '), ...answered, ...(isPlain ? [] : [`${result}: ${outcomeText(call)}`])].join(', '),
    wrong: [
      ...(sounds.length === 0 ? [] : [`${plural(sounds.length, 'prompt')} missing: ${sounds.join(', ')}`]),
      ...(repeats === 0
        ? []
        : [`200 OK was sent ${repeats} times, and no ACK came: the Contact of the server or the way back is wrong`]),
      ...(doubled.length === 0
        ? []
        : [`digits come twice (${doubled.join(', ')}): the phone sends each in two ways, such as RFC 4733 and INFO`]),
      ...audio,
      ...(missed === 0 ? [] : [`${plural(missed, 'event')} missed by an application that was not connected`]),
      ...failedChannels(call, talks, nameOf),
    ],
  };
}
