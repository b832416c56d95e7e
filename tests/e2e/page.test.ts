import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { createPhone } from '../drivers/sip/support.ts';
import { isLit, isLitIn, kept, pageTests, picture } from '../support/browser.ts';
import { registerPhone } from '../support/register.ts';
import { password, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

const page = suite('the page in a browser');
const test = pageTests(page);

test('a call is seen from its ringing to its end, now and then', async ({ server, peer, place, open }) => {
  const app = await server.app('desk');
  const shown = await open();
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByText('No calls yet').waitFor();

  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  const row = shown.getByRole('link', { name: /4711/ });
  await row.waitFor();
  await row.click();

  // Live: it rings, is answered, hears a prompt, presses a digit.
  await isLit(shown, 'channel', 'ring');
  await shown.getByText('State: Ring').waitFor();
  const moments = shown.getByLabel('Moment of the call');
  const ringing = await moments.inputValue();
  await shown.getByRole('button', { name: 'Answer', exact: true }).click();
  await isLit(shown, 'channel', 'up');
  // The tone behind it plays for as long as the browser takes to look.
  await app.ok('POST', `/channels/${channel.id}/play?media=sound:hello-world,tone:dial`);
  await isLit(shown, 'playback', 'playing');
  await peer.press('5', 100);
  await app.waitFor('ChannelDtmfReceived');
  await shown.getByText('ChannelDtmfReceived 5').first().waitFor();
  await shown.getByRole('heading', { name: 'Audio' }).waitFor();
  // What is measured of the audio is drawn, and somebody listens.
  peer.hum(440);
  if (process.env['HOOKSWITCH_PICTURES']) await shown.getByText(/^no audio/).waitFor({ state: 'detached' });
  await picture(shown, 'call', shown.getByLabel('Summary'));
  await shown.getByText('Level (dB)').waitFor();
  await shown.getByRole('button', { name: 'Listen', exact: true }).click();
  await shown.getByText('You hear both sides. The log names you as a listener.').waitFor();
  await shown.getByRole('button', { name: 'Stop listening' }).click();
  await shown.getByRole('button', { name: 'Listen', exact: true }).waitFor();
  await shown.getByRole('heading', { name: 'Audio' }).scrollIntoViewIfNeeded();
  // Curves need some time to be seen.
  if (process.env['HOOKSWITCH_PICTURES']) await shown.waitForTimeout(8_000);
  await picture(shown, 'call-audio', shown.getByText('Level (dB)'));

  // A forbidden operation says why, and when it would be allowed.
  const dial = shown.getByRole('button', { name: 'Dial', exact: true });
  assert.is(await dial.getAttribute('aria-disabled'), 'true');
  await dial.press('Enter');
  await shown
    .getByText('Dial: This call came in: only a channel made by POST /channels/create is dialed, once')
    .waitFor();

  // Then: charts, ladder and model are what they were.
  await moments.fill(ringing);
  await isLit(shown, 'channel', 'ring');
  await shown.getByText('State: Ring').waitFor();
  assert.is(await shown.getByText('ChannelDtmfReceived 5').count(), 0);
  assert.is(await shown.locator('[data-chart="playback"]').count(), 0);
  await picture(shown, 'call-then');
  // Before there was a channel nothing is said of its state.
  await moments.fill('1');
  await shown.getByText('There was no channel at this moment.').waitFor();
  assert.is(await shown.locator('.call-head .pill').first().textContent(), 'earlier moment');
  await shown.getByRole('button', { name: 'Now', exact: true }).click();
  await isLit(shown, 'channel', 'up');

  await shown.getByRole('button', { name: 'Hang up', exact: true }).click();
  await shown.getByRole('button', { name: 'Hang up now' }).click();
  await phone.done;
  await isLit(shown, 'channel', 'destroyed');
});

test('who may only look sees everything and has no buttons', async ({ server, place, open }) => {
  const app = await server.app('desk');
  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  const shown = await open({ name: 'looker', secret: 'only looks' });
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByRole('link', { name: /4711/ }).click();
  await isLit(shown, 'channel', 'ring');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await isLit(shown, 'channel', 'up');
  assert.is(await shown.getByRole('toolbar').count(), 0);
  assert.is(await shown.getByRole('button', { name: 'Listen', exact: true }).count(), 0);
  assert.is(await shown.getByRole('button', { name: 'Hang up', exact: true }).count(), 0);
  await shown.getByRole('link', { name: 'Phones', exact: true }).click();
  await shown.getByText('alice').waitFor();
  assert.is(await shown.getByRole('heading', { name: 'Create a phone' }).count(), 0);
  await shown.setViewportSize({ width: 400, height: 820 });
  assert.is(await shown.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'), 0);
  await app.ok('DELETE', `/channels/${channel.id}`);
  await phone.done;
});

test('who is limited sees what its scope covers, and what it may not do is grey', async ({ server, place, open }) => {
  const app = await server.app('desk');
  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  const shown = await open({ name: 'desk', secret: 'its own' });
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByRole('link', { name: /4711/ }).click();
  await isLit(shown, 'channel', 'up');
  const button = (name: string) => shown.getByRole('button', { name, exact: true });
  assert.is(await button('Hold').getAttribute('aria-disabled'), 'true');
  assert.is(await button('Hang up').getAttribute('aria-disabled'), 'false');
  const places = await open({ name: 'narrow', secret: 'its own' });
  const menu = places.getByRole('navigation', { name: 'Main' }).getByRole('listitem');
  await menu.first().waitFor();
  assert.equal(await menu.allTextContents(), ['Phones', 'API']);
  await places.getByText('alice').waitFor();
  // What it may not see says so, with the operation that an administrator can allow.
  for (const [path, said] of [
    ['calls', 'Your user may not see Calls (operation live:watch).'],
    ['calls/none', 'Your user may not see Calls (operation live:watch).'],
    ['server', 'Your user may not see Server (operation server:get).'],
    ['charts/channel', 'Your user may not see Charts (operation charts:list).'],
    ['phones/none', 'There is no endpoint none.'],
    ['nothing', 'There is no such view.'],
  ] as const) {
    await places.goto(`${server.url.replace(/\/ari$/, '/')}#/${path}`);
    await places.getByRole('main').getByText(said).waitFor();
  }
  const watcher = await open({ name: 'watcher', secret: 'its own' });
  await watcher.getByText('Your user may not see alarms (operation server:listAlarms).').waitFor();
  const online = watcher.locator('.tile', { hasText: 'Phones online' });
  assert.match((await online.textContent()) ?? '', /–\s*not for your user/);
  await app.ok('DELETE', `/channels/${channel.id}`);
  await phone.done;
});

test('a call that is not there is told as such, and not looked for again', async ({ server, open, complaints }) => {
  const shown = await open();
  await shown.goto(`${server.url.replace(/\/ari$/, '/')}#/calls/none`);
  await shown.getByText('This call does not exist, or is no longer stored.').waitFor();
  await shown.getByRole('main').getByText('not found').waitFor();
  // The WebSocket that was refused, the answer that said why, and the disk: nothing else, and no more of them.
  assert.equal(
    complaints.splice(0).map((each) => /call=none|calls\/none/.test(each)),
    [true, true, true],
  );
});

test('an application and a chart that are not there are told as such', async ({ server, open, complaints }) => {
  const shown = await open();
  const see = async (path: string, said: RegExp): Promise<void> => {
    await shown.goto(`${server.url.replace(/\/ari$/, '/')}#/${path}`);
    await shown.getByRole('main').getByText(said).waitFor();
  };
  await see('charts/none', /^There is no chart none\./);
  assert.equal(complaints, [], 'a chart that is not listed is not asked for');
  await see('applications/none', /^No application of this name has connected since the server started/);
  assert.is(await shown.getByRole('main').locator('.tile').count(), 0);
  assert.ok(complaints.splice(0).every((each) => /app=none/.test(each)));
});

test('wrong passwords are told, and every view is there, wide and narrow', async ({ server, peer, place, open }) => {
  const app = await server.app('desk');
  const phone = place();
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await app.ok('POST', `/channels/${channel.id}/play?media=tone:dial`);
  await peer.until(() => peer.packets.length > 0, 'the first packet');
  peer.hum(440);
  for (const [from, number, extension] of [
    ['Alice', '201', 'wait'],
    ['Bob', '202', 'wait'],
    ['Carol', '203', 'gone'],
    ['Dave', '204', 'engaged'],
  ])
    await app.ok('POST', `/channels?endpoint=Local/${extension}@default&app=desk&callerId=${from}%20<${number}>`);
  for (const { suffix, ...size } of [
    { suffix: '', width: 1400, height: 900 },
    { suffix: '-dark', width: 1400, height: 900, dark: true },
    { suffix: '-narrow', width: 400, height: 820 },
  ]) {
    const shown = await open(size);
    const main = shown.getByRole('main');
    await main.getByText('Live calls').first().waitFor();
    await main.getByText('desk').first().waitFor();
    // Curves need some time to be seen.
    if (process.env['HOOKSWITCH_PICTURES'] && kept.has(`overview${suffix}`)) await shown.waitForTimeout(4_000);
    await picture(shown, `overview${suffix}`);
    const cut = `[...document.querySelectorAll('.who-name .cut')].map((name) => name.scrollWidth - name.clientWidth)`;
    assert.equal(await shown.evaluate(cut), [0], `the name of the user is cut at ${size.width} px`);
    for (const [link, sign] of [
      ['Calls', '4711'],
      ['Applications', 'desk'],
      ['Phones', 'alice'],
      ['API', 'ChannelDestroyed'],
      ['Charts', 'Commands and their transitions'],
    ] as const) {
      await shown.getByRole('link', { name: link, exact: true }).first().click();
      await main.getByText(sign).first().waitFor();
      const wider = await shown.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      assert.is(wider, 0, `${link} is wider than ${size.width} px`);
      await picture(shown, `${link.toLowerCase()}${suffix}`);
    }
    await shown.getByRole('link', { name: 'Calls', exact: true }).first().click();
    await shown.getByRole('link', { name: /4711/ }).click();
    // On a telephone charts are folded at first: they are long.
    if (suffix === '-narrow') await shown.getByRole('button', { name: /Channel PJSIP/, expanded: false }).click();
    await isLit(shown, 'channel', 'up');
    if (suffix !== '') await picture(shown, `call${suffix}`);
    await shown.getByRole('button', { name: 'Log out' }).click();
    await shown.getByLabel('Name').fill('nobody');
    await shown.getByLabel('Password').fill('x');
    await shown.context().close();
  }
  for (const { id } of await app.ok<{ id: string }[]>('GET', '/channels'))
    await app.ok('DELETE', `/channels/${id}`).catch(() => undefined);
  await phone.done;
});

test(
  'a stuck call changes the name of no link: the badge describes it',
  async ({ server, place, open }) => {
    const app = await server.app('desk');
    const phone = place();
    const { channel } = await app.waitFor('StasisStart');
    const shown = await open();
    const link = shown.getByRole('link', { name: 'Calls', exact: true });
    await link.locator('.badge').waitFor();
    assert.match(await shown.getByRole('navigation', { name: 'Main' }).ariaSnapshot(), /^ *- link "Calls":?$/m);
    await link.click();
    await shown.getByRole('button', { name: 'stuck', exact: true }).click();
    await shown.getByRole('link', { name: /4711.*waits for the application desk to answer/ }).waitFor();
    for (const described of [link, shown.getByRole('button', { name: 'stuck', exact: true })]) {
      const id = await described.getAttribute('aria-describedby');
      assert.is(await shown.locator(`#${id}`).textContent(), '1 stuck');
    }
    await shown.getByRole('link', { name: /4711/ }).click();
    await shown.getByText('waits for the application desk to answer').waitFor();
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await app.ok('DELETE', `/channels/${channel.id}`);
    await phone.done;
  },
  () => ({ stuck: { ringing: 0.1 } }),
);

test('a registered phone shows the state of its contact, an application its connections and reconnections', async ({
  server,
  open,
}) => {
  const phone = await createPhone({ config: { endpoints: [] } });
  try {
    const port = Number(server.sip().split(':').at(-1));
    assert.is(await registerPhone(phone, { port }, { user: 'alice', password: 'a secret' }), 200);
    const app = await server.app('desk');
    const again = new WebSocket(`${server.url.replace('http', 'ws')}/events?app=desk&resume=0`, {
      headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
    });
    server.closing({ close: () => again.terminate() });
    await once(again, 'open');
    const shown = await open();
    await shown.getByRole('link', { name: 'Phones', exact: true }).click();
    await shown.getByRole('link', { name: /alice/ }).click();
    await isLitIn(shown, 'Registration and qualification', 'nonQualified');
    // Its conditions depend on what comes, and its registration runs out.
    const next = (text: RegExp) => shown.locator('.contact .next li', { hasText: text }).first().waitFor();
    await next(/^contact\.registered if wantsQualify \(depends on the event\)/);
    await next(/^contact\.expired → removed in \d/);
    await picture(shown, 'phone');
    await shown.getByRole('link', { name: 'Applications', exact: true }).click();
    await shown.getByRole('link', { name: /desk/ }).click();
    await shown.getByLabel('WebSockets').getByText('resumed').waitFor();
    await app.ok('POST', '/channels/call-1?endpoint=Local/wait@default&app=desk&otherChannelId=other');
    await shown.getByText('StasisStart').first().waitFor();
    await picture(shown, 'application');
    await shown.getByText('Chart: active').click();
    await isLitIn(shown, 'Application desk', 'active');
    await app.ok('DELETE', '/channels/call-1');
  } finally {
    await phone.close();
  }
});

test(
  'a call of yesterday is searched on the server and looked into; the search is saved',
  async ({ server, open, complaints }) => {
    const app = await server.app('desk');
    await app.ok('POST', '/channels/old-1?endpoint=Local/wait@default&app=desk&otherChannelId=other&callerId=4799');
    await app.waitFor('StasisStart');
    await app.ok('DELETE', '/channels/old-1');
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const listed = async (query: string) => {
      const answer = await fetch(`${server.url.replace(/ari$/, 'hookswitch')}/calls?${query}`, {
        headers: { authorization },
      });
      return ((await answer.json()) as { total: number }).total;
    };
    await untilAsked(
      async () => {
        server.clock.skip(5_000);
        return (await listed('')) === 0 && (await listed('stored=true')) === 1;
      },
      () => 'the call is not only on the disk',
    );
    const shown = await open();
    await shown.getByRole('link', { name: 'Calls', exact: true }).click();
    await shown.getByText('No calls yet').waitFor();
    await shown.getByRole('button', { name: 'Stored calls' }).click();
    const row = shown.getByRole('link', { name: /4799 →/ });
    await row.waitFor();
    await shown.getByLabel('Search calls').fill('nobody');
    await row.waitFor({ state: 'detached' });
    await shown.getByLabel('Search calls').fill('DESK 4799');
    await row.waitFor();
    await shown.getByLabel('From').fill('2100-01-01T00:00');
    await row.waitFor({ state: 'detached' });
    await shown.getByLabel('From').fill('2020-01-01T00:00');
    await row.waitFor();
    await shown.getByRole('button', { name: 'Save search' }).click();
    await picture(shown, 'stored-calls');
    await row.click();
    await isLit(shown, 'channel', 'destroyed');
    await shown.getByLabel('Summary').getByText(/4799/).waitFor();
    // Back to the search; the list itself begins without one.
    await shown.getByRole('link', { name: 'All calls' }).click();
    await row.waitFor();
    await shown.getByRole('link', { name: 'Calls', exact: true }).click();
    await row.waitFor({ state: 'detached' });
    await shown.getByRole('link', { name: 'DESK 4799' }).click();
    await row.waitFor();
    // Whether a call is live is asked first, and refused.
    for (let at = complaints.length - 1; at >= 0; at--)
      if (/404|live\?call=old-1/.test(complaints[at] ?? '')) complaints.splice(at, 1);
  },
  () => ({ recorder: { keep_ended: 0 } }),
);

test('a phone is made, and told what to type', async ({ open }) => {
  const shown = await open();
  await shown.getByRole('link', { name: 'Phones', exact: true }).click();
  await shown.getByLabel('Name').fill('carol');
  await shown.getByRole('button', { name: 'Create' }).click();
  await shown.getByRole('heading', { name: 'Settings for the softphone of carol' }).waitFor();
  await shown.getByRole('img', { name: 'The account as a QR code' }).waitFor();
  await shown.getByRole('link', { name: /carol/ }).waitFor();
});

page.run();
