import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCallControl, inShort, settled } from '../support/call-control.ts';
import { refusal } from '../support/refusal.ts';

const test = suite('tones that channels listen for');

const contexts = {
  default: {
    app: ['Stasis(app)', 'Wait(60)'],
    waits: ['Answer', 'Set(TONE_DETECT(2600,1000,g(default,got,1)n(2))=)', 'Wait(60)'],
    got: [{ label: 'here', app: 'NoOp(${TONE_DETECT(rx)} ${TONE_DETECT(tx)})' }, 'Wait(60)'],
  },
};

async function world(extension: string) {
  const control = createCallControl({ contexts });
  const { events } = control.connect('app', true);
  const leg = control.incoming('a', extension)!;
  await settled();
  if (extension === 'app') control.operations.answer('a');
  events.splice(0);
  const said = (): string[] => events.splice(0).map(inShort);
  const set = (text: string) => control.operations.setVariable('a', { variable: `TONE_DETECT(${text})`, value: '' });
  const read = (text: string) => control.operations.getVariable('a', { variable: `TONE_DETECT(${text})` }).value;
  return { ...control, leg, said, set, read };
}

test('each time is counted for its direction, and the count is read; setting another tone counts anew', async () => {
  const w = await world('app');
  const refused = () => refusal(() => w.read('rx'));
  assert.equal(refused(), [500, 'Unable to read provided function']);
  w.set('2600');
  w.said();
  w.leg.report({ type: 'leg.toneDetected', direction: 'in' });
  w.leg.report({ type: 'leg.toneDetected', direction: 'in' });
  w.leg.report({ type: 'leg.toneDetected', direction: 'out' });
  w.leg.report({ type: 'leg.toneDetected', direction: 'out', signal: 'busy' });
  assert.equal(w.said(), new Array(4).fill('ChannelToneDetected'));
  assert.equal([w.read('rx'), w.read('tx')], ['2', '1'], 'signals are not counted');
  assert.equal(
    refusal(() => w.read('both')),
    [500, 'Unable to read provided function'],
  );
  w.set('1100');
  assert.equal([w.read('rx'), w.read('tx')], ['0', '0']);
  w.set('0,,x');
  assert.equal(refused(), [500, 'Unable to read provided function']);
});

test('the dialplan goes on elsewhere when the tone was heard as often as said, and knows how often', async () => {
  const w = await world('waits');
  w.leg.report({ type: 'leg.toneDetected', direction: 'in' });
  w.leg.report({ type: 'leg.toneDetected', direction: 'out' });
  await settled();
  assert.equal(w.said(), ['ChannelToneDetected', 'ChannelToneDetected']);
  w.leg.report({ type: 'leg.toneDetected', direction: 'in' });
  await settled();
  assert.equal(w.said(), ['ChannelToneDetected', 'ChannelDialplan NoOp', 'ChannelDialplan Wait']);
  const { exten, app_name } = w.operations.get('a').dialplan;
  assert.equal([exten, app_name], ['got', 'Wait']);
});

test('a channel in an application leaves it for the place, by a label too, and signals lead there at once', async () => {
  const w = await world('app');
  w.set('0,,bh(default,got,here)');
  w.said();
  w.leg.report({ type: 'leg.toneDetected', direction: 'in', signal: 'busy' });
  assert.equal(w.said(), ['ChannelToneDetected'], 'it is what the far side hears that leads on');
  w.leg.report({ type: 'leg.toneDetected', direction: 'out', signal: 'busy' });
  await settled();
  assert.equal(w.said().slice(0, 3), ['ChannelToneDetected', 'StasisEnd', 'ChannelVarset STASISSTATUS=SUCCESS']);
  assert.equal(w.operations.get('a').dialplan.exten, 'got');
  w.operations.hangup('a', {});
  w.said();
  w.leg.report({ type: 'leg.toneDetected', direction: 'out', signal: 'busy' });
  await settled();
  assert.equal([w.said(), w.channels.size], [[], 0]);
});

test('invalid requests for tones are refused with the fault and the allowed values, and change nothing', async () => {
  const w = await world('app');
  const letters = 'a, b, c, d, g, h, n, p, r, t, x';
  for (const [wrong, why] of [
    ['', 'the frequency is 0 to 24000 Hz'],
    ['0', 'a frequency of 0 Hz needs an option of a, b, c, p'],
    ['99999', 'the frequency is 0 to 24000 Hz'],
    ['-1', 'the frequency is 0 to 24000 Hz'],
    ['2600,x', 'the duration is 0 to 3600000 ms'],
    ['2600,3600001', 'the duration is 0 to 3600000 ms'],
    ['2600,,l', `there is no option l, but ${letters}`],
    ['2600,,s', 'option s is not supported: the tone cannot be hidden from the peer'],
    ['2600,,rs', 'option s is not supported: the tone cannot be hidden from the peer'],
    ['2600,,g(nowhere,1,1)', 'option g names no location of the dialplan'],
    ['2600,,g', 'option g names no location of the dialplan'],
    ['2600,,h(nowhere,1,1)', 'option h names no location of the dialplan'],
    ['2600,,n(0)', 'option n is 1 to 1000000 times'],
    ['2600,,d(61)', 'option d is 0 to 60 dB'],
    ['2600,,d', 'option d is 0 to 60 dB'],
  ] as const)
    assert.equal(
      refusal(() => w.set(wrong)),
      [400, `Failed to execute function: TONE_DETECT(${wrong}) cannot be written so: ${why}`],
    );
  assert.equal(
    refusal(() => w.read('rx')),
    [500, 'Unable to read provided function'],
  );
  const said = w.log.lines.map(({ fields, message }) => JSON.stringify([fields, message])).join();
  for (const named of ['there is no option l', 'option s is not supported'])
    assert.ok(said.includes(named), `${named} in ${said}`);
});

test.run();
