import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { onServer } from '../support/server.ts';

/** What a caller hears before the answer, between phones that share no code with the server. */

const pitches = [400, 700] as const;

test('a caller hears the called phone before it answers, is told then that it rings, and talks to it', async () => {
  const port = await freePort();
  const endpoints = {
    anonymous: { match: ['127.0.0.1'] },
    bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] } },
  };
  const dialplan = { default: { '200': ['Dial(PJSIP/bob)'] } };
  await onServer({ dialplan, endpoints }, async (server) => {
    const alice = server.closing(await Phone.open('4711', server.sip()));
    const bob = server.closing(await Phone.open('bob', server.sip(), port));
    bob.answers = false;
    bob.early = true;
    const call = alice.call('200');
    await alice.until(() => alice.progress.length > 0, '183');
    bob.audio.hum(700);
    alice.audio.hum(400);
    await alice.audio.hears([700], pitches);
    await bob.audio.hears([400], pitches);
    assert.equal([alice.inCall, alice.progress], [false, ['183+']]);
    bob.ring();
    await alice.until(() => alice.progress.length > 1, '180');
    assert.equal(alice.progress.at(-1)?.slice(0, 3), '180');
    bob.take();
    await call;
    await alice.audio.hears([700], pitches);
    await bob.audio.hears([400], pitches);
    alice.hangup();
    await bob.over();
  });
});

test('a caller hears a called phone that rings with SDP in its 180', async () => {
  const port = await freePort();
  const endpoints = {
    anonymous: { match: ['127.0.0.1'] },
    bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] } },
  };
  const dialplan = { default: { '200': ['Dial(PJSIP/bob)'] } };
  await onServer({ dialplan, endpoints }, async (server) => {
    const alice = server.closing(await Phone.open('4711', server.sip()));
    const bob = server.closing(await Phone.open('bob', server.sip(), port));
    bob.answers = false;
    bob.early = true;
    bob.earlyStatus = '180 Ringing';
    const call = alice.call('200');
    await alice.until(() => alice.progress.length > 1, '183 and 180');
    assert.equal([alice.progress[0], alice.progress[1]?.slice(0, 3)], ['183+', '180']);
    bob.audio.hum(700);
    await alice.audio.hears([700], pitches);
    bob.take();
    await call;
    alice.hangup();
    await bob.over();
  });
});

test.run();
