import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import { isLitIn, pageTests, picture } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import type { TestServer } from '../support/server.ts';

/** The faults of docs/guides/find-a-fault.md: the page alone says what is wrong. */
const faults = suite('faults that the page explains');
const test = pageTests(faults);

const caller = async (server: TestServer): Promise<Phone> => server.closing(await Phone.open('4711', server.sip()));

/** Opens the only call from the list of calls. */
async function openCall(shown: Page): Promise<void> {
  await shown.getByRole('link', { name: 'Calls', exact: true }).click();
  await shown.getByRole('link', { name: /4711/ }).first().click();
}

const says = (shown: Page, text: string | RegExp): Promise<void> => shown.getByText(text).first().waitFor();

test('an application that is away', async ({ server, open }) => {
  const phone = await caller(server);
  await phone.call('100').catch(() => {});
  const shown = await open();
  await says(shown, 'the application desk is not connected');
  await openCall(shown);
  await says(shown, '4711 → 100 (desk), failed: the application desk is not connected, by the application');
  await picture(shown, 'fault-away');
});

const impatient = () => ({ stuck: { ringing: 0.1, no_audio: 0.1 } });

test(
  'an application that does nothing',
  async ({ server, open }) => {
    const app = await server.app('desk');
    const phone = await caller(server);
    const calling = phone.call('100').catch(() => {});
    await app.waitFor('StasisStart');
    const shown = await open();
    await openCall(shown);
    await says(shown, 'Stuck in ring: waits for the application desk to answer');
    await picture(shown, 'fault-silent');
    phone.hangup();
    await calling;
  },
  impatient,
);

test(
  'a phone that sends no audio',
  async ({ server, open }) => {
    const app = await server.app('desk');
    const phone = await caller(server);
    const calling = phone.call('100');
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    const shown = await open();
    await openCall(shown);
    await says(shown, new RegExp(`no packet has come from 127.0.0.1:${phone.audio.port}`));
    // Also when the call has ended, and nothing waits any more.
    await says(shown, 'no audio comes from anonymous, and none is sent to it');
    await picture(shown, 'fault-no-audio');
    phone.hangup();
    await app.waitFor('StasisEnd');
    await says(shown, 'answered after');
    await shown.getByText('Stuck in up').waitFor({ state: 'detached' });
    await says(shown, 'no audio comes from anonymous, and none is sent to it');
  },
  () => ({ ...impatient(), recorder: { media_interval: 1 } }),
);

test(
  'a phone that is not registered',
  async ({ server, open }) => {
    const phone = await caller(server);
    await phone.call('200').catch(() => {});
    const shown = await open();
    await openCall(shown);
    await says(shown, '4711 → alice (200), failed: Subscriber absent (cause 20), by the called party');
    await says(shown, 'the caller was told: Circuit/channel congestion (cause 34)');
    await picture(shown, 'fault-phone');
  },
  () => ({ dialplan: { default: { '200': ['Dial(PJSIP/alice,20)'] } } }),
);

const providersPort = await freePort();

test(
  'a call that the provider refuses',
  async ({ server, open }) => {
    const provider = server.closing(await Phone.open('line', server.sip(), providersPort));
    provider.refuses = '403 Forbidden';
    const phone = await caller(server);
    await phone.call('0301234').catch(() => {});
    const shown = await open();
    await openCall(shown);
    await says(shown, /^4711 → 0301234, refused: Call Rejected \(cause 21, SIP 403\), by the called party/);
    await picture(shown, 'fault-provider');
    // The registration of the line has its chart, with what comes next.
    await shown.getByRole('link', { name: 'Phones', exact: true }).click();
    await shown.getByRole('link', { name: /^\w+ line / }).click();
    await isLitIn(shown, 'Registration at the provider', 'registered');
    await shown.locator('.contact .next li', { hasText: /^after wait → refreshing in \d/ }).waitFor();
  },
  () => ({
    dialplan: { default: { '_0.': ['Dial(PJSIP/${EXTEN}@line,20)'] } },
    endpoints: {
      line: {
        aor: { contacts: [`sip:127.0.0.1:${providersPort}`] },
        registrations: [{ server: `sip:127.0.0.1:${providersPort}`, client: `sip:line@127.0.0.1:${providersPort}` }],
      },
    },
  }),
);
test(
  'audio in one direction',
  async ({ server, open }) => {
    const app = await server.app('desk');
    const phone = await caller(server);
    const calling = phone.call('100');
    const { channel } = await app.waitFor('StasisStart');
    await app.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    await app.ok('POST', `/channels/${channel.id}/play?media=tone:dial`);
    const shown = await open();
    await openCall(shown);
    const row = (name: RegExp) => shown.getByRole('row', { name });
    await says(shown, /^no audio comes from anonymous$/);
    await row(/^to /).getByText('good', { exact: true }).waitFor();
    await row(/^from /)
      .getByText('silent', { exact: true })
      .waitFor();
    await picture(shown, 'fault-one-way', row(/^from /));
    phone.hangup();
    await app.waitFor('StasisEnd');
  },
  () => ({ ...impatient(), recorder: { media_interval: 1 } }),
);

const phonesPort = await freePort();

test(
  'a phone that knows none of the codecs',
  async ({ server, open }) => {
    const bob = server.closing(await Phone.open('bob', server.sip(), phonesPort));
    bob.refuses = '488 Not Acceptable Here';
    const phone = await caller(server);
    await phone.call('300').catch(() => {});
    const shown = await open();
    await openCall(shown);
    await says(shown, /^4711 → bob \(300\), (refused|failed): .*SIP 488\), by the called party/);
    await says(shown, 'bob refused what was offered: it has none of the codecs, or wants other encryption');
    await says(shown, '488 Not Acceptable Here');
    await shown.getByPlaceholder('Filter the ladder').fill('rtpmap');
    await shown
      .getByRole('button', { name: /INVITE/ })
      .first()
      .waitFor();
    await picture(shown, 'fault-codec');
  },
  () => ({
    recorder: { sip_bodies: true },
    dialplan: { default: { '300': ['Dial(PJSIP/bob,20)'] } },
    endpoints: { bob: { aor: { contacts: [`sip:127.0.0.1:${phonesPort}`] } } },
  }),
);

test('a call that drops after 32 seconds', async ({ server, open }) => {
  const app = await server.app('desk');
  const phone = await caller(server);
  phone.acknowledges = false;
  const calling = phone.call('100');
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await calling;
  server.clock.skip(33_000);
  await app.waitFor('StasisEnd');
  const shown = await open();
  await openCall(shown);
  await says(shown, /failed: dropped: No user responding \(cause 18, SIP 408\), by the server after a timeout/);
  await says(shown, /^200 OK was sent \d+ times, and no ACK came/);
  await picture(shown, 'fault-dropped');
});

test('digits that come twice', async ({ server, open }) => {
  const app = await server.app('desk');
  const phone = await caller(server);
  const calling = phone.call('100');
  const { channel } = await app.waitFor('StasisStart');
  await app.ok('POST', `/channels/${channel.id}/answer`);
  await calling;
  await app.ok('POST', `/channels/${channel.id}/play?media=tone:dial`);
  await phone.audio.until(() => phone.audio.packets.length > 0, 'the first packet');
  await phone.audio.press('5', 100);
  await app.waitFor('ChannelDtmfReceived');
  await phone.inform('5');
  const shown = await open();
  await openCall(shown);
  await says(shown, 'digits come twice (5): the phone sends each in two ways, such as RFC 4733 and INFO');
  await picture(shown, 'fault-digits');
  phone.hangup();
  await app.waitFor('StasisEnd');
});

faults.run();
