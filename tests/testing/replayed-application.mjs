// The application of replay.test.ts as a program of its own.
import { connect } from 'hookswitch/client';

const { HOOKSWITCH_URL, HOOKSWITCH_USERNAME, HOOKSWITCH_PASSWORD, PROMPT } = process.env;
const login = { url: HOOKSWITCH_URL, username: HOOKSWITCH_USERNAME, password: HOOKSWITCH_PASSWORD };
const ari = await connect({ ...login, app: ['desk', 'callee'] });
ari.on('error', () => {});
ari.on('StasisStart', async ({ channel, application }) => {
  if (application !== 'desk') return;
  const call = ari.call(channel);
  call.on('ChannelDtmfReceived', ({ digit }) => {
    if (digit === '#') void call.hangup();
    if (digit === '1') void toBob(call.id);
  });
  await call.answer();
  await call.play({ media: `sound:${PROMPT}` });
});

async function toBob(caller) {
  const { id } = await ari.channels.originate({ endpoint: 'PJSIP/bob', app: 'callee', originator: caller });
  await ari.next('ChannelStateChange', ({ channel }) => channel.id === id && channel.state === 'Up');
  const { id: bridgeId } = await ari.bridges.create({ type: 'mixing' });
  await ari.bridges.addChannel({ bridgeId, channel: [caller, id] });
  await ari.next('ChannelDestroyed', ({ channel }) => channel.id === id);
  await ari.bridges.destroy({ bridgeId });
}
