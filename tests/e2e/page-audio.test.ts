import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pageTests, picture, untilTrue } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';

/** What a page tells of the audio of a call, in a real browser. */

const page = suite('the audio of a call in a browser');
const test = pageTests(page);

test(
  'both directions of a leg have their quality, and the recording plays with its waveform',
  async ({ server, peer, place, open }) => {
    const app = await server.app('desk');
    place();
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await app.ok('POST', `/channels/${channel.id}/play?media=sound:hello-world`);
    await app.waitFor('PlaybackFinished');
    peer.hum(440);
    await app.ok('POST', `/channels/${channel.id}/record?name=call-1&format=wav`);
    await app.waitFor('RecordingStarted');
    const shown = await open();
    await shown.getByRole('link', { name: 'Calls', exact: true }).click();
    await shown.getByRole('link', { name: /4711/ }).click();
    const from = shown.getByRole('row', { name: /^from / });
    await from.getByText('good', { exact: true }).waitFor();
    const heads = await shown.locator('.legs th[scope="col"]').allTextContents();
    assert.equal(
      [
        heads.length,
        heads[1],
        await from.getByRole('cell').count(),
        await from.getByRole('cell').first().textContent(),
      ],
      [9, 'Codec', 8, 'ulaw'],
    );
    await from.getByText('4.4', { exact: true }).first().waitFor();
    await shown.getByRole('row', { name: /^to / }).getByText('good', { exact: true }).waitFor();
    await shown.getByText('MOS (estimate)').waitFor();
    await app.ok('POST', `/recordings/live/call-1/stop`);
    await app.waitFor('RecordingFinished');
    const card = shown.locator('[data-chart="liveRecording"].over');
    await card.getByRole('button').first().click();
    await card.getByRole('button', { name: 'Play recording' }).click();
    const waveform = card.getByRole('img', { name: /^Waveform, / });
    await waveform.waitFor();
    await waveform.scrollIntoViewIfNeeded();
    await picture(shown, 'call-recording');
    const audio = card.locator('audio');
    const box = await waveform.boundingBox();
    await waveform.click({ position: { x: (box?.width ?? 2) / 2, y: 5 } });
    const [at, length] = await audio.evaluate((one: HTMLAudioElement) => [one.currentTime, one.duration]);
    assert.ok(Math.abs((at ?? 0) - (length ?? 0) / 2) < 0.2, `${at} of ${length}`);
    await app.ok('DELETE', '/recordings/stored/call-1');
    // A format without a header, and one that only the browser can decode.
    for (const format of ['ulaw', 'ogg']) {
      const name = `call-${format}`;
      await app.ok('POST', `/channels/${channel.id}/record?name=${name}&format=${format}&maxDurationSeconds=1`);
      await app.waitFor('RecordingFinished', ({ recording }) => recording.name === name);
      const other = shown.locator(`[data-object="${name}"].over`);
      await other.getByRole('button').first().click();
      await other.getByRole('button', { name: 'Play recording' }).click();
      await other.getByRole('img', { name: /^Waveform, 1 s/ }).waitFor();
      const played = other.locator('audio');
      await untilTrue(shown, `document.querySelector('[data-object="${name}"] audio').duration > 0.8`);
      assert.is(await played.evaluate((one: HTMLAudioElement) => one.error), null, format);
      await app.ok('DELETE', `/recordings/stored/${name}`);
    }
    await app.ok('DELETE', `/channels/${channel.id}`);
  },
  () => ({ recorder: { media_interval: 1 } }),
);

const bobsPort = await freePort();

test(
  'loss and jitter of one leg are seen as they come, in its row, its curves and the summary; who listens hears both sides',
  async ({ server, open }) => {
    const [alice, bob] = [
      server.closing(await Phone.open('4711', server.sip())),
      server.closing(await Phone.open('202', server.sip(), bobsPort)),
    ];
    await alice.call('202');
    alice.audio.hum(440);
    bob.audio.hum(1_000);
    const shown = await open();
    await shown.getByRole('link', { name: 'Calls', exact: true }).click();
    await shown.getByRole('link', { name: /4711/ }).click();
    const row = (name: string) => shown.getByRole('row', { name: new RegExp(`^${name} `) });
    for (const name of ['from anonymous', 'to anonymous', 'from bob', 'to bob'])
      await row(name).getByText('good', { exact: true }).waitFor();
    const moments = shown.getByLabel('Moment of the call');
    const good = await moments.inputValue();

    alice.audio.losesOneOf = 4;
    alice.audio.delaysOneOf = 2;
    await row('from anonymous').getByText('poor', { exact: true }).waitFor();
    await row('from anonymous')
      .getByText(/^2[3-7](\.\d)? %$/)
      .waitFor();
    await row('from anonymous')
      .getByText(/^([5-9]|\d\d+)(\.\d)? ms$/)
      .first()
      .waitFor();
    await row('from bob').getByText('good', { exact: true }).waitFor();
    await shown
      .getByLabel('Summary')
      .getByText(/^poor audio from anonymous: MOS [12](\.\d)?$/)
      .waitFor();
    const curve = (title: string) => shown.locator('.curve', { hasText: title }).getByText(/^anonymous heard/);
    for (const title of ['MOS (estimate)', 'Loss (packets)', 'Jitter (ms)']) await curve(title).waitFor();
    await picture(shown, 'call-bad-audio', row('from anonymous'));

    // As it was before.
    await moments.fill(good);
    await row('from anonymous').getByText('good', { exact: true }).waitFor();
    await shown.getByRole('button', { name: 'Now', exact: true }).click();

    // What comes to the loudspeaker has both tones.
    await shown.evaluate(`{
      globalThis.played = [];
      const { start } = AudioBufferSourceNode.prototype;
      AudioBufferSourceNode.prototype.start = function (...given) {
        played.push(...this.buffer.getChannelData(0));
        return start.apply(this, given);
      };
      globalThis.strength = (hertz, rate) => {
        const samples = played.slice(-rate / 2);
        const sum = (wave) => samples.reduce((all, sample, at) => all + sample * wave((2 * Math.PI * hertz * at) / rate), 0);
        return Math.hypot(sum(Math.sin), sum(Math.cos)) / samples.length;
      };
    }`);
    await shown.getByRole('button', { name: 'Listen', exact: true }).first().click();
    await shown.getByText('You hear both sides.').first().waitFor();
    await untilTrue(
      shown,
      'strength(440, 8000) > 0.002 && strength(1000, 8000) > 0.002 && strength(700, 8000) < 0.002',
    );
    await shown.getByRole('button', { name: 'Stop listening' }).click();
    alice.hangup();
    await bob.over();
  },
  () => ({
    recorder: { media_interval: 1 },
    dialplan: { default: { '202': ['Dial(PJSIP/bob,20)'] } },
    endpoints: { bob: { aor: { contacts: [`sip:202@127.0.0.1:${bobsPort}`] } } },
  }),
);

page.run();
