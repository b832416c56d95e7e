import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { onServer } from '../support/server.ts';

const devices = suite('device states in the dialplan');

const dialplan = {
  default: {
    echo: ['Answer', 'Echo'],
    queue: ['Set(DEVICE_STATE(Stasis:queue)=BUSY)', 'Set(SEEN=${DEVICE_STATE(stasis:queue)})', 'Stasis(desk)'],
  },
};

devices('a call says and asks how busy a device is; applications hear of it, and do the same', () =>
  onServer({ dialplan }, async (server) => {
    const app = await server.app('desk', { subscribeAll: true });
    await app.ok('POST', '/channels/c1?endpoint=Local/queue@default&extension=echo&context=default');
    const changed = await app.waitFor('DeviceStateChanged', ({ device_state }) => device_state.name === 'Stasis:queue');
    assert.is(changed.device_state.state, 'BUSY');
    const seen = await app.waitFor('ChannelVarset', ({ variable }) => variable === 'SEEN');
    assert.is(seen.value, 'BUSY');
    const { channel } = await app.waitFor('StasisStart');
    const variable = (name: string) => `/channels/${encodeURIComponent(channel.id)}/variable?variable=${name}`;
    await app.ok('POST', `${variable('DEVICE_STATE(Stasis:queue)')}&value=RINGING`);
    assert.equal(await app.ok('GET', '/deviceStates/Stasis:queue'), { name: 'Stasis:queue', state: 'RINGING' });
    assert.equal(await app.ok('GET', variable('DEVICE_STATE(PJSIP/anonymous)')), { value: 'UNAVAILABLE' });
    const refused = await app.request('POST', `${variable('DEVICE_STATE(PJSIP/anonymous)')}&value=BUSY`);
    assert.ok(refused.status >= 400 && refused.status < 500, String(refused.status));
    await app.ok('DELETE', '/channels/c1');
  }),
);

devices.run();
