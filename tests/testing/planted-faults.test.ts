import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Ari, type CallHandle, connect } from '../../packages/client/src/index.ts';
import type { DisturbanceKind } from '../../packages/testing/src/disturbances.ts';
import { paths, type TestServer } from '../../packages/testing/src/index.ts';
import { Cause } from '../../src/telephony/causes.ts';

/** One application that survives everything, and faults planted into it: one for each kind of disturbance. */
const faults = suite('planted faults');

const steps = [
  ...['rings', 'calls', 'waits', 'answers', 'plays', 'records', 'opens a bridge', 'joins', 'talks', 'moves'],
] as const;
type Step = (typeof steps)[number];

/** It does not survive this kind, in one step or in any. */
type Fault = { kind: DisturbanceKind; step?: Step };

/** Something has ended a call before its time. */
class Lost extends Error {}

const quietly = (promise: Promise<unknown>): Promise<unknown> => promise.catch(() => {});
/** What a callee's cause (Q.850) says. */
const causes: Readonly<Record<number, DisturbanceKind>> = { 17: 'busy', 19: 'never answered', 21: 'declined' };

/** A call: the caller and bob hear a beep, leave a message, talk, and the caller is moved to the second application. */
class Service {
  readonly #ari: Ari;
  readonly #call: CallHandle;
  readonly #fault: Fault | undefined;
  readonly #calleeId = crypto.randomUUID();
  readonly #bridgeId = crypto.randomUUID();
  readonly #stops: (() => void)[] = [];
  #step: Step = 'rings';
  #isOver = false;
  #lose: (error: Error) => void = () => {};
  readonly #lost = new Promise<never>((_, reject) => {
    this.#lose = reject;
  });

  constructor(ari: Ari, call: CallHandle, fault: Fault | undefined) {
    this.#ari = ari;
    this.#call = call;
    this.#fault = fault;
    void quietly(this.#lost);
    this.#hear();
  }

  /** Here the planted fault is: what nobody catches ends a program. */
  plant(kind: DisturbanceKind): void {
    if (this.#isOver || this.#fault?.kind !== kind || (this.#fault.step ?? this.#step) !== this.#step) return;
    void Promise.reject(new Error(`planted: ${kind} while it ${this.#step}`));
  }

  async run(): Promise<void> {
    const { channels, bridges, applications } = this.#ari;
    const [call, bridgeId, channelId] = [this.#call, this.#bridgeId, this.#calleeId];
    try {
      await this.#do('rings', call.ring());
      const answered = this.#ari.next('StasisStart', ({ channel }) => channel.id === channelId);
      void quietly(answered);
      const callee = { endpoint: 'PJSIP/bob', app: 'second', channelId, originator: call.id, timeout: 20 };
      await this.#do('calls', channels.originate(callee));
      let isEarly = false;
      void answered.then(() => (isEarly = true)).catch(() => {});
      await this.#do('waits', call.setChannelVar({ variable: 'CALLED', value: 'bob' }));
      if (isEarly) this.plant('answered');
      await this.#do('waits', answered);
      await this.#do('answers', call.answer());
      const played = call.next('PlaybackFinished');
      void quietly(played);
      await this.#do('plays', call.play({ media: 'sound:beep' }));
      const { playback } = await this.#do('plays', played);
      if (playback.state === 'failed') this.plant('playback fails');
      const recorded = Promise.race([call.next('RecordingFinished'), call.next('RecordingFailed')]);
      void quietly(recorded);
      const recording = { name: call.id, format: 'wav', maxDurationSeconds: 1, ifExists: 'overwrite' } as const;
      await this.#do('records', call.record(recording));
      const { type, recording: taken } = await this.#do('records', recorded);
      if (type === 'RecordingFailed')
        this.plant(/disk/.test(taken.cause ?? '') ? 'recording fails' : 'media thread lost');
      await this.#do('opens a bridge', bridges.create({ bridgeId, type: 'mixing' }));
      const eventSource = `bridge:${bridgeId}`;
      await this.#do('opens a bridge', applications.subscribe({ applicationName: 'hello', eventSource }));
      const left = this.#ari.next('ChannelDestroyed', ({ channel }) => channel.id === channelId);
      void quietly(left);
      await this.#do('joins', bridges.addChannel({ bridgeId, channel: [call.id, channelId] }));
      await this.#do('talks', left);
      const refused = call.next('ApplicationMoveFailed');
      void quietly(refused);
      await this.#do('moves', call.move({ app: 'second' }));
      await this.#do('moves', Promise.race([refused, call.ended]));
      if (
        await Promise.race([
          refused.then(
            () => true,
            () => false,
          ),
          call.ended.then(() => false),
        ])
      )
        this.plant('move fails');
    } catch {
      // What has failed ends the call.
    } finally {
      this.#isOver = true;
      for (const stop of this.#stops) stop();
      await quietly(bridges.destroy({ bridgeId }));
      await quietly(channels.hangup({ channelId }));
      await quietly(call.hangup());
    }
  }

  /** Does a step, or ends early. */
  #do<T>(step: Step, doing: Promise<T>): Promise<T> {
    this.#step = step;
    return Promise.race([doing, this.#lost]);
  }

  #hear(): void {
    const ari = this.#ari;
    const end = (kind: DisturbanceKind) => {
      this.plant(kind);
      this.#lose(new Lost(kind));
    };
    this.#stops.push(
      ari.on('StasisEnd', ({ channel }) => {
        if (channel.id === this.#call.id && this.#step !== 'moves') end('caller hangs up');
      }),
      ari.on('ChannelDestroyed', ({ channel, cause }) => {
        if (channel.id === this.#calleeId && this.#step !== 'talks' && this.#step !== 'moves')
          end(causes[cause] ?? 'callee hangs up');
      }),
      ari.on('BridgeDestroyed', ({ bridge }) => {
        if (bridge.id === this.#bridgeId) end('bridge destroyed');
      }),
      ari.on('ChannelDtmfReceived', () => this.plant('digit')),
      ari.on('ChannelHold', () => this.plant('hold')),
      ari.on('BridgeBlindTransfer', () => this.plant('transfer')),
    );
  }
}

/** The application, in this process. */
const start = (fault?: Fault) => async (pbx: TestServer) => {
  const ari = await connect({ ...pbx, url: pbx.url, app: ['hello', 'second'] });
  const services = new Set<Service>();
  const startedAt = async () => (await ari.asterisk.getInfo()).status?.startup_time;
  let started = await startedAt();
  ari.on('connected', async () => {
    const before = started;
    started = await startedAt();
    for (const service of services) service.plant(started === before ? 'WebSocket cut' : 'server restarted');
  });
  ari.on('ChannelDestroyed', ({ cause }) => {
    if (cause === Cause.temporaryFailure && fault?.kind === 'media fails')
      void Promise.reject(new Error('planted: media fails while it does anything'));
  });
  ari.on('StasisStart', async ({ channel, application }) => {
    if (application === 'second' && channel.name.startsWith('PJSIP/alice'))
      return quietly(ari.channels.hangup({ channelId: channel.id }));
    if (application === 'second') return undefined;
    const service = new Service(ari, ari.call(channel), fault);
    services.add(service);
    await service.run();
    return services.delete(service);
  });
  return () => ari.close();
};

async function call(pbx: TestServer): Promise<void> {
  const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
  await alice.dial('100');
  await bob.answer();
  await pbx.event('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
  await bob.hangup();
  await alice.hungUp();
}

const run = (fault: Fault, only: RegExp) =>
  paths({ server: { app: 'hello' }, start: start(fault), call, only, mostFindings: 1 });

faults('an application without a fault survives every path', async () => {
  const most = Number(process.env['HOOKSWITCH_TEST_PATHS'] ?? 16);
  const report = await paths({ server: { app: 'hello' }, start: start(), call, most });
  assert.equal(report.findings, [], report.text);
  assert.equal(report.missed, []);
  assert.ok(report.runs >= most && report.runs + report.leftOut > 140, report.text);
});

/** Which paths are of a kind. */
const kinds: Readonly<Record<DisturbanceKind, RegExp>> = {
  'caller hangs up': /^alice .* hangs up /,
  'callee hangs up': /^bob .* hangs up /,
  busy: / is busy /,
  declined: / declines /,
  answered: / answers at this moment /,
  'never answered': / never answers /,
  digit: / presses /,
  hold: / on hold /,
  transfer: / transfers /,
  'playback fails': /^the playback fails /,
  'recording fails': /^the recording fails /,
  'move fails': /^the move fails /,
  'bridge destroyed': / destroys the bridge /,
  'WebSocket cut': /^the WebSocket /,
  'media thread lost': /^the media thread is lost /,
  'media fails': /^the media threads /,
  'server restarted': /^the server restarts /,
};

async function assertFound(fault: Fault): Promise<void> {
  const { findings, text } = await run(fault, kinds[fault.kind]);
  const [finding] = findings;
  assert.ok(finding, text);
  assert.is(finding.cause, fault.kind, text);
  assert.is(finding.kind, 'ended', text);
  assert.match(finding.details ?? '', `planted: ${fault.kind} while it ${fault.step ?? ''}`, text);
}

/** A lost media thread is made good by the server: there is nothing that an application could do wrong. */
const unnoticed: DisturbanceKind = 'media thread lost';
const noticed = (Object.keys(kinds) as DisturbanceKind[]).filter((kind) => kind !== unnoticed);

faults('an application that would not survive a lost media thread does not hear of one', async () => {
  const report = await run({ kind: unnoticed }, kinds[unnoticed]);
  assert.equal(report.findings, [], report.text);
  assert.ok(report.runs > 5, report.text);
});

for (const kind of noticed) faults(`a fault that only '${kind}' shows is found by it`, () => assertFound({ kind }));

for (const step of steps.filter((each) => each !== 'moves'))
  faults(`a fault that only a caller shows who hangs up while it ${step} is found`, () =>
    assertFound({ kind: 'caller hangs up', step }),
  );

for (const step of ['answers', 'plays', 'records', 'opens a bridge', 'joins'] as const)
  faults(`a fault that only a callee shows who hangs up while it ${step} is found`, () =>
    assertFound({ kind: 'callee hangs up', step }),
  );

faults.run();
