import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pageTests } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import type { Clip, Colour } from '../support/video/clips.ts';
import { VideoPeer } from '../support/video/video-peer.ts';

const page = suite('video of a call in a browser');
const port = await freePort();
const video = { video_codecs: ['vp8'] };

/** Frames that nobody decodes: a key frame, and some that need it. */
const clip = (colour: Colour): Clip => ({
  ...{ codec: 'vp8', colour },
  frames: [Buffer.alloc(1500), ...Array.from({ length: 30 }, () => Buffer.alloc(300, 1))],
});

pageTests(page)(
  'whom each side of a call is shown stands there, with what was lost, asked for and left out',
  async ({ server, open }) => {
    const phones: Phone[] = [];
    for (const [number, at, colour] of [
      ['200', 0, 'red'],
      ['bob', port, 'green'],
    ] as const) {
      const camera = server.closing(await VideoPeer.open());
      phones.push(server.closing(await Phone.open(number, server.sip(), at, [camera])));
      camera.show(clip(colour));
    }
    const [alice] = phones;
    await alice!.call('100');
    const shown = await open();
    await shown.getByRole('link', { name: 'Calls', exact: true }).click();
    await shown.getByRole('link', { name: /200/ }).click();
    await shown.getByRole('heading', { name: 'Video', exact: true }).waitFor();
    await shown.getByRole('row', { name: 'anonymous bob vp8 0' }).waitFor();
    await shown.getByRole('row', { name: 'bob anonymous vp8 0' }).waitFor();
    await shown.getByText('Video visibility').waitFor();
    await shown.getByRole('row', { name: /^anonymous bob \(vp8, \d+ kbit\/s\) —$/ }).waitFor();
    await shown.getByRole('row', { name: /^bob anonymous \(vp8, \d+ kbit\/s\) —$/ }).waitFor();
    // On a telephone, too, it stands there whom each sees.
    await shown.setViewportSize({ width: 400, height: 820 });
    await shown.getByRole('row', { name: /^anonymous bob \(vp8, \d+ kbit\/s\) —$/ }).waitFor();
    assert.is(await shown.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'), 0);
    await shown.setViewportSize({ width: 1400, height: 900 });
    await shown.getByText('video 0 vp8').first().waitFor();
    const panel = shown.locator('section', { has: shown.getByRole('heading', { name: 'Video', exact: true }) });
    await panel.getByText('Jitter (ms)').waitFor();
    const heads = await panel.getByRole('columnheader').allTextContents();
    assert.equal(heads, ['To', 'Shows', 'Codec', 'Lost', 'Key frames', 'Requested', 'Retransmitted', 'Dropped']);
    await shown.getByRole('heading', { name: 'Video', exact: true }).scrollIntoViewIfNeeded();
    alice!.hangup();
  },
  () => ({
    dialplan: { default: { '_X.': ['Dial(PJSIP/bob)'] } },
    endpoints: {
      anonymous: { match: ['127.0.0.1'], ...video },
      bob: { aor: { contacts: [`sip:bob@127.0.0.1:${port}`] }, ...video },
    },
    recorder: { media_interval: 1 },
  }),
);

page.run();
