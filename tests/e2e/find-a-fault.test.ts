import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import { pageTests, picture } from '../support/browser.ts';
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
    await picture(shown, 'fault-no-audio');
    phone.hangup();
    await app.waitFor('StasisEnd');
  },
  impatient,
);

test(
  'a phone that is not registered',
  async ({ server, open }) => {
    const phone = await caller(server);
    await phone.call('200').catch(() => {});
    const shown = await open();
    await openCall(shown);
    await says(shown, '4711 → 200, failed: Subscriber absent (cause 20), by the called party');
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
  },
  () => ({
    dialplan: { default: { '_0.': ['Dial(PJSIP/${EXTEN}@line,20)'] } },
    endpoints: { line: { aor: { contacts: [`sip:127.0.0.1:${providersPort}`] } } },
  }),
);
faults.run();
