import Type from 'typebox';
import { CallDetail, CallMask, CallPage, WaitingFor } from '../../models/call.ts';
import { outcomeResults } from '../../models/call-outcome.ts';
import { accessOf } from '../access/access.ts';
import type { OperationName } from '../access/scope.ts';
import { fileOf } from '../file-answers.ts';
import { fileOperation, operation, pathParam, queryParam, type Resource } from '../operation.ts';

const params = { callId: pathParam('Id of the call, or of a channel of it.', 'call') };

/** Bundles only contain the configuration if the scope covers this operation. */
const readsConfiguration: OperationName = { resource: 'asterisk', nickname: 'getObject', changesNothing: true };

/** What the requesting user sees of calls on the disk, as the guard of scopes says; undefined without limits. */
const seenOf = (params: object) => (params as { seen?: (applications: Iterable<string>) => boolean }).seen;

/** Recorded calls. */
export const calls: Resource = {
  name: 'calls',
  description: 'Calls: channels that belong together, live and ended, with everything that was recorded of them.',
  operations: [
    operation({
      method: 'GET',
      path: '/calls',
      nickname: 'list',
      summary: 'List calls, newest first.',
      notes:
        'Ended calls are kept in memory for `recorder.keep_ended`, as long as there is room, and on the disk for `recorder.disk.days`.',
      owner: 'calls',
      params: {
        number: queryParam('string', 'Part of the number of a party, or of the extension that was called.'),
        app: queryParam('string', 'Application that is or was in control of a channel of it.'),
        endpoint: queryParam('string', 'Endpoint of a channel of it: `technology/resource`, or the resource.'),
        state: queryParam('string', 'Whether a channel is left.', { allowed: ['live', 'ended'] }),
        older_than: queryParam('int', 'Began at least so many seconds ago.', { min: 0 }),
        stuck: queryParam('boolean', 'Something of it stays longer than it is expected to.'),
        stored: queryParam('boolean', 'Search the calls on the disk, too.', { default: false }),
        text: queryParam('string', 'Words that its ids, names, numbers, applications and outcome contain.'),
        outcome: queryParam('list', 'The outcome.', { allowed: [...outcomeResults] }),
        cause: queryParam('int', 'Q.850 cause of one of its channels.', { min: 0 }),
        from: queryParam('string', 'Began at this time or later: `2026-11-26T10:00:00Z`, or ms since the Unix epoch.'),
        to: queryParam('string', 'Began at this time or earlier.'),
        longer_than: queryParam('int', 'It lasted at least so many seconds.', { min: 0 }),
        shorter_than: queryParam('int', 'It lasted at most so many seconds.', { min: 0 }),
        offset: queryParam('int', 'How many to leave out at the beginning.', { default: 0, min: 0 }),
        limit: queryParam('int', 'How many to list at most, up to 1000.', { default: 100, min: 1 }),
      },
      returns: CallPage,
      errors: ['recorderOff', 'parameterInvalid', 'tooManySearches'],
      handle: (calls, filter) => calls.list(filter),
    }),
    operation({
      method: 'GET',
      path: '/calls/{callId}',
      nickname: 'get',
      summary: 'Get a call with its timeline.',
      notes: 'The timeline holds steps of charts, requests, events, SIP messages and media reports in one order.',
      owner: 'calls',
      params,
      returns: CallDetail,
      errors: ['recorderOff', 'callNotFound', 'tooManySearches'],
      handle: (calls, params) => calls.get(params.callId, seenOf(params)),
    }),
    fileOperation({
      path: '/calls/{callId}.mmd',
      nickname: 'getDiagram',
      summary: 'Get a call as the source of a Mermaid sequence diagram.',
      owner: 'calls',
      params,
      errors: ['recorderOff', 'callNotFound', 'rangeNotSatisfiable', 'tooManySearches'],
      handle: async (calls, params) => fileOf('text/vnd.mermaid', await calls.mermaid(params.callId, seenOf(params))),
    }),
    fileOperation({
      path: '/calls/{callId}.pcap',
      nickname: 'getCapture',
      summary: 'Get the SIP messages of a call as a capture file.',
      notes:
        'Each message is one datagram, also those over TCP. A message without recorded body says so in a header. `rtp=headers` adds the last RTP and RTCP packets, cut after their fixed header, if `recorder.rtp_headers` keeps them.',
      owner: 'calls',
      params: {
        ...params,
        rtp: queryParam('string', 'Which packets of audio to add.', { allowed: ['none', 'headers'], default: 'none' }),
      },
      errors: [
        'recorderOff',
        'callNotFound',
        'parameterInvalid',
        'rtpNotKept',
        'rangeNotSatisfiable',
        'tooManySearches',
      ],
      handle: async (calls, params) =>
        fileOf('application/vnd.tcpdump.pcap', await calls.pcap(params.callId, params.rtp, seenOf(params))),
    }),
    operation({
      method: 'PUT',
      path: '/calls/{callId}/mask',
      nickname: 'mask',
      summary: 'Hide digits or variables of a call, before a party enters private data.',
      notes:
        'It applies to all views of the call, also to earlier entries: timelines, diagrams, captures, bundles, the page, and HEP exports. Applications still get digit events. It cannot be undone.',
      owner: 'calls',
      params: {
        ...params,
        digits: queryParam('boolean', 'Hide the digits that are pressed or sent.', { default: false }),
        variables: queryParam('list', 'Hide the values of these variables.'),
      },
      returns: CallMask,
      errors: ['storageFailed', 'recorderOff', 'callNotFound', 'tooManySearches'],
      handle: (calls, { callId, ...params }) => calls.mask(callId, params, seenOf(params)),
    }),
    fileOperation({
      path: '/calls/{callId}/bundle',
      nickname: 'getBundle',
      summary: 'Get everything about a call in one file, for a report of a fault.',
      notes:
        'Its timeline, the models at its end, versions, and the configuration that is in force without secrets, as JSON. Whose scope does not cover `asterisk:getObject`, which reads configuration, gets none.',
      owner: 'calls',
      params,
      errors: ['recorderOff', 'callNotFound', 'rangeNotSatisfiable', 'tooManySearches'],
      handle: async (calls, params, requester) => {
        const readsAll = accessOf(requester.user).mayDo(readsConfiguration);
        return fileOf('application/json', JSON.stringify(await calls.bundle(params.callId, readsAll, seenOf(params))));
      },
    }),
    operation({
      method: 'GET',
      path: '/stuck',
      nickname: 'stuck',
      summary: 'List stuck objects, and what each one waits for.',
      notes: 'Objects in a passing state, applications that are away, clients that do not read; longest first.',
      owner: 'calls',
      returns: Type.Array(WaitingFor),
      errors: ['recorderOff'],
      handle: (calls) => calls.stuck(),
    }),
  ],
};
