import type { Call, CallChannel } from '../../src/models/call.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { keyOf, modelOf, type Traced } from './replay.ts';

/** A call as it was at a moment. */

/** What channel models have of a channel that may change while it lives. */
type Changing = Pick<CallChannel, 'state' | 'caller' | 'connected'> & { dialplan: { exten: string; context: string } };

/** A channel as its chart was then; undefined before it began. */
function channelAt(channel: CallChannel, traced: ReadonlyMap<string, Traced>): CallChannel | undefined {
  const life = traced.get(keyOf(channel.id, 'channel'));
  if (!life) return undefined;
  if (life.image.status !== 'active') return channel;
  const model = modelOf(life, traced) as Changing | undefined;
  const { ended: _ended, sip_status: _status, failure: _failure, ...rest } = channel;
  const state = model?.state ?? channel.state;
  return {
    ...rest,
    ...{ state, caller: model?.caller ?? channel.caller, connected: model?.connected ?? channel.connected },
    extension: model ? `${model.dialplan.exten}@${model.dialplan.context}` : channel.extension,
    cause: 0,
    outcome: state === 'Up' ? { result: 'answered', reason: 'answered' } : { result: 'pending', reason: '' },
  };
}

/** The call after the first `count` entries. @param traced its charts then: {@link tracedAt} of the same place */
export function callAt(
  call: Call,
  timeline: readonly TimelineEntry[],
  count: number,
  traced: ReadonlyMap<string, Traced>,
): Call {
  const channels = call.channels.flatMap((channel) => channelAt(channel, traced) ?? []);
  const isOver = channels.length === call.channels.length && channels.every(({ ended }) => ended !== undefined);
  if (isOver && call.state === 'ended') return call;
  const before = timeline.slice(0, count);
  const named = new Set(before.flatMap((entry) => (entry.kind === 'event' ? [entry.application] : [])));
  const { ended: _ended, ...rest } = call;
  return {
    ...rest,
    state: 'live',
    channels,
    applications: call.applications.filter((name) => named.has(name)),
    stuck: [],
    duration_ms: Math.max(0, (before.at(-1)?.at ?? call.began) - call.began),
    outcome: channels.find(({ outcome }) => outcome.result === 'answered')?.outcome ?? {
      result: 'pending',
      reason: '',
    },
  };
}
