import { Type } from 'typebox';
import { choice, flag, group, list, number, port, text, whole } from './setting.ts';

/** What is recorded of calls, for those who look into them. */
export const recorder = group(
  {
    off: flag({
      default: false,
      description:
        'Record nothing, and keep nothing of what was: calls cannot be looked into, applications cannot resume.',
    }),
    entries_per_call: whole(10, 1_000_000, {
      default: 2_000,
      unit: 'entries',
      description:
        'Steps, messages, requests and events that are kept of one call; the oldest go, and it is told how many.',
    }),
    memory: whole(1, 1_000_000, {
      default: 40,
      unit: 'MB',
      description:
        'Memory for everything that is kept, roughly; ended calls go first, the oldest before others. Applications that come back find their last events in it (`resume`).',
    }),
    keep_ended: number(0, 100_000, {
      default: 30,
      unit: 'min',
      description: 'How long ended calls are kept, as long as there is room.',
    }),
    other_entries: whole(0, 1_000_000, {
      default: 5_000,
      unit: 'entries',
      description: 'Entries that belong to no call, events left out: registrations, contacts, applications, requests.',
    }),
    sip_bodies: flag({
      default: false,
      description: 'Keep the bodies of SIP messages too: session descriptions without their keys, digits, texts.',
    }),
    media_interval: number(0, 3_600, {
      default: 5,
      unit: 's',
      description:
        'How often codec, loss, jitter and levels of a call are recorded; half as often after each 120 times. 0: never.',
    }),
    rtp_headers: whole(0, 100_000, {
      default: 0,
      unit: 'packets',
      description:
        'Headers of RTP and RTCP packets that are kept of each channel, the last ones, for captures, and as many again of all its video; 0: none. What is said and shown is never kept.',
    }),
    rtp_memory: whole(1, 100_000, {
      default: 32,
      unit: 'MB',
      description: 'Memory for the headers of all channels; those of the oldest go first.',
    }),
    mask_digits: flag({ default: false, description: 'Never show the digits that parties press.' }),
    mask_variables: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description: 'Variables whose values are never shown, e.g. CARD_NUMBER.',
    }),
    hep: group(
      {
        address: text({
          default: '',
          description: 'Literal address of a collector of HEP3 packets (HOMER), to which SIP messages go. Empty: none.',
        }),
        port: port({ default: 9060, description: 'Port of the collector.' }),
        transport: choice(['udp', 'tcp'], {
          default: 'udp',
          description: 'What carries the packets; a connection (tcp) that is lost is made again.',
        }),
        queue: whole(1_024, 1_000_000_000, {
          default: 1_048_576,
          unit: 'octets',
          description:
            'Packets that may wait for a connection (tcp) or on it; what comes beyond is left out, and told.',
        }),
        agent: whole(0, 4_294_967_295, {
          default: 2001,
          unit: 'id',
          description: 'Number of this server among those that send to the collector.',
        }),
        key: text({ default: '', description: 'What the collector wants to be shown. Empty: nothing.' }),
      },
      'Where SIP messages are sent to be kept.',
    ),
  },
  'The flight recorder: what happened in every call, kept in memory.',
);
