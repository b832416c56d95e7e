import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { onServer } from '../support/server.ts';

/** Phones that press digits by SIP INFO, in calls with phones that do so by RFC 4733. */
const infos = suite('digits by SIP INFO');

infos('a call passes digits on from INFO to RFC 4733 and back, and they end a recording', async () => {
  const bobsPort = await freePort();
  const endpoints = {
    anonymous: { match: ['127.0.0.1'] },
    bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] } },
  };
  const dialplan = { default: { '200': ['Dial(PJSIP/bob)'], '300': ['Stasis(desk)'] } };
  await onServer({ dialplan, endpoints }, async (server) => {
    const alice = server.closing(await Phone.open('4711', server.sip()));
    const bob = server.closing(await Phone.open('bob', server.sip(), bobsPort));
    alice.maps = {};
    await alice.call('200');
    assert.is(await alice.inform('5'), 200);
    await bob.audio.until(
      () => bob.audio.packets.some(({ payloadType, payload }) => payloadType === 101 && payload[0] === 5),
      'the digit',
    );
    await bob.audio.press('7', 100);
    await alice.until(() => alice.keys.length > 0, 'the INFO');
    assert.equal(alice.keys, ['7']);
    bob.hangup();
    await alice.over();

    const desk = await server.app('desk');
    const started = desk.waitFor('StasisStart');
    const called = alice.call('300');
    const { channel } = await started;
    await desk.ok('POST', `/channels/${channel.id}/answer`);
    await called;
    const recording = `/channels/${channel.id}/record?name=note&format=wav&terminateOn=any`;
    const begun = desk.waitFor('RecordingStarted');
    await desk.ok('POST', recording);
    await begun;
    const finished = desk.waitFor('RecordingFinished');
    assert.is(await alice.inform('#'), 200);
    await finished;
    alice.hangup();
    await alice.over();
  });
});

infos.run();
