import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pageTests, picture, untilTrue } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { user } from '../support/server.ts';
import { clipOf } from '../support/video/clips.ts';
import { VideoPeer } from '../support/video/video-peer.ts';
import { untilAsked } from '../support/waiting.ts';

/** The page as a phone, in a real browser with a microphone that beeps. */

const page = suite('the page as a phone');
const ffmpeg = need('ffmpeg');
const test = pageTests(page);

test('it is called, calls, and talks to the party of a call', async ({ server, place, open }) => {
  const app = await server.app('desk');
  const shown = await open();
  await shown.getByRole('button', { name: 'Phone', exact: true }).click();
  const phone = shown.getByRole('region', { name: 'Phone' });
  await phone.getByText(`WebRTC/${user}`).waitFor();

  const called = await app.ok<{ id: string }>('POST', `/channels?endpoint=WebRTC/${user}&app=desk&callerId=Alice<201>`);
  await phone.getByText('The call from Alice').waitFor();
  await phone.getByRole('button', { name: 'Answer' }).click();
  await app.waitFor('StasisStart', ({ channel }) => channel.id === called.id);
  await phone.getByRole('button', { name: 'Hold' }).click();
  await app.waitFor('ChannelHold');
  await phone.getByRole('button', { name: '5', exact: true }).click();
  await app.waitFor('ChannelDtmfReceived', ({ digit }) => digit === '5');
  await picture(shown, 'page-phone');
  await phone.getByRole('button', { name: 'Hang up' }).click();
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === called.id);

  await phone.getByLabel('Extension').fill('0815');
  // Who clicks twice calls once.
  await phone.getByRole('button', { name: 'Call', exact: true }).dblclick();
  const dialed = await app.waitFor('StasisStart', ({ args }) => args.join() === '0815');
  assert.ok(dialed.channel.name.startsWith(`WebRTC/${user}-`), dialed.channel.name);
  await phone.getByRole('button', { name: 'Hang up' }).waitFor();
  assert.is(await phone.getByRole('listitem').count(), 1);
  await app.ok('DELETE', `/channels/${dialed.channel.id}`);
  await phone.getByRole('button', { name: 'Hang up' }).waitFor({ state: 'detached' });

  await phone.getByLabel('Context').fill('nowhere');
  await phone.getByRole('button', { name: 'Call', exact: true }).click();
  await phone.getByText('The call to 0815 ended with cause 3.').waitFor();

  place();
  const { channel } = await app.waitFor('StasisStart', (event) => event.channel.name.startsWith('PJSIP/'));
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown
    .getByRole('link', { name: new RegExp(channel.caller.number) })
    .first()
    .click();
  await shown.getByRole('button', { name: 'Whisper' }).first().click();
  await phone.getByText(/^The whisper to PJSIP/).waitFor();
  await app.ok('DELETE', `/channels/${channel.id}`);
  await phone.getByText(/^The whisper to PJSIP/).waitFor({ state: 'detached' });
  await shown.getByRole('button', { name: 'Log out' }).click();
  await phone.waitFor({ state: 'detached' });
});

test('while it connects there is one connection, and none stays when it is turned off', async ({ server, open }) => {
  const app = await server.app('desk');
  const shown = await open();
  const waiting: (() => Promise<void>)[] = [];
  let asked = 0;
  await shown.route('**/hookswitch/webrtc', (route) => {
    asked++;
    waiting.push(() => route.continue());
  });
  const answers = (count: number) =>
    untilAsked(
      async () => waiting.length === count,
      () => `the page has asked ${asked} times`,
    );
  const pressed = shown.getByRole('button', { name: 'Phone', exact: true });
  const phone = shown.getByRole('region', { name: 'Phone' });
  const state = async () => (await app.ok<{ state: string }>('GET', `/endpoints/WebRTC/${user}`)).state;

  // Turned off while it connects: the late answer turns nothing on.
  await pressed.click();
  await answers(1);
  await pressed.click();
  await waiting[0]!();
  await phone.waitFor({ state: 'detached' });

  // A call that is made meanwhile waits for the same connection.
  await pressed.click();
  await answers(2);
  await phone.getByLabel('Extension').fill('0815');
  await phone.getByRole('button', { name: 'Call', exact: true }).click();
  await waiting[1]!();
  const { channel } = await app.waitFor('StasisStart', ({ args }) => args.join() === '0815');
  await phone.getByText(`WebRTC/${user}`).waitFor();
  assert.is(asked, 2);
  assert.is(await state(), 'online');
  await pressed.click();
  await app.waitFor('StasisEnd', (event) => event.channel.id === channel.id);
  await untilAsked(
    async () => (await state()) === 'offline',
    () => 'a phone still listens',
  );
});

const bobsPort = await freePort();

test(
  'it shows the video of a phone, and nothing where a phone has none',
  async ({ server, open }) => {
    if (!ffmpeg.path) return;
    const camera = server.closing(await VideoPeer.open());
    const bob = server.closing(await Phone.open('bob', server.sip(), bobsPort, [camera]));
    camera.show(await clipOf('vp8', 'green'));
    const shown = await open();
    await shown.getByRole('button', { name: 'Phone', exact: true }).click();
    const phone = shown.getByRole('region', { name: 'Phone' });
    await phone.getByText(`WebRTC/${user}`).waitFor();
    await phone.getByLabel('Extension').fill('300');
    await phone.getByRole('button', { name: 'Call', exact: true }).click();
    const screen = phone.getByLabel('Video of The call to 300');
    await screen.waitFor();
    // The middle of the picture is green.
    const middle = `(() => {
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = 1;
      const context = canvas.getContext('2d');
      context.drawImage(document.querySelector('.phone-panel video'), 0, 0, 1, 1);
      const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
      return green > 90 && red < 90 && blue < 90;
    })()`;
    await untilTrue(shown, middle);
    await picture(shown, 'page-phone-video');
    await phone.getByRole('button', { name: 'Hang up' }).click();
    await bob.over();
    await screen.waitFor({ state: 'detached' });

    // An application without video.
    await phone.getByLabel('Extension').fill('wait');
    await phone.getByRole('button', { name: 'Call', exact: true }).click();
    await phone.getByRole('button', { name: '5', exact: true }).waitFor();
    await phone.getByLabel('Video of The call to wait').waitFor({ state: 'hidden' });
    await phone.getByRole('button', { name: 'Hang up' }).click();
  },
  () => ({
    dialplan: { default: { '300': ['Dial(PJSIP/bob,20)'], wait: ['Answer', 'Wait(3600)'] } },
    endpoints: { bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] }, video_codecs: ['vp8'] } },
  }),
);

page.run();
