import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCallControl, inShort, settled } from '../support/call-control.ts';

const test = suite('the longest time of channels');

const contexts = {
  default: {
    app: ['Stasis(app)', 'Wait(60)'],
    limited: ['Answer', 'Set(TIMEOUT(absolute)=2)', 'Wait(60)'],
  },
  patient: {
    app: ['Stasis(app)', 'Wait(60)'],
    limited: ['Answer', 'Set(TIMEOUT(absolute)=2)', 'Wait(60)'],
    T: ['NoOp(${TIMEOUT(absolute)})', 'Wait(60)'],
  },
};

async function world(extension: string, context = 'default') {
  const control = createCallControl({ contexts });
  const { events } = control.connect('app', true);
  control.incoming('a', extension, context);
  await settled();
  if (extension === 'app') control.operations.answer('a');
  events.splice(0);
  const said = (): string[] =>
    events
      .splice(0)
      .map(inShort)
      .filter((line) => !/^(DeviceState|EndpointState|ChannelVarset)/.test(line));
  const limit = (value: string) => control.operations.setVariable('a', { variable: 'TIMEOUT(absolute)', value });
  const left = () => control.operations.getVariable('a', { variable: 'TIMEOUT(absolute)' }).value;
  const advance = async (ms: number): Promise<void> => {
    control.clock.advance(ms);
    await settled();
  };
  return { ...control, said, limit, left, advance };
}

test('a channel of an application ends when its time is over, which counts from when it was set last', async () => {
  const w = await world('app');
  w.limit('2');
  await w.advance(1_500);
  assert.is(w.left(), '0.5');
  w.limit('2');
  await w.advance(1_999);
  assert.equal([w.said(), w.left()], [[], '0.001']);
  await w.advance(1);
  assert.equal(w.said(), ['StasisEnd', 'ChannelDestroyed 16']);
});

test('a limit can be removed', async () => {
  const w = await world('app');
  w.limit('2');
  w.limit('0');
  await w.advance(5_000);
  assert.equal([w.said(), w.left()], [[], '0']);
});

test('the dialplan of a channel goes on at T, if its context has that, else the channel ends', async () => {
  const without = await world('limited');
  await without.advance(2_000);
  assert.equal(without.said().at(-1), 'ChannelDestroyed 16');
  const w = await world('limited', 'patient');
  await w.advance(2_000);
  assert.equal(w.said(), ['ChannelDialplan NoOp', 'ChannelDialplan Wait']);
  const { exten, app_name } = w.operations.get('a').dialplan;
  assert.equal([exten, app_name, w.left()], ['T', 'Wait', '0']);
});

test('so does a channel that the dialplan gave to an application', async () => {
  const w = await world('app', 'patient');
  w.limit('1');
  await w.advance(1_000);
  assert.equal(w.said(), ['StasisEnd', 'ChannelDialplan NoOp', 'ChannelDialplan Wait']);
});

test.run();
