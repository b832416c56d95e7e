import { Type } from 'typebox';
import { choice, flag, group, list, number, port, text, whole } from './setting.ts';

/** The flight recorder's settings. */
export const recorder = group(
  {
    off: flag({
      default: false,
      description:
        'Turns recording off and drops what was recorded. Calls then have no history, and applications cannot resume.',
    }),
    entries_per_call: whole(10, 1_000_000, {
      default: 2_000,
      unit: 'entries',
      description:
        'Entries of one call: steps, messages, requests and events. Beyond this the oldest are dropped and counted.',
    }),
    memory: whole(1, 1_000_000, {
      default: 40,
      unit: 'MB',
      description:
        'Approximate memory of all entries. Beyond this the oldest ended calls are dropped first. Applications that reconnect resume from it (`resume`).',
    }),
    keep_ended: number(0, 100_000, {
      default: 30,
      unit: 'min',
      description: 'Time that ended calls are kept while memory allows.',
    }),
    other_entries: whole(0, 1_000_000, {
      default: 5_000,
      unit: 'entries',
      description: 'Entries outside calls, events excluded: registrations, contacts, applications, requests.',
    }),
    refused_calls: whole(1, 10_000, {
      default: 50,
      unit: 'entries',
      description:
        'Inbound calls that were refused before they had a channel, for the page. Calls from one address that are refused for one reason are one entry.',
    }),
    sip_bodies: flag({
      default: false,
      description: 'Records the bodies of SIP messages too: SDP without keys, digits, texts.',
    }),
    media_interval: number(0, 3_600, {
      default: 5,
      unit: 's',
      description:
        'Interval between records of codec, loss, jitter and levels of a call. It doubles after every 120 records. 0: never.',
    }),
    rtp_headers: whole(0, 100_000, {
      default: 0,
      unit: 'packets',
      description:
        'Last headers of RTP and RTCP packets kept for each channel, for captures, and as many for its video. Audio and video are never kept. 0: none.',
    }),
    rtp_memory: whole(1, 100_000, {
      default: 32,
      unit: 'MB',
      description: 'Memory for the headers of all channels. Beyond this those of the oldest channels are dropped.',
    }),
    mask_digits: flag({ default: false, description: 'Hides the digits that parties press.' }),
    mask_variables: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description: 'Variables whose values are hidden, e.g. CARD_NUMBER.',
    }),
    disk: group(
      {
        days: whole(0, 3_650, {
          default: 7,
          unit: 'days',
          description:
            'Time that ended calls are kept on the disk, in `calls` of the data directory. 0: none are written; those that are there stay.',
        }),
        size: whole(1, 1_000_000, {
          default: 500,
          unit: 'MB',
          description: 'Size of all stored calls. Beyond this the oldest are deleted.',
        }),
        most_per_second: number(0.1, 10_000, {
          default: 10,
          unit: 'calls/s',
          description:
            'Calls written at most, so that storing them does not slow down others. More wait in memory while there is room.',
        }),
        searched: whole(100, 100_000_000, {
          default: 200_000,
          unit: 'calls',
          description: 'Stored calls that one search looks at. The answer says where it ended.',
        }),
        searches: whole(1, 1_000, {
          default: 4,
          unit: 'searches',
          description: 'Searches of stored calls at the same time. Further ones are refused with 503.',
        }),
      },
      'Ended calls on the disk, with their timelines, without secrets and what is masked.',
    ),
    live: group(
      {
        message_calls: whole(1, 100_000, {
          default: 500,
          unit: 'calls',
          description: 'Calls in one message. Further ones follow in the next.',
        }),
        calls_burst: whole(1, 1_000_000, {
          default: 5_000,
          unit: 'calls',
          description: 'Calls sent at first and in bursts.',
        }),
        calls_per_second: whole(1, 100_000, {
          default: 100,
          unit: 'calls/s',
          description: 'Calls sent when the burst is used up. While more change, a client gets a sample.',
        }),
        message_events: whole(1, 100_000, {
          default: 200,
          unit: 'events',
          description: 'Events of an application in one message. Further ones are left out and counted.',
        }),
        events_burst: whole(1, 1_000_000, {
          default: 2_000,
          unit: 'events',
          description: 'Events sent at first and in bursts.',
        }),
        events_per_second: whole(1, 100_000, {
          default: 50,
          unit: 'events/s',
          description: 'Events sent when the burst is used up. Further ones are left out and counted.',
        }),
        stuck: whole(1, 100_000, {
          default: 100,
          unit: 'objects',
          description: 'Stuck objects in one message. Further ones are counted.',
        }),
      },
      'What one client of the live WebSocket (`GET /hookswitch/live`, the page) is sent at most.',
    ),
    hep: group(
      {
        address: text({
          default: '',
          description: 'IP address of a HEP3 collector (HOMER) that receives SIP messages. Empty: none.',
        }),
        port: port({ default: 9060, description: 'Port of the collector.' }),
        transport: choice(['udp', 'tcp'], {
          default: 'udp',
          description: 'Transport of the packets. A lost tcp connection is opened again.',
        }),
        queue: whole(1_024, 1_000_000_000, {
          default: 1_048_576,
          unit: 'octets',
          description: 'Bytes that may wait for a tcp connection or on it. Further packets are dropped and counted.',
        }),
        agent: whole(0, 4_294_967_295, {
          default: 2001,
          unit: 'id',
          description: 'Id of this server at the collector (capture agent).',
        }),
        key: text({ default: '', description: 'Authentication key of the collector. Empty: none.' }),
      },
      'Export of SIP messages to a collector.',
    ),
  },
  'The flight recorder: the history of every call, in memory. `GET /hookswitch/calls` lists the calls. Secrets are never recorded.',
);
