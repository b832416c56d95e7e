import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Operation } from '../../src/http/operation.ts';
import { apis, ari, hookswitch } from '../../src/http/routes/index.ts';
import { AriError, type AriErrorCode, ariErrors } from '../../src/models/errors.ts';
import { authorization, type Call, call, callPage, createFakes, createTestApp, form, json, samples } from './fakes.ts';

/** What is asked, under `/ari` unless it is one of our own operations, with which JSON body; what the owner is then asked; status and body of the answer. */
type Row = {
  ask: string;
  body?: unknown;
  /** A body of SDP. */
  sdp?: string;
  ifMatch?: string;
  form?: string;
  call: Call;
  status: number;
  answer?: unknown;
  /** The answer is the text of a file: audio, or of the type that it names. */
  file?: true | string;
  /** Where a thing that was made is found, when it is no playback. */
  at?: string;
};

const { channel, playback, application, endpoint, variable, variables, ping, info, sound } = samples;
const { deviceState, mailbox, logChannel, module, tuple, statistics, usage, ban, group, logging } = samples;
const { bridge, recording, stored } = samples;
/** Who asks, as operations are told that want to know. */
const asker = { user: { name: 'writer', password: 'secret', read_only: false }, token: undefined };
const creation = 'endpoint=PJSIP/bob&appArgs=x,y&channelId=n&otherChannelId=o&originator=c0&formats=ulaw,alaw';
const created = {
  endpoint: 'PJSIP/bob',
  appArgs: 'x,y',
  channelId: 'n',
  otherChannelId: 'o',
  originator: 'c0',
  formats: 'ulaw,alaw',
};
const origin = 'extension=1000&context=in&priority=3&label=here&app=hello&callerId=%22A%22%20%3C1%3E&timeout=-1';
const originated = {
  extension: '1000',
  context: 'in',
  priority: 3,
  label: 'here',
  app: 'hello',
  callerId: '"A" <1>',
  timeout: -1,
};
const mixed = { variables: { a: 'b', c: { value: 'd', report_events: true }, e: 5 } };

const simple = (method: string, path: string, name: string): Row => ({
  ask: `${method} /channels/c%2F1/${path}`,
  call: [`channels.${name}`, 'c/1'],
  status: 204,
});

const onBridge = (method: string, path: string, name: string, params?: object): Row => ({
  ask: `${method} /bridges/b%2F1${path}`,
  call: [`bridges.${name}`, 'b/1', ...(params ? [params] : [])],
  status: 204,
});
const took = 'name=r&format=wav&maxDurationSeconds=5&maxSilenceSeconds=6&ifExists=append&beep=true&terminateOn=any';
const taken = {
  name: 'r',
  format: 'wav',
  maxDurationSeconds: 5,
  maxSilenceSeconds: 6,
  ifExists: 'append',
  beep: true,
  terminateOn: 'any',
};
const features = { mute: true, suppress_dtmf: false };
const bridgeKind = { type: 'mixing, dtmf_events', name: 'room' };
const heard = { media: ['sound:a', 'sound:b'], lang: 'de', offsetms: 5, skipms: 6, announcer_format: 'slin' };
const hear = 'media=sound:a,sound:b&lang=de&offset=5&skipms=6&announcer_format=slin';

function bridgeRows(): Row[] {
  return [
    { ask: 'GET /bridges', call: ['bridges.list'], status: 200, answer: [bridge] },
    {
      ask: 'POST /bridges?type=mixing,%20dtmf_events&bridgeId=b&name=room',
      body: { features, ...mixed },
      call: ['bridges.create', { ...bridgeKind, bridgeId: 'b', features, ...mixed }],
      status: 200,
      answer: bridge,
    },
    {
      ask: 'POST /bridges/b%2F1?type=mixing,%20dtmf_events&name=room',
      body: mixed,
      call: ['bridges.createWithId', 'b/1', { ...bridgeKind, ...mixed }],
      status: 200,
      answer: bridge,
    },
    { ask: 'GET /bridges/b%2F1', call: ['bridges.get', 'b/1'], status: 200, answer: bridge },
    onBridge('DELETE', '', 'destroy'),
    onBridge(
      'POST',
      '/addChannel?channel=a,b&roles=announcer&absorbDTMF=true&mute=yes&inhibitConnectedLineUpdates=1',
      'addChannel',
      { channel: ['a', 'b'], role: 'announcer', absorbDTMF: true, mute: true, inhibitConnectedLineUpdates: true },
    ),
    onBridge('POST', '/removeChannel?channel=a', 'removeChannel', { channel: ['a'] }),
    { ...onBridge('POST', '/videoSource/c1', 'setVideoSource'), call: ['bridges.setVideoSource', 'b/1', 'c1'] },
    onBridge('DELETE', '/videoSource', 'clearVideoSource'),
    onBridge('POST', '/moh?mohClass=jazz', 'startMoh', { mohClass: 'jazz' }),
    onBridge('DELETE', '/moh', 'stopMoh'),
    {
      ...onBridge('POST', `/play?${hear}&playbackId=p`, 'play', { playbackId: 'p', ...heard }),
      status: 201,
      answer: playback,
    },
    { ...onBridge('POST', `/play/p?${hear}`, 'play', { playbackId: 'p', ...heard }), status: 201, answer: playback },
    {
      ...onBridge('POST', `/record?${took}&recorder_format=slin16`, 'record', { ...taken, recorder_format: 'slin16' }),
      status: 201,
      answer: recording,
      at: 'recordings/live/r%2F1',
    },
    { ...onBridge('GET', '/variable?variable=A', 'getVariable', { variable: 'A' }), status: 200, answer: variable },
    onBridge('POST', '/variable?variable=A&value=1&report_events=true', 'setVariable', {
      variable: 'A',
      value: '1',
      report_events: true,
    }),
    {
      ...onBridge('GET', '/variables?variables=A,B', 'getVariables', { variables: ['A', 'B'] }),
      status: 200,
      answer: variables,
    },
    { ...onBridge('POST', '/variables', 'setVariables', mixed), body: mixed },
  ];
}

function recordingRows(): Row[] {
  const live = (method: string, path: string, name: string): Row => ({
    ask: `${method} /recordings/live/r%2F1${path}`,
    call: [`recordings.${name}`, 'r/1'],
    status: 204,
  });
  const snoop = { spy: 'both', whisper: 'out', app: 'hello', appArgs: 'x,y', snoopId: 's' };
  return [
    {
      ask: `POST /channels/c1/record?${took}&channels=2`,
      call: ['recordings.recordOnChannel', 'c1', { ...taken, channels: 2 }],
      status: 201,
      answer: recording,
      at: 'recordings/live/r%2F1',
    },
    { ...live('GET', '', 'get'), status: 200, answer: recording },
    live('DELETE', '', 'cancel'),
    live('POST', '/stop', 'stop'),
    live('POST', '/pause', 'pause'),
    live('DELETE', '/pause', 'unpause'),
    live('POST', '/unpause', 'unpause'),
    live('POST', '/mute', 'mute'),
    live('DELETE', '/mute', 'unmute'),
    live('POST', '/unmute', 'unmute'),
    { ask: 'GET /recordings/stored', call: ['storedRecordings.list'], status: 200, answer: [stored] },
    { ask: 'GET /recordings/stored/r%2F1', call: ['storedRecordings.get', 'r/1'], status: 200, answer: stored },
    { ask: 'DELETE /recordings/stored/r%2F1', call: ['storedRecordings.delete', 'r/1'], status: 204 },
    {
      ask: 'GET /recordings/stored/r%2F1/file',
      call: ['storedRecordings.file', 'r/1'],
      status: 200,
      answer: '0123456789',
      file: true,
    },
    {
      ask: 'POST /recordings/stored/r/copy?destinationRecordingName=other',
      call: ['storedRecordings.copy', 'r', { destinationRecordingName: 'other' }],
      status: 200,
      answer: stored,
    },
    {
      ask: 'POST /channels/c1/snoop?spy=both&whisper=out&app=hello&appArgs=x,y&snoopId=s',
      call: ['snoops.snoop', 'c1', snoop],
      status: 200,
      answer: channel,
    },
    {
      ask: 'POST /channels/c1/snoop/s?spy=both&whisper=out&app=hello&appArgs=x,y',
      call: ['snoops.snoop', 'c1', snoop],
      status: 200,
      answer: channel,
    },
  ];
}

/** Every parameter of an external media channel, with `variables` in the body. */
const external = {
  channelId: 'x1',
  app: 'hello',
  external_host: '127.0.0.1:4000',
  encapsulation: 'audiosocket',
  transport: 'tcp',
  connection_type: 'client',
  format: 'slin16',
  direction: 'both',
  data: '40325ec2-5efd-4bd3-805f-53576e581d13',
  transport_data: 'more',
};

const rows: Row[] = [
  {
    ask: `POST /channels/externalMedia?${new URLSearchParams(external)}`,
    body: { variables: { A: '1' } },
    call: ['externalMedia.externalMedia', { ...external, variables: { A: '1' } }],
    status: 200,
    answer: channel,
  },
  { ask: 'GET /channels', call: ['channels.list'], status: 200, answer: [channel] },
  {
    ask: `POST /channels?${creation}&${origin}`,
    body: mixed,
    call: ['channels.originate', { ...created, ...originated, ...mixed }],
    status: 200,
    answer: channel,
  },
  {
    ask: `POST /channels/originate?${creation}&${origin}`,
    call: ['channels.originate', { ...created, ...originated }],
    status: 200,
    answer: channel,
  },
  {
    ask: 'POST /channels/my%20id?endpoint=Local/1@default&channelId=ignored',
    body: { app: 'hello', variables: 'wrong' },
    call: ['channels.originate', { channelId: 'my id', endpoint: 'Local/1@default', app: 'hello', variables: 'wrong' }],
    status: 200,
    answer: channel,
  },
  {
    ask: `POST /channels/create?${creation}&app=hello`,
    body: mixed,
    call: ['channels.create', { ...created, app: 'hello', ...mixed }],
    status: 200,
    answer: channel,
  },
  { ask: 'GET /channels/c1', call: ['channels.get', 'c1'], status: 200, answer: channel },
  {
    ask: 'DELETE /channels/c1?reason_code=17&reason=busy',
    call: ['channels.hangup', 'c1', { reason_code: '17', reason: 'busy' }],
    status: 204,
  },
  { ask: 'DELETE /channels/c1', call: ['channels.hangup', 'c1', {}], status: 204 },
  {
    ask: 'POST /channels/c1/dial?caller=c0&timeout=20',
    call: ['channels.dial', 'c1', { caller: 'c0', timeout: 20 }],
    status: 204,
  },
  {
    ask: 'POST /channels/c1/continue?context=a&extension=b&priority=2&label=c',
    call: ['channels.continueInDialplan', 'c1', { context: 'a', extension: 'b', priority: 2, label: 'c' }],
    status: 204,
  },
  {
    ask: 'POST /channels/c1/move?app=other&appArgs=a,b',
    call: ['channels.move', 'c1', { app: 'other', appArgs: 'a,b' }],
    status: 204,
  },
  {
    ask: 'POST /channels/c1/redirect?endpoint=PJSIP/bob',
    call: ['channels.redirect', 'c1', { endpoint: 'PJSIP/bob' }],
    status: 204,
  },
  {
    ask: 'POST /channels/c1/transfer_progress?states=channel_answered',
    call: ['transfers.transferProgress', 'c1', { states: 'channel_answered' }],
    status: 204,
  },
  simple('POST', 'answer', 'answer'),
  simple('POST', 'ring', 'ring'),
  simple('DELETE', 'ring', 'ringStop'),
  simple('POST', 'progress', 'progress'),
  {
    ask: 'POST /channels/c1/dtmf?dtmf=12%23&before=1&between=2&duration=3&after=4',
    call: ['channels.sendDtmf', 'c1', { dtmf: '12#', before: 1, between: 2, duration: 3, after: 4 }],
    status: 204,
  },
  { ask: 'POST /channels/c1/mute?direction=in', call: ['channels.mute', 'c1', { direction: 'in' }], status: 204 },
  { ask: 'DELETE /channels/c1/mute', call: ['channels.unmute', 'c1', {}], status: 204 },
  simple('POST', 'hold', 'hold'),
  simple('DELETE', 'hold', 'unhold'),
  { ask: 'POST /channels/c1/moh?mohClass=jazz', call: ['channels.startMoh', 'c1', { mohClass: 'jazz' }], status: 204 },
  simple('DELETE', 'moh', 'stopMoh'),
  simple('POST', 'silence', 'startSilence'),
  simple('DELETE', 'silence', 'stopSilence'),
  {
    ask: 'POST /channels/c1/play?media=sound:a,sound:b&lang=de&offsetms=5&skipms=6&playbackId=p',
    call: [
      'playbacks.playOnChannel',
      'c1',
      { playbackId: 'p', media: ['sound:a', 'sound:b'], lang: 'de', offsetms: 5, skipms: 6 },
    ],
    status: 201,
    answer: playback,
  },
  {
    ask: 'POST /channels/c1/play/p?offset=9',
    body: { media: ['number:1', 'tone:440,1'] },
    call: ['playbacks.playOnChannel', 'c1', { playbackId: 'p', media: ['number:1', 'tone:440,1'], offsetms: 9 }],
    status: 201,
    answer: playback,
  },
  ...bridgeRows(),
  ...recordingRows(),
  {
    ask: 'POST /events/claim?channelId=c1&application=hello',
    call: ['broadcasts.claim', { channelId: 'c1', application: 'hello' }],
    status: 204,
  },
  {
    ask: 'GET /channels/c1/rtp_statistics',
    call: ['channels.rtpStatistics', 'c1'],
    status: 200,
    answer: statistics,
  },
  {
    ask: 'GET /channels/c1/variable?variable=CALLERID(num)',
    call: ['channels.getVariable', 'c1', { variable: 'CALLERID(num)' }],
    status: 200,
    answer: variable,
  },
  {
    ask: 'POST /channels/c1/variable',
    form: 'variable=a+b&value=%26&report_events=YES',
    call: ['channels.setVariable', 'c1', { variable: 'a b', value: '&', report_events: true }],
    status: 204,
  },
  {
    ask: 'GET /channels/c1/variables?variables=a,CALLERID(all,x)',
    call: ['channels.getVariables', 'c1', { variables: ['a', 'CALLERID(all,x)'] }],
    status: 200,
    answer: variables,
  },
  { ask: 'POST /channels/c1/variables', body: mixed, call: ['channels.setVariables', 'c1', mixed], status: 204 },
  { ask: 'GET /playbacks/p', call: ['playbacks.get', 'p'], status: 200, answer: playback },
  { ask: 'DELETE /playbacks/p', call: ['playbacks.stop', 'p'], status: 204 },
  {
    ask: 'POST /playbacks/p/control?operation=pause',
    call: ['playbacks.control', 'p', { operation: 'pause' }],
    status: 204,
  },
  { ask: 'GET /applications', call: ['applications.list'], status: 200, answer: [application] },
  { ask: 'GET /applications/hello', call: ['applications.get', 'hello'], status: 200, answer: application },
  {
    ask: 'POST /applications/hello/subscription?eventSource=channel:1,endpoint:PJSIP/a',
    call: ['applications.subscribe', 'hello', ['channel:1', 'endpoint:PJSIP/a']],
    status: 200,
    answer: application,
  },
  {
    ask: 'DELETE /applications/hello/subscription',
    call: ['applications.unsubscribe', 'hello', undefined],
    status: 200,
    answer: application,
  },
  {
    ask: 'PUT /applications/hello/eventFilter',
    body: { allowed: [{ type: 'Dial', x: 1 }] },
    call: ['applications.filter', 'hello', { allowed: [{ type: 'Dial', x: 1 }] }],
    status: 200,
    answer: application,
  },
  {
    ask: 'POST /events/user/mine?application=hello&source=channel:1',
    body: { variables: { a: { deep: [1] } } },
    call: [
      'applications.userEvent',
      'mine',
      { application: 'hello', source: ['channel:1'], variables: { a: { deep: [1] } } },
    ],
    status: 204,
  },
  { ask: 'GET /endpoints', call: ['endpoints.list'], status: 200, answer: [endpoint] },
  { ask: 'GET /endpoints/pjsip', call: ['endpoints.listByTech', 'pjsip'], status: 200, answer: [endpoint] },
  { ask: 'GET /endpoints/PJSIP/alice', call: ['endpoints.get', 'PJSIP', 'alice'], status: 200, answer: endpoint },
  {
    ask: 'PUT /endpoints/sendMessage?to=sip:a&from=sip:b&body=hi',
    body: { variables: { k: 'v' } },
    call: ['messages.sendMessage', { to: 'sip:a', from: 'sip:b', body: 'hi', variables: { k: 'v' } }],
    status: 202,
  },
  {
    ask: 'PUT /endpoints/PJSIP/alice/sendMessage?from=sip:b',
    call: ['messages.sendMessageToEndpoint', 'PJSIP', 'alice', { from: 'sip:b' }],
    status: 202,
  },
  {
    ask: 'POST /endpoints/refer?to=PJSIP/a&from=b&refer_to=c&to_self=1',
    call: ['messages.refer', { to: 'PJSIP/a', from: 'b', refer_to: 'c', to_self: true }],
    status: 202,
  },
  {
    ask: 'POST /endpoints/PJSIP/alice/refer?refer_to=c&to_self=no',
    call: ['messages.referToEndpoint', 'PJSIP', 'alice', { refer_to: 'c', to_self: false }],
    status: 202,
  },
  { ask: 'GET /asterisk/ping', call: ['system.ping'], status: 200, answer: ping },
  { ask: 'GET /system/ping', call: ['system.ping'], status: 200, answer: ping },
  {
    ask: 'GET /asterisk/info?only=build,config',
    call: ['system.info', ['build', 'config']],
    status: 200,
    answer: info,
  },
  { ask: 'GET /system/info', call: ['system.info', undefined], status: 200, answer: info },
  { ask: 'GET /asterisk/variable?variable=a', call: ['system.getGlobalVar', 'a'], status: 200, answer: variable },
  { ask: 'POST /system/variable?variable=a&value=', call: ['system.setGlobalVar', 'a', ''], status: 204 },
  { ask: 'GET /asterisk/modules', call: ['modules.list'], status: 200, answer: [module] },
  { ask: 'GET /asterisk/modules/m', call: ['modules.get', 'm'], status: 200, answer: module },
  { ask: 'POST /asterisk/modules/m', call: ['modules.load', 'm'], status: 204 },
  { ask: 'DELETE /asterisk/modules/m', call: ['modules.unload', 'm'], status: 204 },
  { ask: 'PUT /asterisk/modules/m', call: ['modules.reload', 'm'], status: 204 },
  { ask: 'GET /asterisk/logging', call: ['logChannels.list'], status: 200, answer: [logChannel] },
  {
    ask: 'POST /asterisk/logging/full?configuration=error,notice',
    call: ['logChannels.add', 'full', 'error,notice'],
    status: 204,
  },
  { ask: 'DELETE /asterisk/logging/full', call: ['logChannels.delete', 'full'], status: 204 },
  { ask: 'PUT /asterisk/logging/full/rotate', call: ['logChannels.rotate', 'full'], status: 204 },
  {
    ask: 'GET /asterisk/config/dynamic/res_pjsip/endpoint/alice',
    call: ['dynamicConfig.get', 'res_pjsip', 'endpoint', 'alice'],
    status: 200,
    answer: [tuple],
  },
  {
    ask: 'PUT /asterisk/config/dynamic/res_pjsip/endpoint/alice',
    body: { fields: [tuple] },
    call: ['dynamicConfig.update', 'res_pjsip', 'endpoint', 'alice', [tuple]],
    status: 200,
    answer: [tuple],
  },
  {
    ask: 'DELETE /asterisk/config/dynamic/res_pjsip/endpoint/alice',
    call: ['dynamicConfig.delete', 'res_pjsip', 'endpoint', 'alice'],
    status: 204,
  },
  {
    ask: 'GET /sounds?lang=en&format=wav',
    call: ['sounds.list', { lang: 'en', format: 'wav' }],
    status: 200,
    answer: [sound],
  },
  { ask: 'GET /sounds/digits%2F1', call: ['sounds.get', 'digits/1'], status: 200, answer: sound },
  { ask: 'GET /deviceStates', call: ['deviceStates.list'], status: 200, answer: [deviceState] },
  { ask: 'GET /deviceStates/Stasis:q', call: ['deviceStates.get', 'Stasis:q'], status: 200, answer: deviceState },
  {
    ask: 'PUT /deviceStates/Stasis:q?deviceState=INUSE',
    call: ['deviceStates.update', 'Stasis:q', 'INUSE'],
    status: 204,
  },
  { ask: 'DELETE /deviceStates/Stasis:q', call: ['deviceStates.delete', 'Stasis:q'], status: 204 },
  { ask: 'GET /mailboxes', call: ['mailboxes.list'], status: 200, answer: [mailbox] },
  { ask: 'GET /mailboxes/m@x', call: ['mailboxes.get', 'm@x'], status: 200, answer: mailbox },
  {
    ask: 'PUT /mailboxes/m?oldMessages=1&newMessages=2',
    call: ['mailboxes.update', 'm', { oldMessages: 1, newMessages: 2 }],
    status: 204,
  },
  { ask: 'DELETE /mailboxes/m', call: ['mailboxes.delete', 'm'], status: 204 },
  { ask: 'GET /hookswitch/groups', call: ['groups.list'], status: 200, answer: [group] },
  {
    ask: 'POST /hookswitch/groups/hello/g/members/m/drain',
    call: ['groups.drain', 'hello', 'g', 'm'],
    status: 204,
  },
  { ask: 'GET /hookswitch/bans', call: ['bans.list'], status: 200, answer: [ban] },
  { ask: 'DELETE /hookswitch/bans/2001:db8::%2F64', call: ['bans.lift', '2001:db8::/64'], status: 204 },
  ...['channels', 'bridges', 'playbacks', 'recordings'].map((kind) => ({
    ask: `GET /hookswitch/${kind}/x%2F1/operations`,
    call: [`${kind}.possible`, 'x/1'] as Call,
    status: 200,
    answer: samples.possible,
  })),
  // The second is the name of version 0.1.
  ...['video-visibility', 'sights'].map((name) => ({
    ask: `GET /hookswitch/bridges/b%2F1/${name}`,
    call: ['bridges.videoVisibility', 'b/1'] as Call,
    status: 200,
    answer: [samples.visibility],
  })),
  { ask: 'GET /hookswitch/tokens', call: ['tokens.list', asker], status: 200, answer: [samples.token] },
  { ask: 'GET /hookswitch/access', call: ['tokens.access', asker], status: 200, answer: samples.access },
  {
    ask: 'POST /hookswitch/tokens?name=ci&user=desk&expires_in=60&read_only=true&applications=a,b&operations=channels&contexts=c&endpoints=e',
    call: [
      'tokens.make',
      {
        ...{ name: 'ci', user: 'desk', expires_in: 60, read_only: true },
        ...{ applications: ['a', 'b'], operations: ['channels'], contexts: ['c'], endpoints: ['e'] },
      },
      asker,
    ],
    status: 200,
    answer: { token: 'hst_x', ...samples.token },
  },
  { ask: 'DELETE /hookswitch/tokens/ci', call: ['tokens.revoke', 'ci', asker], status: 204 },
  { ask: 'POST /hookswitch/sessions', call: ['sessions.open', asker], status: 200, answer: samples.session },
  { ask: 'DELETE /hookswitch/sessions', call: ['sessions.close', asker], status: 204 },
  { ask: 'POST /hookswitch/sessions/tickets', call: ['sessions.ticket', asker], status: 200, answer: samples.ticket },
  { ask: 'POST /hookswitch/server/upgrade', call: ['server.upgrade'], status: 204 },
  { ask: 'POST /hookswitch/server/move', call: ['server.moveCalls'], status: 204 },
  { ask: 'POST /hookswitch/server/drain', call: ['server.drain'], status: 200, answer: samples.server },
  { ask: 'DELETE /hookswitch/server/drain', call: ['server.undrain'], status: 200, answer: samples.server },
  { ask: 'GET /hookswitch/nodes', call: ['cluster.nodes'], status: 200, answer: [samples.node] },
  { ask: 'DELETE /hookswitch/nodes/b', call: ['cluster.forget', 'b'], status: 204 },
  { ask: 'GET /hookswitch/server', call: ['server.get'], status: 200, answer: samples.server },
  { ask: 'GET /hookswitch/contacts', call: ['contacts.list'], status: 200, answer: [samples.contact] },
  {
    ...{ ask: 'GET /hookswitch/registrations', call: ['registrations.list'] },
    ...{ status: 200, answer: [samples.registration] },
  },
  { ask: 'GET /hookswitch/watchers', call: ['watchers.list'], status: 200, answer: [samples.watcher] },
  { ask: 'GET /hookswitch/charts', call: ['charts.list'], status: 200, answer: [samples.chartSummary] },
  { ask: 'GET /hookswitch/charts/door', call: ['charts.get', 'door'], status: 200, answer: samples.chart },
  { ask: 'GET /hookswitch/charts/door.svg', call: ['charts.svg', 'door'], status: 200, answer: '<svg/>', file: true },
  { ask: 'GET /hookswitch/charts/door.json', call: ['charts.json', 'door'], status: 200, answer: '{}', file: true },
  {
    ask: 'GET /hookswitch/charts/door.scxml',
    call: ['charts.scxml', 'door'],
    status: 200,
    answer: '<scxml/>',
    file: true,
  },
  { ask: 'GET /hookswitch/logging', call: ['logLevels.get'], status: 200, answer: logging },
  {
    ask: 'PUT /hookswitch/logging?level=info',
    body: { parts: { sip: 'trace' } },
    call: ['logLevels.set', { level: 'info', parts: { sip: 'trace' } }],
    status: 200,
    answer: logging,
  },
  {
    ask: 'GET /hookswitch/calls?number=1&app=a&endpoint=e&state=live&older_than=5&stuck=true&offset=2&limit=3',
    call: [
      'calls.list',
      { number: '1', app: 'a', endpoint: 'e', state: 'live', stuck: true, older_than: 5, offset: 2, limit: 3 },
    ],
    status: 200,
    answer: callPage,
  },
  { ask: 'GET /hookswitch/stuck', call: ['calls.stuck'], status: 200, answer: [] },
  { ask: 'GET /hookswitch/calls/c%2F1', call: ['calls.get', 'c/1', undefined], status: 200, answer: call },
  {
    ask: 'GET /hookswitch/calls/c1.mmd',
    call: ['calls.mermaid', 'c1', undefined],
    status: 200,
    answer: 'sequenceDiagram',
    file: 'text/vnd.mermaid',
  },
  {
    ask: 'GET /hookswitch/calls/c1.pcap',
    call: ['calls.pcap', 'c1', undefined, undefined],
    status: 200,
    answer: 'pcap',
    file: 'application/vnd.tcpdump.pcap',
  },
  {
    ask: 'PUT /hookswitch/calls/c1/mask?digits=true&variables=PIN,CARD',
    call: ['calls.mask', 'c1', { digits: true, variables: ['PIN', 'CARD'] }, undefined],
    status: 200,
    answer: { digits: true, variables: ['PIN'] },
  },
  {
    ask: 'GET /hookswitch/calls/c1/bundle',
    call: ['calls.bundle', 'c1', true, undefined],
    status: 200,
    answer: '{}',
    file: 'application/json',
  },
  { ask: 'GET /hookswitch/alarms', call: ['alarms.list'], status: 200, answer: [samples.alarm] },
  { ask: 'GET /hookswitch/history', call: ['alarms.history'], status: 200, answer: samples.history },
  { ask: 'GET /hookswitch/usage', call: ['usage.get'], status: 200, answer: usage },
  {
    ask: 'GET /hookswitch/webrtc',
    call: ['webrtc.terms', asker],
    status: 200,
    answer: { name: 'alice', ice_servers: [] },
  },
  {
    ask: 'POST /hookswitch/webrtc?app=desk&appArgs=a&channelId=c9&formats=ulaw',
    sdp: 'v=0\r\n',
    call: ['webrtc.call', { app: 'desk', appArgs: 'a', channelId: 'c9', formats: 'ulaw', offer: 'v=0\r\n' }, asker],
    status: 201,
    answer: 'v=0\r\n',
    file: 'application/sdp',
    at: '/hookswitch/webrtc/sessions/s1',
  },
  {
    ask: 'POST /hookswitch/channels/c1/supervise?mode=whisper&supervisorId=c9',
    sdp: 'v=0\r\n',
    call: ['webrtc.supervise', { channelId: 'c1', mode: 'whisper', supervisorId: 'c9', offer: 'v=0\r\n' }, asker],
    status: 201,
    answer: 'v=0\r\n',
    file: 'application/sdp',
    at: '/hookswitch/webrtc/sessions/s1',
  },
  {
    ask: 'PATCH /hookswitch/webrtc/sessions/s1',
    sdp: 'v=0\r\n',
    call: ['webrtc.change', 's1', 'v=0\r\n', asker],
    status: 200,
    answer: 'v=0\r\n',
    file: 'application/sdp',
  },
  {
    ask: 'PATCH /hookswitch/webrtc/sessions/s1',
    sdp: 'a=ice-ufrag:x\r\n',
    ifMatch: '"t1"',
    call: ['webrtc.change', 's1', 'a=ice-ufrag:x\r\n', { ...asker, ifMatch: '"t1"' }],
    status: 200,
    answer: 'v=0\r\n',
    file: 'application/sdp',
  },
  { ask: 'DELETE /hookswitch/webrtc/sessions/s1', call: ['webrtc.end', 's1', asker], status: 204 },
];

/** The operation with full paths. */
const atBase = (base: string) => (operation: Operation) => ({
  ...operation,
  paths: operation.paths.map((path) => base + path),
});
const fullPath = (path: string): string => (path.startsWith(`${hookswitch.base}/`) ? path : ari.base + path);

const operations = suite('operations');
const fakes = createFakes();
const app = createTestApp(fakes.owners);

const initOf = ({ body, sdp, ifMatch, form: encoded }: Row) => {
  const matches = ifMatch === undefined ? {} : { 'if-match': ifMatch };
  if (sdp !== undefined)
    return { body: sdp, headers: { authorization, 'content-type': 'application/sdp', ...matches } };
  if (encoded !== undefined) return { headers: form, body: encoded };
  return body === undefined ? {} : { headers: json, body: JSON.stringify(body) };
};

operations.before.each(() => {
  fakes.calls.length = 0;
  fakes.instead = undefined;
  app.logged.length = 0;
});

for (const row of rows) {
  operations(`${row.ask} reaches ${row.call[0]} with its parameters`, async () => {
    const [method, path = ''] = row.ask.split(' ');
    const response = await app.ask(`${method} ${fullPath(path)}`, initOf(row));
    assert.equal(fakes.calls, [row.call]);
    assert.is(response.status, row.status);
    const text = await response.text();
    assert.is(text, row.answer === undefined ? '' : row.file ? row.answer : JSON.stringify(row.answer));
    const type = row.file === true ? 'audio/wav' : (row.file ?? 'application/json');
    assert.is(response.headers.get('content-type'), row.answer === undefined ? null : type);
    assert.is(response.headers.get('cache-control'), 'no-cache, no-store');
    assert.is(
      response.headers.get('location'),
      row.status === 201 ? fullPath(`${row.at?.startsWith('/') ? '' : '/'}${row.at ?? 'playbacks/p%2F1'}`) : null,
    );
  });
}

const declared = apis
  .flatMap(({ base, resources }) => resources.flatMap((resource) => resource.operations.map(atBase(base))))
  .filter(({ upgrade }) => !upgrade);
const matches = (path: string, asked: string): boolean =>
  new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(asked.split('?')[0] ?? '');

operations('every declared operation is asked above', () => {
  const missed = declared.filter(
    ({ method, paths }) =>
      !rows.some(({ ask }) => {
        const [asked, path = ''] = ask.split(' ');
        return asked === method && paths.some((pattern) => matches(pattern, fullPath(path)));
      }),
  );
  assert.equal(
    missed.map(({ nickname }) => nickname),
    [],
  );
});

const parametersFor = (code: AriErrorCode): Record<string, string> =>
  Object.fromEntries([...ariErrors[code].message.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, `<${name}>`]));

operations('every declared refusal comes out with its status, message and second key', async () => {
  for (const operation of declared) {
    for (const code of operation.errors) {
      fakes.instead = () => {
        throw new (AriError as new (code: AriErrorCode, parameters: object) => AriError)(code, parametersFor(code));
      };
      const path = (operation.paths[0] ?? '').replaceAll(/\{\w+\}/g, 'x');
      const response = await app.ask(`${operation.method} ${path}`);
      const entry = ariErrors[code];
      const { status, message } = entry;
      const expected: Record<string, string> = {};
      if (!('onlyError' in entry)) expected['message'] = message.replaceAll(/\{(\w+)\}/g, '<$1>');
      if ('error' in entry) expected['error'] = entry.error;
      assert.is(response.status, status, `${operation.nickname} ${code}`);
      assert.equal(await response.json(), expected, `${operation.nickname} ${code}`);
    }
  }
});

operations('a refusal that was not declared is a 500 that names it, and is logged', async () => {
  fakes.instead = () => {
    throw new AriError('mailboxNotFound');
  };
  const response = await app.ask('POST /ari/channels/c1/answer');
  assert.is(response.status, 500);
  assert.equal(await response.json(), {
    message: "Operation answer failed with the undeclared error 'mailboxNotFound'",
  });
  assert.is(app.logged[0]?.['code'], 'mailboxNotFound');
});

operations('without validation an undeclared refusal is given as it is', async () => {
  fakes.instead = () => {
    throw new AriError('mailboxNotFound');
  };
  const response = await createTestApp(fakes.owners, { validate: false }).ask('POST /ari/channels/c1/answer');
  assert.is(response.status, 404);
});

operations('an answer that does not match its model is a 500, logged with the place that is wrong', async () => {
  fakes.instead = () => ({ ...channel, caller: { name: 1, number: '' } });
  const response = await app.ask('GET /ari/channels/c1');
  assert.is(response.status, 500);
  assert.equal(await response.json(), { message: 'Response validation failed' });
  assert.is(app.logged[0]?.['wrong'], '/caller/name must be string');
});

operations('without validation the answer is given as it is', async () => {
  fakes.instead = () => ({ id: 'x' });
  const response = await createTestApp(fakes.owners, { validate: false }).ask('GET /ari/channels/c1');
  assert.is(response.status, 200);
  assert.equal(await response.json(), { id: 'x' });
});

operations('an owner that fails is a 500 without its words, which are logged', async () => {
  for (const fail of [
    () => Promise.reject(new Error('inside')),
    () => {
      throw new Error('inside');
    },
    () => {
      throw 'a string';
    },
  ]) {
    app.logged.length = 0;
    fakes.instead = fail;
    const response = await app.ask('GET /ari/channels/c1/rtp_statistics');
    assert.is(response.status, 500);
    assert.equal(await response.json(), { message: 'Internal Server Error' });
    assert.is(app.logged[0]?.['operation'], 'rtpstatistics');
  }
});

operations('an operation whose owner is absent does not exist', async () => {
  const { mailboxes: _absent, ...others } = fakes.owners;
  const response = await createTestApp(others).ask('GET /ari/mailboxes');
  assert.is(response.status, 404);
  assert.equal(await response.json(), { message: 'Resource not found' });
});

operations('answers are indented when that is wanted', async () => {
  const response = await createTestApp(fakes.owners, { pretty: true }).ask('GET /ari/asterisk/ping', {
    headers: { authorization },
  });
  assert.is(await response.text(), JSON.stringify(ping, null, 2));
});

operations.run();
