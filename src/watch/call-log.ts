import type { CallLeg } from '../actors/call-leg.ts';
import type { CallEnd, CallListener } from '../actors/call-story.ts';
import type { Logger } from '../lib/log.ts';
import { endOf, qualityOf } from './call-quality.ts';

/**
 * The log of calls: a line when a leg starts, is answered, enters an application, meets another call, and ends. Each
 * has its call's id in `call`. Internal legs are logged at `debug`.
 */
export const createCallLog = (log: Logger): CallListener => {
  /** The legs of which lines are written now. */
  const at = ({ technology }: CallLeg): 'info' | 'debug' =>
    technology === 'Local' || technology === 'Snoop' ? 'debug' : 'info';
  const line = (leg: CallLeg, fields: () => object, sentence: string): void => {
    const level = at(leg);
    if (log.enabled(level)) log[level]({ call: leg.call, channel: leg.channel, ...fields() }, sentence);
  };

  return {
    hearsInternal: () => log.enabled('debug'),
    began(leg) {
      line(leg, () => partiesOf(leg), leg.direction === 'in' ? 'a call comes in' : 'a call goes out');
    },
    answered(leg) {
      line(leg, () => answerOf(leg), 'a call is answered');
    },
    entered(leg, application) {
      line(leg, () => ({ application }), 'a call enters an application');
    },
    joined(leg, was) {
      line(leg, () => ({ was }), 'a call joins an older one');
    },
    ended(leg, end) {
      line(leg, () => endingOf(leg, end), 'a call has ended');
    },
    refused({ channel, call }, application) {
      log.warn({ call, channel, application }, 'a call needs an application that is not connected');
    },
  };
};

const partiesOf = ({ from, to, endpoint, name, protocolId, source }: CallLeg): object => ({
  from: from.number,
  ...(from.name === '' ? {} : { from_name: from.name }),
  to,
  ...(endpoint === undefined ? {} : { endpoint }),
  name,
  ...(protocolId === '' ? {} : { protocol_id: protocolId }),
  ...(source === undefined ? {} : { source }),
});

const answerOf = ({ startedAt, answeredAt = startedAt, codec, video }: CallLeg): object => ({
  after_s: seconds(answeredAt - startedAt),
  ...(codec === undefined ? {} : { codec }),
  ...(video === undefined ? {} : { video }),
});

const endingOf = (leg: CallLeg, end: CallEnd): object => ({
  ...endOf(end),
  duration_s: seconds(end.at - leg.startedAt),
  talk_s: leg.answeredAt === undefined ? 0 : seconds(end.at - leg.answeredAt),
  ...(leg.applications.length === 0 ? {} : { applications: leg.applications }),
  ...(end.quality ? qualityOf(end.quality) : {}),
});

/** Seconds to the ms. */
const seconds = (ms: number): number => Math.round(ms) / 1000;
