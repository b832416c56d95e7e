import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Leg } from '../../../src/telephony/driver.ts';
import { anybody, createPhone, type Phone, type PhoneOptions, quick, trunkTo } from './support.ts';

type World = { caller: Phone; callee: Phone };
const phones: Phone[] = [];

/** A caller whose endpoint `trunk` leads to the callee, which takes calls from this machine. */
async function world({
  caller = {},
  callee = {},
  protocol = 'udp',
}: {
  caller?: PhoneOptions;
  callee?: PhoneOptions;
  protocol?: 'udp' | 'tcp';
} = {}): Promise<World> {
  const called = await createPhone({ protocol, ...callee, config: { endpoints: [anybody], ...callee.config } });
  const calling = await createPhone({
    protocol,
    ...caller,
    config: { endpoints: [trunkTo(called.uri)], ...caller.config },
  });
  phones.push(called, calling);
  return { caller: calling, callee: called };
}

/** A call that stands. @param index which of the calls the callee gets. */
async function answered(caller: Phone, callee: Phone, index = 0) {
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung(index);
  inbound.leg.answer();
  await out.heard('leg.answered');
  return { out, inbound };
}

const calls = suite('calls');

calls.after.each(async () => {
  const all = phones.splice(0);
  await Promise.all(all.map((phone) => phone.finish()));
  for (const phone of all) {
    const { legs, dialogs, pending } = phone.driver.counts();
    assert.equal(
      { legs, dialogs, pending, sessions: phone.media.sessions.size },
      { legs: 0, dialogs: 0, pending: 0, sessions: 0 },
    );
    await phone.close();
  }
});

calls('both sides of a call know each other as long as it lives', async () => {
  const { caller, callee } = await world();
  const { out } = await answered(caller, callee);
  const other = { protocol: 'udp', address: '127.0.0.1', port: caller.port } as const;
  assert.is(callee.peers.isKnown({ ...other, port: 9 }), true, 'a match knows the whole address');
  assert.is(callee.peers.size, 1);
  out.leg.hangup(16);
  await out.heard('leg.ended');
  await callee.finish();
  // What we ask a peer makes it known, too, until the transaction is over.
  callee.transactions.close();
  assert.is(callee.peers.size, 0);
});

calls(
  'Opus is asked for and sent as each side is configured: an endpoint in its own way, or in that of all',
  async () => {
    const sending = { bitRate: 16_000, complexity: 2, fec: true, lossPercent: 10 };
    const caller = { wishes: { fec: true, dtx: true, cbr: false, maxAverageBitrate: 20_000 }, sending };
    const callee = { wishes: { fec: false, dtx: false, cbr: true, maxPlaybackRate: 8000 }, sending };
    const called = await createPhone({
      config: { endpoints: [{ ...anybody, codecs: ['opus'] }], opus: callee },
    });
    const calling = await createPhone({
      config: { endpoints: [trunkTo(called.uri, { codecs: ['opus'], opus: caller })], opus: callee },
    });
    phones.push(called, calling);
    const { out, inbound } = await answered(calling, called);
    const [ours] = calling.media.sessions.get(out.id)!.flows;
    const [theirs] = called.media.sessions.get(inbound.id)!.flows;
    assert.equal([ours?.opus, ours?.opusSending], [callee.wishes, sending]);
    assert.equal([theirs?.opus, theirs?.opusSending], [caller.wishes, sending]);
    out.leg.hangup(16);
    await inbound.heard('leg.hungUp');
    inbound.leg.hangup(16);
  },
);

for (const protocol of ['udp', 'tcp'] as const) {
  calls(`a call over ${protocol} rings, is answered and ended by the caller`, async () => {
    const { caller, callee } = await world({ protocol });
    const out = caller.open('600@trunk');
    assert.match(out.opened.name, /^PJSIP\/trunk-[0-9a-f]{8}$/);
    const { protocolId } = out.leg;
    out.leg.dial();
    const inbound = await callee.rung();
    assert.equal(
      { ...inbound.call, open: undefined, name: '' },
      {
        technology: 'PJSIP',
        name: '',
        endpoint: ['PJSIP', 'anybody'],
        context: 'default',
        extension: '600',
        caller: { name: 'Carol', number: '100' },
        state: 'ring',
        open: undefined,
      },
    );
    inbound.leg.ring();
    await out.heard('leg.ringing');
    inbound.leg.answer();
    await out.heard('leg.answered');
    assert.is(protocolId, inbound.leg.protocolId, 'known before it is dialed');
    const ours = caller.media.sessions.get(out.id)!;
    const theirs = callee.media.sessions.get(inbound.id)!;
    assert.equal(ours.flows, [
      {
        remote: theirs.local,
        codec: 'ulaw',
        payloadType: 0,
        telephoneEvent: 101,
        ptimeMs: 20,
        send: true,
        receive: true,
      },
    ]);
    assert.equal(theirs.flows[0]!.remote, ours.local);
    out.leg.hangup(16);
    await inbound.heard('leg.hungUp');
    inbound.leg.hangup(16);
    assert.equal(out.told, ['leg.ringing', 'leg.answered', 'leg.ended']);
    assert.equal(inbound.told, ['leg.answered', 'leg.hungUp 16', 'leg.ended']);
  });
}

calls('the callee ends the call, and its cause is told', async () => {
  const { caller, callee } = await world();
  const out = caller.open('trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  assert.is(inbound.call!.extension, 's');
  inbound.leg.answer();
  await out.heard('leg.answered');
  inbound.leg.hangup(31);
  assert.is((await out.heard('leg.hungUp')).cause, 31);
});

calls('progress opens early media before the answer', async () => {
  const { caller, callee } = await world();
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.progress();
  await out.heard('leg.progressed');
  assert.is(caller.media.sessions.get(out.id)!.flows.length, 1);
  assert.is(callee.media.sessions.get(inbound.id)!.flows.length, 1);
  inbound.leg.answer();
  await out.heard('leg.answered');
});

for (const [cause, status] of [
  [17, 486],
  [21, 603],
  [34, 503],
  [16, 603],
  [1, 404],
] as const) {
  calls(`a call refused with cause ${cause} is answered ${status} and the cause reaches the caller`, async () => {
    const { caller, callee } = await world();
    const out = caller.open('600@trunk');
    out.leg.dial();
    (await callee.rung()).leg.hangup(cause);
    assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause, techCause: status });
  });
}

calls('a caller that gives up is a hang-up with cause 16 for the callee', async () => {
  const { caller, callee } = await world();
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.ring();
  await out.heard('leg.ringing');
  out.leg.hangup(0);
  assert.is((await inbound.heard('leg.hungUp')).cause, 16);
  assert.equal(out.told, ['leg.ringing', 'leg.ended']);
});

calls('the cause of giving up travels in the Reason header', async () => {
  const { caller, callee } = await world();
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.ring();
  await out.heard('leg.ringing');
  out.leg.hangup(26);
  assert.is((await inbound.heard('leg.hungUp')).cause, 26);
});

calls('hold and back are told to the far side and stop its sending', async () => {
  const { caller, callee } = await world();
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.answer();
  await out.heard('leg.answered');
  out.leg.hold();
  assert.equal(await inbound.heard('leg.held'), { type: 'leg.held', musicClass: 'default' });
  assert.is(callee.media.sessions.get(inbound.id)!.flows.at(-1)!.send, false);
  out.leg.unhold();
  await inbound.heard('leg.unheld');
  assert.is(callee.media.sessions.get(inbound.id)!.flows.at(-1)!.send, true);
});

calls('the callee can hold as well', async () => {
  const { caller, callee } = await world();
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.answer();
  await out.heard('leg.answered');
  inbound.leg.hold();
  await out.heard('leg.held');
});

calls('nobody there: the call ends with cause 18 after the last repetition', async () => {
  const { caller } = await world({ caller: { lets: () => false, timers: quick } });
  const out = caller.open('600@trunk');
  out.leg.dial();
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 18, techCause: 408 });
});

calls('the first packet of every kind lost in both directions changes nothing', async () => {
  const firstLost = () => {
    const seen = new Set<string>();
    return (text: string) => {
      const key = `${text.slice(0, 12).replace(/^(\w+) .*/, '$1')} ${/^CSeq: .*$/m.exec(text)?.[0]}`;
      const again = seen.has(key);
      seen.add(key);
      return again;
    };
  };
  const loses = () => ({ lets: firstLost(), timers: quick });
  const { caller, callee } = await world({ caller: loses(), callee: loses() });
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.ring();
  inbound.leg.answer();
  await out.heard('leg.answered');
  out.leg.hold();
  await inbound.heard('leg.held');
  out.leg.hangup(16);
  await inbound.heard('leg.hungUp');
  assert.is(callee.incoming.length, 1);
});

calls('no port is a 503 to the caller and cause 34 to the channel', async () => {
  const { caller, callee } = await world();
  callee.media.failWith = new Error('no port');
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.answer();
  assert.equal(await inbound.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 34 });
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 34, techCause: 503 });
});

calls('a call that sends no audio for too long is ended towards both sides with cause 44', async () => {
  const { caller, callee } = await world();
  const { out, inbound } = await answered(caller, callee);
  callee.media.sessions.get(inbound.id)!.told({ type: 'media.timedOut' });
  assert.equal(await inbound.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 44 });
  inbound.leg.hangup(44);
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 44, techCause: 603 });
});

calls('silence before the answer ends no call; after it audio is awaited anew', async () => {
  const { caller, callee } = await world();
  const out = caller.open('600@trunk');
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.progress();
  await out.heard('leg.progressed');
  const session = callee.media.sessions.get(inbound.id)!;
  session.told({ type: 'media.timedOut' });
  inbound.leg.answer();
  await inbound.heard('leg.answered');
  assert.is(session.flows.length, 2, 'the flow is configured again, so that time starts anew');
  session.told({ type: 'media.timedOut' });
  await inbound.heard('leg.hungUp');
});

calls('a call whose media thread is lost ends with cause 41, whether it was answered or not', async () => {
  const { caller, callee } = await world();
  const early = caller.open('600@trunk');
  early.leg.dial();
  const unanswered = await callee.rung();
  unanswered.leg.progress();
  await early.heard('leg.progressed');
  callee.media.sessions.get(unanswered.id)!.told({ type: 'media.lost', reason: 'the media thread ended' });
  assert.equal(await unanswered.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 41 });
  assert.equal(await early.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 41, techCause: 503 });
  const { out, inbound } = await answered(caller, callee, 1);
  caller.media.sessions.get(out.id)!.told({ type: 'media.lost', reason: 'the media thread ended' });
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 41 });
  out.leg.hangup(41);
  assert.equal(await inbound.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 41, techCause: 503 });
});

calls('no codec in common is refused with 488 before there is a channel', async () => {
  const { caller, callee } = await world({ callee: { config: { endpoints: [{ ...anybody, codecs: ['alaw'] }] } } });
  const out = caller.open('600@trunk', { formats: ['ulaw'] });
  out.leg.dial();
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 58, techCause: 488 });
  assert.is(callee.incoming.length, 0);
});

calls('codecs are offered in the order that is asked for, or else first those of whom the call is for', async () => {
  const callee = await createPhone({ config: { endpoints: [{ ...anybody, codecs: ['alaw', 'ulaw', 'g722'] }] } });
  const codecs = ['ulaw', 'alaw', 'g722'] as const;
  const caller = await createPhone({ config: { endpoints: [trunkTo(callee.uri, { codecs })] } });
  phones.push(caller, callee);
  const offered = async (index: number, options: Parameters<Phone['open']>[1]) => {
    const out = caller.open('600@trunk', options);
    out.leg.dial();
    const inbound = await callee.rung(index);
    const formats = out.leg.formats;
    inbound.leg.answer();
    await out.heard('leg.answered');
    const agreed = out.leg.formats;
    out.leg.hangup(16);
    await inbound.heard('leg.hungUp');
    inbound.leg.hangup(16);
    return [formats, agreed];
  };
  const answered = ['alaw'];
  assert.equal(await offered(0, {}), [['ulaw', 'alaw', 'g722'], answered]);
  assert.equal(await offered(1, { formats: ['g722', 'opus', 'alaw'] }), [['g722', 'alaw'], answered]);
  assert.equal(await offered(2, { prefers: ['opus', 'g722'] }), [['g722', 'ulaw', 'alaw'], answered]);
  assert.equal(await offered(3, { formats: ['alaw', 'ulaw', 'alaw', 'alaw'] }), [['alaw', 'ulaw'], answered]);
});

calls(
  'an offer is answered first with what is preferred, unless that was answered before or others are set',
  async () => {
    const codecs = ['ulaw', 'alaw', 'g722'] as const;
    const callee = await createPhone({ config: { endpoints: [{ ...anybody, codecs }] } });
    const caller = await createPhone({ config: { endpoints: [trunkTo(callee.uri, { codecs })] } });
    phones.push(caller, callee);
    let called = 0;
    const agreed = async (formats: readonly string[], answer: (leg: Leg) => void) => {
      const out = caller.open('600@trunk', { formats });
      out.leg.dial();
      const inbound = await callee.rung(called++);
      const before = inbound.leg.formats;
      answer(inbound.leg);
      await out.heard('leg.answered');
      // A new offer of the caller does not change it.
      out.leg.hold();
      await inbound.heard('leg.held');
      const after = [inbound.leg.formats, out.leg.formats];
      out.leg.hangup(16);
      await inbound.heard('leg.hungUp');
      inbound.leg.hangup(16);
      return [before, ...after];
    };
    const three = ['ulaw', 'alaw', 'g722'];
    assert.equal(await agreed(three, (leg) => leg.answer(['opus', 'g722'])), [three, ['g722'], ['g722']]);
    assert.equal(await agreed(three, (leg) => leg.answer(['opus'])), [three, ['ulaw'], ['ulaw']]);
    assert.equal(await agreed(three, (leg) => leg.answer()), [three, ['ulaw'], ['ulaw']]);
    const two = ['ulaw', 'alaw'];
    assert.equal(await agreed(['alaw', 'ulaw'], (leg) => leg.answer(['g722', 'alaw'])), [two, ['alaw'], ['alaw']]);
    const afterEarly = (leg: Leg): void => {
      leg.progress(['alaw']);
      leg.answer(['g722']);
    };
    assert.equal(await agreed(three, afterEarly), [three, ['alaw'], ['alaw']]);
    const afterSet = (leg: Leg): void => {
      leg.sip?.setFormats(['alaw', 'ulaw', 'g722']);
      leg.answer(['g722']);
    };
    assert.equal(await agreed(three, afterSet), [three, ['alaw'], ['alaw']]);
  },
);

calls('a draining server answers 503', async () => {
  const { caller, callee } = await world();
  callee.driver.enter('drain');
  const out = caller.open('600@trunk');
  out.leg.dial();
  assert.equal(await out.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 34, techCause: 503 });
});

calls('a server that is cordoned, isolated or both answers 503 until it takes calls again', async () => {
  const { caller, callee } = await world();
  callee.driver.enter('isolate');
  const isolated = caller.open('600@trunk');
  isolated.leg.dial();
  assert.equal(await isolated.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 34, techCause: 503 });
  callee.driver.enter('cordon');
  callee.driver.enter('rejoin');
  const refused = caller.open('600@trunk');
  refused.leg.dial();
  assert.equal(await refused.heard('leg.hungUp'), { type: 'leg.hungUp', cause: 34, techCause: 503 });
  callee.driver.enter('uncordon');
  const taken = caller.open('600@trunk');
  taken.leg.dial();
  await callee.rung();
});

calls.run();
