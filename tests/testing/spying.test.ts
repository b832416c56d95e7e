import { suite } from 'uvu';
import { silence, startTestServer, tone } from '../../packages/testing/src/index.ts';

/** ChanSpy with phones that say tones: who hears whom. */
const test = suite('ChanSpy with phones');

const dialplan = {
  default: {
    '200': ['Dial(PJSIP/bob,20)'],
    listen: ['ChanSpy(PJSIP/alice)'],
    whisper: ['ChanSpy(PJSIP/alice,w)'],
    barge: ['ChanSpy(PJSIP/alice,B)'],
  },
};

/** Alice and Bob talk, and Carol calls an extension with ChanSpy. */
async function supervised(extension: string) {
  const pbx = await startTestServer({ dialplan });
  const [alice, bob, carol] = [pbx.phone('alice'), pbx.phone('bob'), pbx.phone('carol')];
  bob.does({ when: 'answer' });
  await alice.call('200');
  await carol.call(extension);
  return { pbx, alice, bob, carol };
}

test('a listener hears both sides, and nobody hears it, also after a restart that keeps calls', async () => {
  const { pbx, alice, bob, carol } = await supervised('listen');
  carol.says(tone(1300, '60s'));
  const listens = async () => {
    alice.says(tone(440, '2s'));
    await carol.hears(tone(440));
    bob.says(tone(620, '2s'));
    await carol.hears(tone(620));
    await pbx.clock.advance('3s');
    await alice.hears(silence('1s'));
    await bob.hears(silence('1s'));
  };
  await listens();
  await pbx.faults.restart();
  await listens();
  await alice.hangup();
  await carol.hungUp();
  await pbx.close();
});

test('a whisper reaches the party of the channel alone', async () => {
  const { pbx, alice, bob, carol } = await supervised('whisper');
  carol.says(tone(1300, '4s'));
  await alice.hears(tone(1300));
  await bob.hears(silence('1s'));
  await carol.hangup();
  alice.says(tone(440, '2s'));
  await bob.hears(tone(440));
  await pbx.close();
});

test('who barges in is heard by both sides', async () => {
  const { pbx, alice, bob, carol } = await supervised('barge');
  carol.says(tone(1300, '4s'));
  await alice.hears(tone(1300));
  await bob.hears(tone(1300));
  await pbx.close();
});

test.run();
