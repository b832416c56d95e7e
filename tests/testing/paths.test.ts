import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Ari, type CallHandle, connect } from '../../packages/client/src/index.ts';
import { type PathFinding, type PathsOptions, paths, type TestServer } from '../../packages/testing/src/index.ts';

const disturbed = suite('disturbed calls');

/** What an application of these tests does wrong. */
type Fault =
  | 'forgets the callee when the caller goes'
  | 'forgets the caller of a callee who does not answer'
  | 'leaves the bridge when the caller goes'
  | 'crashes when the callee does not answer'
  | 'crashes when the caller is gone'
  | 'does not connect again'
  | 'stays busy when the caller goes'
  | 'ignores a failed playback'
  | 'ignores a failed recording'
  | 'ignores a failed move'
  | 'crashes when the call is transferred'
  | undefined;

type Serve = (ari: Ari, call: CallHandle, fault: Fault) => Promise<void>;

const quietly = (promise: Promise<unknown>): Promise<unknown> => promise.catch(() => {});

/** An application in this process, with one fault. */
const start =
  (serve: Serve, fault: Fault) =>
  async (pbx: TestServer): Promise<() => void> => {
    const reconnect = fault !== 'does not connect again';
    const ari = await connect({ ...pbx, url: pbx.url, app: ['hello', 'second'], reconnect });
    let busy = false;
    ari.on('StasisStart', async ({ channel, application }) => {
      if (application !== 'hello' || busy) return;
      busy = fault === 'stays busy when the caller goes';
      const call = ari.call(channel);
      try {
        await serve(ari, call, fault);
        busy = false;
      } catch (error) {
        const crashes = fault === 'crashes when the caller is gone' || (error as Error).message === 'no answer';
        if (crashes) throw error;
        await quietly(call.hangup());
      }
    });
    if (fault === 'crashes when the call is transferred')
      ari.on('BridgeBlindTransfer', async ({ exten }) => {
        throw new Error(`transferred to ${exten}`);
      });
    return () => ari.close();
  };

/** Connects the caller with bob, and ends both together. */
const connects: Serve = async (ari, call, fault) => {
  const calleeId = crypto.randomUUID();
  const of = ({ channel }: { channel: { id: string } }) => channel.id === calleeId;
  const hangUpCallee = () => quietly(ari.channels.hangup({ channelId: calleeId }));
  const answered = ari.next('StasisStart', of).then(() => 'answered');
  const ended = ari.next('ChannelDestroyed', of).then(() => 'ended');
  let callerIsGone = false;
  const callerEnded = call.ended.then(async () => {
    callerIsGone = true;
    if (fault !== 'forgets the callee when the caller goes') await hangUpCallee();
    return 'left';
  });
  for (const each of [answered, ended]) void quietly(each);
  await call.ring();
  const target = { endpoint: 'PJSIP/bob', app: 'second', channelId: calleeId, originator: call.id, timeout: 20 };
  await ari.channels.originate(target);
  const outcome = await Promise.race([answered, ended, callerEnded]);
  if (outcome === 'ended' && fault === 'crashes when the callee does not answer') throw new Error('no answer');
  if (outcome === 'ended' && fault !== 'forgets the caller of a callee who does not answer') await call.hangup();
  if (outcome !== 'answered') return;
  const { id: bridgeId } = await ari.bridges.create({ type: 'mixing' });
  let who = '';
  try {
    await call.answer();
    await ari.bridges.addChannel({ bridgeId, channel: [call.id, calleeId] });
    who = await Promise.race([ended, callerEnded]);
  } finally {
    const leaves = fault === 'leaves the bridge when the caller goes' && callerIsGone;
    if (!leaves) await quietly(ari.bridges.destroy({ bridgeId }));
    if (fault !== 'forgets the callee when the caller goes') await hangUpCallee();
  }
  if (who === 'left' && fault === 'stays busy when the caller goes') throw new Error('the caller went');
  await quietly(call.hangup());
};

const talk = async (pbx: TestServer) => {
  const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
  await alice.dial('100');
  await bob.answer();
  await pbx.event('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
  await bob.hangup();
  await alice.hungUp();
};

/** Says something, takes a message, and gives the caller to the second application, which ends the call. */
const speaks: Serve = async (ari, call, fault) => {
  void quietly(ari.next('StasisStart', ({ application }) => application === 'second').then(() => call.hangup()));
  await call.answer();
  const played = call.next(
    'PlaybackFinished',
    ({ playback }) => playback.state === 'done' || fault !== 'ignores a failed playback',
  );
  void quietly(played);
  await call.play({ media: 'sound:beep' });
  await played;
  const recorded = Promise.race([
    call.next('RecordingFinished'),
    ...(fault === 'ignores a failed recording' ? [] : [call.next('RecordingFailed')]),
  ]);
  void quietly(recorded);
  await call.record({ name: call.id, format: 'wav', maxDurationSeconds: 2, ifExists: 'overwrite' });
  await recorded;
  const refused = call.next('ApplicationMoveFailed');
  void quietly(refused);
  await call.move({ app: 'second' });
  await refused;
  if (fault !== 'ignores a failed move') await call.hangup();
};

const listen = async (pbx: TestServer) => {
  const alice = pbx.phone('alice');
  await alice.call('100');
  await alice.hungUp({ within: '20s' });
};

const find = (serve: Serve, fault: Fault, more: Partial<PathsOptions> = {}) =>
  paths({
    ...{ server: { app: 'hello' }, start: start(serve, fault), mostFindings: 1 },
    ...{ call: serve === connects ? talk : listen, ...more },
  });

for (const [name, serve] of [
  ['connects two phones', connects],
  ['speaks and records', speaks],
] as const)
  disturbed(`an application that ${name} and does nothing wrong survives all`, async () => {
    const report = await find(serve, undefined, { most: 12 });
    assert.equal(report.findings, [], report.text);
    assert.equal(report.missed, []);
    assert.is(report.runs, 12);
    assert.match(
      report.text,
      /^12 disturbed calls at \d+ moments; the bounds left out \d+: the application survived all\.$/,
    );
  });

type Expected = { kind: PathFinding['kind']; path: RegExp; stayed?: RegExp; unhandled?: string; details?: RegExp };

const planted = (serve: Serve, fault: NonNullable<Fault>, expected: Expected, more?: Partial<PathsOptions>) =>
  disturbed(`an application that ${fault} is found`, async () => {
    const { findings, text } = await find(serve, fault, more);
    const [finding] = findings;
    assert.ok(finding, text);
    assert.is(finding.kind, expected.kind, text);
    assert.match(finding.path, expected.path);
    if (expected.stayed) assert.match(finding.stayed.join(', '), expected.stayed);
    if (expected.unhandled) assert.ok(finding.unhandled.includes(expected.unhandled), text);
    if (expected.details) assert.match(finding.details ?? '', expected.details);
  });

planted(connects, 'forgets the callee when the caller goes', {
  ...{ kind: 'unhandled', path: /^alice \(the caller\) hangs up /, stayed: /channel PJSIP\/bob-/ },
});
planted(connects, 'forgets the caller of a callee who does not answer', {
  ...{ kind: 'unhandled', path: /^bob \(the callee\) is busy after /, stayed: /^channel PJSIP\/alice-\w+ \(ring\)$/ },
  unhandled: 'ChannelDestroyed',
});
planted(connects, 'leaves the bridge when the caller goes', {
  ...{ kind: 'left', path: /./, stayed: /^bridge / },
});
planted(connects, 'crashes when the callee does not answer', {
  ...{ kind: 'ended', path: /./, details: /Error: no answer/ },
});
planted(connects, 'crashes when the caller is gone', {
  ...{ kind: 'ended', path: /^alice \(the caller\) hangs up before POST /, details: /404|channel was not found/ },
});
planted(connects, 'does not connect again', {
  ...{ kind: 'disconnected', path: /^the WebSocket of 'hello,second' is cut / },
});
planted(connects, 'stays busy when the caller goes', {
  ...{ kind: 'nextCall', path: /^alice \(the caller\) hangs up /, details: /bob expected a call/ },
});
planted(speaks, 'ignores a failed playback', {
  ...{
    kind: 'unhandled',
    path: /^the playback fails \(the sound is missing\) before POST \/channels\/\{id\}\/play #1$/,
  },
  ...{ stayed: /^channel PJSIP\/alice-\w+ \(up\)$/, unhandled: 'PlaybackFinished' },
});
planted(
  speaks,
  'ignores a failed recording',
  {
    ...{ kind: 'unhandled', path: /^the recording fails \(the disk is full\) after RecordingStarted #1$/ },
    ...{ stayed: /^channel PJSIP\/alice-/, unhandled: 'RecordingFailed' },
  },
  { only: / fails / },
);
planted(
  speaks,
  'ignores a failed move',
  {
    ...{ kind: 'unhandled', path: /^the move fails .* before POST \/channels\/\{id\}\/move #1$/ },
    ...{ stayed: /^channel PJSIP\/alice-/, unhandled: 'ApplicationMoveFailed' },
  },
  { only: / fails / },
);

const transferred = 'alice (the caller) transfers the call to a phone elsewhere after ChannelEnteredBridge #2';
planted(
  connects,
  'crashes when the call is transferred',
  { kind: 'ended', path: /./, details: /transferred to elsewhere/ },
  { only: transferred },
);

disturbed('a transferred call goes on with a phone that the application does not know, and ends with it', async () => {
  const seen: string[] = [];
  const report = await find(connects, undefined, {
    only: transferred,
    start: async (pbx) => {
      const ari = await connect({ ...pbx, url: pbx.url, app: ['watcher'], subscribeAll: true });
      const stop = await start(connects, undefined)(pbx);
      ari.on('ChannelStateChange', ({ channel }) => {
        if (channel.name.startsWith('PJSIP/elsewhere')) seen.push(channel.state);
      });
      return () => {
        ari.close();
        stop();
      };
    },
  });
  assert.equal(report.findings, [], report.text);
  assert.equal(seen.slice(-1), ['Up']);
});

disturbed('a path runs alone by its name', async () => {
  const only = 'the move fails (the application is not connected) before POST /channels/{id}/move #1';
  const { findings, runs, text } = await find(speaks, 'ignores a failed move', { only });
  assert.is(runs, 1);
  assert.equal(
    findings.map(({ kind, path, also }) => ({ kind, path, also })),
    [{ kind: 'unhandled', path: only, also: [] }],
    text,
  );
});

disturbed('a program that ends is told with what it wrote', async () => {
  const program = `
    import { AriClient } from '@ipcom/asterisk-ari';
    const { hostname: host, port } = new URL(process.env.HOOKSWITCH_URL);
    const ari = new AriClient({ host, port: Number(port), username: 'hookswitch', password: process.env.HOOKSWITCH_PASSWORD });
    await ari.connectWebSocket(['hello']);
    ari.on('StasisStart', async ({ channel: { id } }) => {
      await ari.channels.answerChannel(id);
      await ari.Channel(id).play({ media: 'sound:beep' });
    });
    ari.on('PlaybackFinished', ({ playback }) => ari.channels.hangup(playback.target_uri.slice(8)));`;
  const report = await paths({
    start: (pbx) => pbx.run(process.execPath, ['--input-type=module', '-e', program]),
    call: listen,
    mostFindings: 1,
  });
  const [finding] = report.findings;
  assert.is(finding?.kind, 'ended', report.text);
  assert.match(finding?.details ?? '', /\[404\] Not Found/);
  assert.match(report.text, /1 finding\.\n\n1\. [^\n]*\n {3}The program ended\.\n/);
});

disturbed('a call that is not normal, and a path that there is not, are told', async () => {
  const never = paths({
    server: { app: 'hello' },
    start: () => {},
    call: (pbx) => pbx.phone('alice').call('100'),
  });
  assert.match(String(await never.catch(String)), /alice expected to be answered at 100, but the call ended/);
  const unknown = find(speaks, undefined, { only: 'alice sneezes' }).catch((error: unknown) => error);
  assert.instance(await unknown, TypeError);
});

disturbed.run();
