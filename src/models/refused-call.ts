import Type, { type Static } from 'typebox';
import { double, int, model, text } from './schema.ts';

export const RefusedCall = model('RefusedCall', 'Inbound calls that were refused alike, before they had a channel.', {
  first: double('When the first one came, in ms since the Unix epoch.'),
  last: double('When the last one came.'),
  count: int('How many there were.'),
  technology: text('The technology, e.g. PJSIP.'),
  endpoint: text('Name of the endpoint that they belonged to.'),
  from: text('Number of the caller, of the last one.'),
  to: text('Extension that was called, of the last one.'),
  context: text('Dialplan context of the endpoint.'),
  source: text('Where the last one came from, `address:port`.'),
  protocol_id: text("The technology's own id of the last one: SIP's Call-ID."),
  status: int('The SIP status that it was refused with.'),
  cause: int('The same as a Q.850 cause.'),
  reason: text('Why, in words.'),
});
export type RefusedCall = Static<typeof RefusedCall>;

/** Refused calls that stand in the overview of the page. */
export const refusedCalls = Type.Array(RefusedCall, {
  description:
    'Inbound calls that were refused before they had a channel, the newest first; up to `recorder.refused_calls`.',
});
