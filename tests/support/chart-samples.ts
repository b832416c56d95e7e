import { readdirSync } from 'node:fs';
import type { AnyStateMachine, EventFrom, InputFrom } from 'xstate';
import { importFile } from '../../scripts/compiled.ts';
import { applicationMachine } from '../../src/machines/application.ts';
import { awayPolicyMachine } from '../../src/machines/away-policy.ts';
import { bridgeMachine } from '../../src/machines/bridge.ts';
import { bridgeLinkMachine } from '../../src/machines/bridge-link.ts';
import { bridgeVideoMachine } from '../../src/machines/bridge-video.ts';
import { broadcastOfferMachine } from '../../src/machines/broadcast-offer.ts';
import { channelMachine } from '../../src/machines/channel.ts';
import { channelAudioMachine } from '../../src/machines/channel-audio.ts';
import { connectionCallMachine } from '../../src/machines/connection-call.ts';
import { consultationMachine } from '../../src/machines/consultation.ts';
import { contactMachine } from '../../src/machines/contact.ts';
import { dialMachine } from '../../src/machines/dial.ts';
import { earlyAudioMachine } from '../../src/machines/early-audio.ts';
import { externalConnectionMachine } from '../../src/machines/external-connection.ts';
import { externalLegMachine } from '../../src/machines/external-leg.ts';
import { featureKeysMachine } from '../../src/machines/feature-keys.ts';
import { groupMemberMachine } from '../../src/machines/group-member.ts';
import { groupMembershipMachine } from '../../src/machines/group-membership.ts';
import { idDirectoryMachine } from '../../src/machines/id-directory.ts';
import { legMachine } from '../../src/machines/leg.ts';
import { lifecycleMachine } from '../../src/machines/lifecycle.ts';
import { liveRecordingMachine } from '../../src/machines/live-recording.ts';
import { localLegMachine } from '../../src/machines/local-leg.ts';
import { mediaQueueMachine } from '../../src/machines/media-queue.ts';
import { memberMusicMachine } from '../../src/machines/member-music.ts';
import { nodeMemberMachine } from '../../src/machines/node-member.ts';
import { nodeNameMachine } from '../../src/machines/node-name.ts';
import { outboundConnectionMachine } from '../../src/machines/outbound-connection.ts';
import { outsideReferMachine } from '../../src/machines/outside-refer.ts';
import { ownRefersMachine } from '../../src/machines/own-refers.ts';
import { ownershipMachine } from '../../src/machines/ownership.ts';
import { pendingMediaSessionMachine } from '../../src/machines/pending-media-session.ts';
import { phoneSubscriptionMachine } from '../../src/machines/phone-subscription.ts';
import { pictureUpdatesMachine } from '../../src/machines/picture-updates.ts';
import { playbackMachine } from '../../src/machines/playback.ts';
import { receivedRefersMachine } from '../../src/machines/received-refers.ts';
import { registrationMachine } from '../../src/machines/registration.ts';
import { stateReplicaMachine } from '../../src/machines/state-replica.ts';
import { supervisionMachine } from '../../src/machines/supervision.ts';
import { takeoverMachine } from '../../src/machines/takeover.ts';
import { transferMachine } from '../../src/machines/transfer.ts';
import { trickleMachine } from '../../src/machines/trickle.ts';
import { watcherMachine } from '../../src/machines/watcher.ts';
import { webrtcLegMachine } from '../../src/machines/webrtc-leg.ts';

/**
 * Inputs and events of every chart, for tests that go through all of them. A new chart is added here:
 * `tests/actors/steps.test.ts` fails until it is, and until each event that the chart names has a sample.
 */
export type ChartSamples = {
  machine: AnyStateMachine;
  inputs: readonly object[];
  events: readonly { type: string }[];
};

const samplesOf = <M extends AnyStateMachine>(
  machine: M,
  samples: { inputs: readonly InputFrom<M>[]; events: readonly EventFrom<M>[] },
): ChartSamples => ({ machine, ...samples }) as unknown as ChartSamples;

/** Events without more to them. */
const plain = <T extends string>(...types: T[]) => types.map((type) => ({ type }));

const position = { context: 'default', extension: '100', priority: 2 };
const start = { context: 'default', extension: 's', priority: 1 };

const channelInput = (origin: InputFrom<typeof channelMachine>['origin']): InputFrom<typeof channelMachine> => ({
  id: 'c1',
  name: 'PJSIP/alice-00000001',
  technology: 'PJSIP',
  endpoint: ['PJSIP', 'alice'],
  protocolId: 'call-1',
  origin,
  caller: { name: '', number: '' },
  connected: { name: '', number: '' },
  accountCode: '',
  language: 'en',
  creationTime: 0,
  dialplan: { context: 'default', exten: 's', priority: 1, appName: '', appData: '' },
  variables: {},
  inheritance: {},
  reported: [],
  dialString: 'alice',
});

const transferRequest: InputFrom<typeof transferMachine>['request'] = {
  id: '2',
  extension: '200',
  context: 'default',
  target: 'sip:200@pbx.example',
  handling: 'core',
};
const transferInput = (change: Partial<InputFrom<typeof transferMachine>>): InputFrom<typeof transferMachine> => ({
  ...{ id: 't1', transferer: 'c1', request: transferRequest, handling: 'core', context: 'default' },
  ...{ targetId: 'c9', timeoutMs: 60_000 },
  ...change,
});

const consults = { bridgeId: 'b2', waitingIn: 'b1' };
const elsewhereRequest = { ...transferRequest, replaces: { protocolId: 'x', localTag: '1', remoteTag: '2' } };
const attendedRequest = { ...elsewhereRequest, replaces: { ...elsewhereRequest.replaces, channelId: 'c2' } };
const callBack = { channelId: 'c10', target: 'PJSIP/bob' };

const visit = { position, args: ['a'] };
const dialInput: InputFrom<typeof dialMachine> = {
  ...{ id: 'd1', caller: 'c1', targets: ['PJSIP/bob', 'PJSIP/carol'], waiting: 'alert' },
};
const callee = (channelId: string) => ({ channelId, number: 'bob' });

const contact = {
  id: 'alice;1',
  uri: 'sip:alice@192.0.2.9',
  aor: 'alice',
  technology: 'PJSIP',
  endpoint: 'alice',
  qualifyFrequencyMs: 60_000,
  qualifyTimeoutMs: 3_000,
  expiresMs: 200_000,
};
const watcher = {
  id: 'call;ours;theirs',
  technology: 'PJSIP',
  endpoint: 'alice',
  topics: ['device:pjsip/bob', 'device:stasis:desk'],
  expiresMs: 300_000,
  intervalMs: 1_000,
};
const unqualified = { ...contact, qualifyFrequencyMs: 0 };

const featureKeys = {
  ...{ id: 'c1', digitTimeoutMs: 1_000, numberTimeoutMs: 3_000, attempts: 1 },
  consultationCodes: [
    { feature: 'atxferabort', code: '*1' },
    { feature: 'atxfercomplete', code: '*3' },
  ],
} as const;
/** One is the beginning of two others. */
const everyCode: InputFrom<typeof featureKeysMachine>['codes'] = [
  { feature: 'disconnect', code: '*' },
  { feature: 'automon', code: '*1' },
  { feature: 'automixmon', code: '*3' },
  { feature: 'blindxfer', code: '#' },
];

const playback = { id: 'p1', targetUri: 'channel:c1', language: 'en', offsetMs: 250, skipMs: 3_000 };

const bridge: InputFrom<typeof bridgeMachine> = {
  id: 'b1',
  name: '',
  type: 'mixing',
  flags: [],
  features: { mute: false, suppressDtmf: false },
  class: 'stasis',
  creationTime: 0,
  variables: {},
  reported: [],
};
const member = (channelId: string) => ({
  channelId,
  role: '',
  muted: false,
  absorbsDigits: false,
  inhibitsConnectedLine: false,
});

const line = {
  id: 'trunk;sip:provider.example;sip:49301@provider.example',
  technology: 'PJSIP',
  endpoint: 'trunk',
  server: 'sip:provider.example',
  client: 'sip:49301@provider.example',
  expiresMs: 3_600_000,
  retryMs: 15_000,
  longestRetryMs: 600_000,
  rejectedRetryMs: 3_600_000,
};

const connection = {
  id: 'hello',
  connectionTimeoutMs: 500,
  reconnectIntervalMs: 700,
  reconnectAttempts: 1,
};

/** By the chart's id. */
export const chartSamples: readonly ChartSamples[] = [
  samplesOf(channelMachine, {
    inputs: [channelInput('originated'), channelInput('created'), channelInput('incoming'), channelInput('attached')],
    events: [
      { type: 'dial', timeoutMs: 30_000 },
      { type: 'dial.soon', timeoutMs: 2_000 },
      ...plain('answer', 'ring', 'ringStop', 'progress', 'busy', 'effect.failed', 'leg.lingers', 'leg.proceeding'),
      ...plain('leg.forwarding'),
      ...plain('leg.ringing', 'leg.progressed', 'leg.answered', 'leg.ended', 'leg.held', 'leg.unheld'),
      { type: 'hangup', cause: 16 },
      { type: 'finish', cause: 16 },
      { type: 'dtmf', sequence: { digits: '1', beforeMs: 0, betweenMs: 100, durationMs: 100, afterMs: 0 } },
      { type: 'variable.set', name: '__X', value: '1', report: true },
      { type: 'variable.set', name: 'X', value: undefined },
      { type: 'variable.preset', variables: { Z: '1' }, inheritance: { Z: 'once' } },
      { type: 'caller.set', caller: { name: 'A' } },
      { type: 'connected.set', party: { name: 'B' } },
      { type: 'language.set', language: 'de' },
      { type: 'accountCode.set', accountCode: '7' },
      { type: 'cause.set', cause: 17 },
      { type: 'tenantId.set', tenantId: 't' },
      { type: 'musicClass.set', musicClass: 'jazz' },
      { type: 'peerAccount.set', peerAccount: '8' },
      { type: 'hangupSource.set', source: 'dialplan/builtin' },
      { type: 'timeLimit.set', limit: { ms: 1_000, at: 2_000 } },
      { type: 'timeLimit.set', limit: undefined },
      { type: 'timeLimit.over' },
      { type: 'holdIntercept.set', on: true },
      { type: 'transferHandling.set', handling: 'client' },
      { type: 'leg.transferAsked', transfer: transferRequest },
      { type: 'linked.set', linked: { id: 'c0', since: 5 } },
      { type: 'bridge.entered', bridgeId: 'b1' },
      { type: 'bridge.left' },
      { type: 'userEvent', name: 'E', fields: { a: 'b' } },
      { type: 'dialplan.entered', position, app: 'Wait', data: '1' },
      { type: 'dialplan.ended', cause: 16 },
      { type: 'application.entered', app: 'hello', args: ['x,y'] },
      { type: 'leg.ringing', inMedia: true },
      { type: 'leg.hungUp', cause: 17, techCause: 486 },
      { type: 'leg.digit', digit: '1', durationMs: 100 },
      { type: 'leg.talkingStarted' },
      { type: 'leg.talkingFinished', durationMs: 900 },
      { type: 'tones.set', tones: { times: 2, to: { in: position }, heard: { in: 1, out: 0 } } },
      { type: 'leg.toneDetected', direction: 'in' },
      { type: 'leg.toneDetected', direction: 'out', signal: 'busy' },
      { type: 'leg.connectedLine', party: { name: 'C', number: '3' } },
      { type: 'leg.forwarded', target: 'PJSIP/bob' },
      {
        type: 'leg.forwarded',
        target: 'Local/300@default',
        redirection: { from: { name: '', number: '200' }, count: 1, followed: ['Local/300@default'] },
      },
      { type: 'forwarded', target: 'Local/300@default', successor: 'c2' },
    ],
  }),
  samplesOf(ownershipMachine, {
    inputs: [
      { id: 'c1', start },
      { id: 'c1', start, onAnswer: { type: 'application', app: 'hello', args: ['a'] } },
      { id: 'c1', start, onAnswer: { type: 'dialplan', position } },
      { id: 'c1', start, attached: true },
    ],
    events: [
      { type: 'run', position },
      { type: 'enter', app: 'hello', args: ['x'], resume: position },
      { type: 'enter', app: 'hello', args: [] },
      { type: 'enter', app: 'hello', args: [], replaces: 'c0' },
      { type: 'enter.soon', app: 'hello', args: ['x'], data: 'hello,x' },
      { type: 'continue', position },
      { type: 'move', app: 'other', args: ['1'] },
      { type: 'leave', departure: { type: 'continue', position } },
      { type: 'leave', departure: { type: 'move', app: 'other', args: ['1'] }, behind: { kind: 'playback', id: 'p1' } },
      { type: 'turn' },
      { type: 'application.accepted' },
      { type: 'application.accepted', app: 'hello:1' },
      ...plain('application.refused', 'application.lost', 'leg.offered', 'leg.answered', 'leg.ended'),
      { type: 'dialplan.ended', cause: 16 },
    ],
  }),
  samplesOf(channelAudioMachine, {
    inputs: [{ id: 'c1' }],
    events: [
      ...(['both', 'in', 'out'] as const).flatMap((direction) => [
        { type: 'mute', direction } as const,
        { type: 'unmute', direction } as const,
      ]),
      { type: 'startMoh', musicClass: 'default' },
      ...plain('hold', 'unhold', 'stopMoh', 'startSilence', 'stopSilence', 'application.left', 'channel.gone'),
    ],
  }),
  samplesOf(consultationMachine, {
    inputs: [{ id: 't1', transferer: 'c1', targetId: 'c9', ...consults }],
    events: [
      ...plain('talk.opened', 'talk.refused', 'party.elsewhere', 'target.elsewhere', 'complete'),
      ...plain('talk.completed', 'completion.refused', 'end'),
    ],
  }),
  samplesOf(dialMachine, {
    inputs: [
      dialInput,
      { ...dialInput, waiting: 'ring', preparation: visit, afterwards: position },
      { ...dialInput, waiting: { music: 'default' }, subroutine: visit, toldElsewhere: true, timeoutMs: 20_000 },
      {
        ...dialInput,
        preparation: visit,
        announcement: ['sound:a'],
        toldElsewhere: true,
        timeoutMs: 20_000,
        limitMs: 900,
      },
    ],
    events: [
      { type: 'targets.opened', callees: [], failures: [20] },
      { type: 'targets.opened', callees: [callee('c2'), callee('c3')], failures: [] },
      { type: 'callee.progressed', channelId: 'c2' },
      { type: 'callee.ringing', channelId: 'c2' },
      { type: 'callee.answered', channelId: 'c2', name: 'PJSIP/bob-1' },
      { type: 'callee.failed', channelId: 'c2', cause: 19 },
      { type: 'callee.failed', channelId: 'c3', cause: 17 },
      { type: 'callee.replaced', channelId: 'c2', by: 'c4' },
      { type: 'caller.left', digit: '1' },
      { type: 'stop', hungUp: false, elsewhere: false },
      { type: 'stop', hungUp: true, elsewhere: true },
      { type: 'peer.declined' },
      { type: 'peer.declined', status: 'BUSY', goesOn: true },
      { type: 'parties.joined', bridge: 'b1', at: 1_000 },
      { type: 'party.departed', channelId: 'c1' },
      { type: 'party.departed', channelId: 'c2' },
      { type: 'party.absent', absent: true },
      { type: 'party.absent', absent: false },
      { type: 'party.left', at: 2_000, hungUp: false },
      { type: 'party.left', at: 2_000, hungUp: true },
      { type: 'party.ends', channelId: 'c2', at: 2_000 },
      ...plain('targets.prepared', 'patience.over', 'peer.accepted', 'caller.answered', 'caller.lost'),
      ...plain('joining.failed', 'limit.over'),
    ],
  }),
  samplesOf(playbackMachine, {
    inputs: [
      { ...playback, media: ['sound:a'] },
      { ...playback, media: ['sound:a', 'sound:b', 'sound:c'] },
    ],
    events: [
      ...plain('turn', 'stop', 'restart', 'pause', 'unpause', 'reverse', 'forward', 'target.gone', 'media.finished'),
      { type: 'media.failed', reason: 'no such file' },
    ],
  }),
  samplesOf(bridgeMachine, {
    inputs: [bridge, { ...bridge, type: 'holding', class: 'basic' }, { ...bridge, flags: ['video_sfu'] }],
    events: [
      { type: 'enter', member: member('c1') },
      { type: 'enter', member: member('c2') },
      { type: 'leave', channelId: 'c1' },
      { type: 'leave', channelId: 'c2' },
      { type: 'member.change', channelId: 'c1', absorbsDigits: true },
      { type: 'startMoh', musicClass: 'jazz' },
      { type: 'variable.set', name: 'A', value: '1', report: true },
      { type: 'variable.set', name: 'A', value: undefined },
      ...plain('stopMoh', 'destroy', 'works.ended', 'mix.lost'),
    ],
  }),
  samplesOf(bridgeVideoMachine, {
    inputs: (['none', 'talker', 'single', 'sfu'] as const).map((mode) => ({ id: 'b1', mode })),
    events: [
      ...(['c1', 'c2'] as const).flatMap((channelId) => [
        { type: 'setVideoSource', channelId } as const,
        { type: 'mix.videoSource', channelId } as const,
        { type: 'member.leaving', channelId } as const,
      ]),
      { type: 'mix.videoSource', channelId: undefined },
      { type: 'member.videoChanged', channelId: 'c1' },
      ...plain('clearVideoSource', 'members.changed', 'bridge.gone'),
    ],
  }),
  samplesOf(liveRecordingMachine, {
    inputs: [{ name: 'r1', format: 'wav', targetUri: 'channel:c1', measuresSilence: true }],
    events: [
      ...plain('turn', 'target.ready', 'target.gone', 'stop', 'cancel', 'pause', 'unpause', 'mute', 'unmute'),
      ...plain('record.started', 'record.discarded'),
      { type: 'record.finished', reason: 'stopped', durationMs: 1_500, talkingMs: 500, silenceMs: 1_000 },
      { type: 'record.failed', reason: 'the disk is full' },
      { type: 'target.refused', reason: 'Failed to answer channel' },
    ],
  }),
  samplesOf(contactMachine, {
    inputs: [{ contact }, { contact: unqualified }, { contact: { ...contact, expiresMs: 500 } }],
    events: [
      { type: 'contact.registered', contact },
      { type: 'contact.registered', contact: unqualified },
      ...plain('contact.removed', 'contact.expired', 'system.closing'),
      ...[1, 2, 3].flatMap((attempt) => [
        { type: 'qualify.answered', attempt, roundtripUsec: 1_234 } as const,
        { type: 'qualify.unanswered', attempt } as const,
      ]),
    ],
  }),
  samplesOf(applicationMachine, {
    inputs: [{ name: 'hello' }],
    events: [
      { type: 'connect', connection: '1', subscribeAll: false },
      { type: 'connect', connection: '2', subscribeAll: true },
      { type: 'disconnect', connection: '1' },
      { type: 'disconnect', connection: '2' },
      { type: 'subscriptions.ended' },
    ],
  }),
  samplesOf(externalConnectionMachine, {
    inputs: [
      { id: 'c1', connectionTimeoutMs: 3000 },
      { id: 'c1', connectionTimeoutMs: 3000, resumes: { attempts: 2, intervalMs: 1000 } },
    ],
    events: [
      ...plain('socket.arrived', 'socket.opened', 'socket.cut', 'audio.flowed', 'leg.released'),
      { type: 'socket.closed', reason: 'the far side closed the connection' },
    ],
  }),
  samplesOf(featureKeysMachine, {
    inputs: [
      { ...featureKeys, codes: [{ feature: 'blindxfer', code: '#1' }] },
      { ...featureKeys, attempts: 2, codes: everyCode },
      { ...featureKeys, codes: [{ feature: 'atxfer', code: '*3' }] },
    ],
    events: [
      ...['*', '#', '1', '3', '5'].map((digit) => ({ type: 'key' as const, digit, durationMs: 120 })),
      ...plain('number.complete', 'number.unknown', 'party.left'),
      ...[100, 180, 183, 200, 486, 487].map((status) => ({ type: 'transfer.told' as const, status })),
    ],
  }),
  samplesOf(transferMachine, {
    inputs: [
      transferInput({}),
      transferInput({ handling: 'client' }),
      transferInput({ callBack }),
      transferInput({ consults }),
      transferInput({ request: attendedRequest }),
      transferInput({ callBack, hangupTimeMs: 500 }),
      transferInput({ callBack, hangupTimeMs: 500, request: attendedRequest }),
      transferInput({ request: elsewhereRequest }),
    ],
    events: [
      ...plain('client.progress', 'client.answered', 'client.unavailable', 'client.declined'),
      ...plain('target.ringing', 'target.answered', 'parties.joined', 'transferer.left', 'transferees.left'),
      ...plain('transferer.completes', 'transferer.aborts'),
      ...plain('transferer.returned', 'transferer.lost', 'transferer.asksAgain'),
      { type: 'transferer.left', hungUp: true },
      { type: 'target.failed', status: 486, result: 'Fail' },
      { type: 'parties.refused', status: 481, result: 'Fail' },
      { type: 'parties.early', context: 'default', extension: '300' },
    ],
  }),
  samplesOf(registrationMachine, {
    inputs: [
      { registration: line, startDelayMs: 300 },
      { registration: { ...line, rejectedRetryMs: 0 }, startDelayMs: 0 },
    ],
    events: [
      ...[1, 2, 3].flatMap((attempt) => [
        { type: 'register.accepted', attempt, expiresMs: 1_800_000, chance: 0.5 } as const,
        { type: 'register.tooBrief', attempt, minimumMs: 7_200_000 } as const,
        { type: 'register.tooBrief', attempt, minimumMs: 9_000_000 } as const,
        { type: 'register.refused', attempt, reason: '403 Forbidden', permanent: true, chance: 0.5 } as const,
        {
          type: 'register.refused',
          attempt,
          reason: '503 Busy',
          permanent: false,
          retryAfterMs: 90_000,
          chance: 0.5,
        } as const,
        { type: 'register.unanswered', attempt, reason: 'no answer', chance: 0.5 } as const,
      ]),
      { type: 'registration.changed', registration: { ...line, expiresMs: 60_000 } },
      ...plain('registration.removed', 'connection.lost', 'system.closing', 'holding.begun', 'holding.ended'),
    ],
  }),
  samplesOf(awayPolicyMachine, {
    inputs: [{} as never],
    events: plain(
      ...([
        'application.lost',
        'application.kept',
        'application.back',
        'music.due',
        'time.over',
        'system.closing',
      ] as const),
    ),
  }),
  samplesOf(groupMemberMachine, {
    inputs: [{} as never],
    events: plain(
      ...(['member.joined', 'member.left', 'member.lost', 'drain.requested', 'calls.over', 'time.over'] as const),
    ),
  }),
  samplesOf(groupMembershipMachine, {
    inputs: [{} as never],
    events: [
      { type: 'home.refused', reason: 'limit' },
      ...plain(
        ...(['home.here', 'home.elsewhere', 'home.joined', 'home.lost', 'home.moved', 'events.missed'] as const),
        ...(['application.replaced', 'socket.closed'] as const),
      ),
    ],
  }),
  samplesOf(broadcastOfferMachine, {
    inputs: [{} as never],
    events: [{ type: 'claim', application: 'sales' }, ...plain('stop', 'time.over')],
  }),
  samplesOf(outsideReferMachine, {
    inputs: [{} as never],
    events: [
      ...(['transfer.progressed', 'transfer.ended'] as const).map((type) => ({
        type,
        headers: [],
        fragment: 'SIP/2.0',
      })),
      ...plain('subscription.refreshed', 'subscription.ended', 'notify.failed', 'system.closing'),
    ],
  }),
  samplesOf(localLegMachine, {
    inputs: [{} as never],
    events: [
      { type: 'hangup', cause: 16 },
      ...plain(...(['dial', 'ring', 'forwarding', 'progress', 'answer', 'peer.answered', 'release'] as const)),
    ],
  }),
  samplesOf(pendingMediaSessionMachine, {
    inputs: [{} as never],
    events: [
      { type: 'session.opened', session: {} },
      { type: 'opening.failed', error: {} },
      { type: 'task', task: {} as never },
      { type: 'close' },
    ],
  }),
  samplesOf(mediaQueueMachine, {
    inputs: [{} as never],
    events: [
      ...(['work.added', 'work.restored'] as const).map((type) => ({ type, work: {}, at: 0 })),
      ...plain(...(['work.due', 'work.begun', 'work.ended', 'queue.emptied', 'close'] as const)),
    ],
  }),
  samplesOf(phoneSubscriptionMachine, {
    inputs: [{} as never],
    events: [
      { type: 'subscribe.accepted', request: {}, seconds: 60 },
      { type: 'subscribe.withdrawn', request: {}, seconds: 0 },
      { type: 'notify', told: () => {} },
      { type: 'notify.last', end: 'timeout', told: () => {} },
      ...plain(...(['last.answered', 'watcher.ended'] as const)),
    ],
  }),
  samplesOf(nodeMemberMachine, {
    inputs: [{} as never],
    events: plain(...(['heard', 'overdue', 'lost', 'left'] as const)),
  }),
  samplesOf(bridgeLinkMachine, {
    inputs: [{} as never],
    events: plain(
      ...(['opened', 'refused', 'heard', 'missed', 'overdue', 'lost', 'failed', 'ended', 'close'] as const),
    ),
  }),
  samplesOf(nodeNameMachine, {
    inputs: [{} as never],
    events: plain(...(['granted', 'refused', 'overtaken', 'link.lost'] as const)),
  }),
  samplesOf(idDirectoryMachine, {
    inputs: [{} as never],
    events: plain(
      ...(['link.up', 'link.lost', 'granted', 'free', 'held', 'again'] as const),
      ...(['joined', 'written', 'overtaken', 'deserted'] as const),
    ),
  }),
  samplesOf(takeoverMachine, {
    inputs: [{} as never],
    events: plain(...(['overdue', 'claimed', 'refused', 'started', 'failed', 'ended', 'heard', 'stop'] as const)),
  }),
  samplesOf(stateReplicaMachine, {
    inputs: [{} as never],
    events: plain(...(['due', 'written', 'failed', 'overflowed', 'outgrown', 'link.lost'] as const)),
  }),
  samplesOf(connectionCallMachine, {
    inputs: [{} as never],
    events: plain(...(['call.entered', 'call.left', 'connection.ended'] as const)),
  }),
  samplesOf(earlyAudioMachine, {
    inputs: [{} as never],
    events: [
      { type: 'callee.audible', callee: {} },
      ...plain(...(['callee.rings', 'heard.over', 'dial.over'] as const)),
    ],
  }),
  samplesOf(lifecycleMachine, {
    inputs: [{} as never],
    events: plain('start', 'cordon', 'uncordon', 'isolate', 'rejoin', 'drain', 'close'),
  }),
  samplesOf(memberMusicMachine, {
    inputs: [{} as never],
    events: [
      { type: 'music.started', member: {}, musicClass: 'default' },
      { type: 'music.stopped', member: {} },
      { type: 'member.left', member: {} },
    ],
  }),
  samplesOf(ownRefersMachine, {
    inputs: [{} as never],
    events: [
      { type: 'refer', uri: 'sip:c@b' },
      ...plain(...(['notify.progressed', 'notify.succeeded', 'call.over'] as const)),
    ],
  }),
  samplesOf(receivedRefersMachine, {
    inputs: [{} as never],
    events: [{ type: 'refer.accepted', request: {} }, ...plain('call.over')],
  }),
  samplesOf(pictureUpdatesMachine, {
    inputs: [{} as never],
    events: plain(...(['picture.wanted', 'info.sent', 'info.ended', 'info.refused', 'call.over'] as const)),
  }),
  samplesOf(trickleMachine, {
    inputs: [{} as never],
    events: [{ type: 'candidates.came', told: {} }, ...plain('candidates.ended', 'ice.agreed')],
  }),
  samplesOf(externalLegMachine, {
    inputs: [{} as never],
    events: [{ type: 'connection.lost', cause: 16 }, ...plain('dial', 'connection.made', 'hangup', 'release')],
  }),
  samplesOf(webrtcLegMachine, {
    inputs: [{} as never],
    events: [
      ...plain(
        ...(['offer.came', 'dial', 'answer', 'call.taken', 'far.held', 'far.unheld', 'hangup', 'release'] as const),
      ),
      { type: 'call.refused', cause: 21 },
      { type: 'transport.lost', cause: 16 },
    ],
  }),
  samplesOf(legMachine, {
    inputs: [{} as never],
    events: [
      ...plain(...(['dial', 'ring', 'forwarding', 'progress', 'stopRinging', 'answer', 'hold', 'unhold'] as const)),
      ...plain(...(['renegotiate', 'release', 'call.answered', 'far.held', 'far.unheld'] as const)),
      { type: 'deflect', uri: 'sip:bob@10.0.0.2', cause: 23, techCause: 302 },
      { type: 'refer', uri: 'sip:bob@10.0.0.2' },
      { type: 'hangup', cause: 16 },
      { type: 'call.ended', cause: 17, techCause: 486 },
      { type: 'call.forwarded', target: 'PJSIP/bob' },
      { type: 'media.silent', cause: 44 },
      { type: 'media.lost', cause: 41 },
    ],
  }),
  samplesOf(watcherMachine, {
    inputs: [{ watcher }, { watcher: { ...watcher, expiresMs: 0 } }],
    events: [
      ...[1, 2, 3].flatMap((attempt) => [
        { type: 'notify.answered', attempt } as const,
        { type: 'notify.unneeded', attempt } as const,
        { type: 'notify.deferred', attempt, waitMs: 30_000 } as const,
        { type: 'notify.lost', attempt, reason: '481 Gone' } as const,
      ]),
      { type: 'watcher.renewed', watcher: { ...watcher, expiresMs: 600_000 } },
      { type: 'subject.moved', topics: ['device:pjsip/bob'] },
      { type: 'subject.gone', end: 'noresource' },
      ...plain(
        ...(['watcher.withdrawn', 'watcher.expired', 'subject.changed', 'interval.over', 'system.closing'] as const),
      ),
    ],
  }),
  samplesOf(supervisionMachine, {
    inputs: [
      ...[false, true].map((standby) => ({
        ...{ id: 'server', startTimeoutMs: 60_000, steadyMs: 10_000, pauseMs: 200, mostPauseMs: 30_000 },
        ...{ mostCrashes: 2, leaveTimeoutMs: 5_000, standby },
      })),
    ],
    events: [
      ...(['done', 'refused', 'crashed'] as const).map((how) => ({ type: 'server.ended', how, code: 70 }) as const),
      {
        type: 'server.bounds',
        bounds: {
          ...{ startTimeoutMs: 60_000, steadyMs: 10_000, pauseMs: 200, mostPauseMs: 30_000 },
          ...{ mostCrashes: 2, leaveTimeoutMs: 5_000, standby: true },
        },
      },
      { type: 'stop', signal: 'SIGTERM' },
      ...plain(
        'server.prepared',
        'server.restored',
        'server.ready',
        'successor.prepared',
        'successor.restored',
        'successor.ended',
        'server.left',
        'server.silent',
        'upgrade',
        'reload',
      ),
    ],
  }),
  samplesOf(outboundConnectionMachine, {
    inputs: [
      { ...connection, kind: 'persistent' },
      { ...connection, kind: 'call' },
    ],
    events: plain('call.entered', 'call.ended', 'socket.opened', 'socket.failed', 'socket.closed', 'system.closing'),
  }),
];

/** Every chart that a file of src/machines exports as `<noun>Machine`, and what else that file exports. */
export async function allCharts(): Promise<{ machine: AnyStateMachine; module: Record<string, unknown> }[]> {
  const directory = new URL('../../src/machines/', import.meta.url);
  const files = readdirSync(directory)
    .filter((name) => name.endsWith('.ts'))
    .sort();
  const modules = await Promise.all(files.map((name) => importFile(`src/machines/${name}`)));
  return modules.flatMap((module) =>
    Object.entries(module)
      .filter(([name, value]) => name.endsWith('Machine') && (value as AnyStateMachine).root)
      .map(([, machine]) => ({ machine: machine as AnyStateMachine, module })),
  );
}
