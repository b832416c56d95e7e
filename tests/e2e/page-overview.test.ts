import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pageTests, picture } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';

/** What an operator sees first, in a real browser: alarms, each with a way to its calls. */

const page = suite('the overview of the page');
const test = pageTests(page);

test(
  'alarms come first, and lead to the line, the application and the calls that they are about',
  async ({ server, open, complaints }) => {
    const alice = server.closing(await Phone.open('4711', server.sip()));
    for (let calls = 0; calls < 3; calls++) await alice.call('100').catch(() => {});
    const shown = await open();
    const alarms = shown.locator('.alarms');
    await alarms.getByText('PJSIP/line is not registered', { exact: false }).waitFor();
    await alarms.getByText('The application desk was not connected: 3 calls in 10 minutes').waitFor();
    await alarms.getByText('3 of 3 calls failed or were refused in 10 minutes').waitFor();
    const [first] = await shown
      .locator('main > *')
      .evaluateAll((parts) => parts.slice(1, 2).map((part) => part.className));
    assert.match(String(first), /alarms/);
    await picture(shown, 'alarms');
    await alarms.getByRole('link', { name: 'PJSIP/line' }).click();
    await shown.getByText('Unregistered', { exact: true }).first().waitFor();
    await shown.goBack();
    await alarms.getByRole('link', { name: 'desk', exact: true }).click();
    await shown.getByText(/^No application of this name has connected since the server started/).waitFor();
    // The browser complains of the 404 that says so.
    for (let at = complaints.length - 1; at >= 0; at--)
      if (complaints[at]?.includes('live?app=desk')) complaints.splice(at, 1);
    await shown.goBack();
    await alarms.getByRole('link', { name: 'Failed calls' }).click();
    await shown.locator('.call-row').nth(2).waitFor();
    assert.is(await shown.locator('.call-row').count(), 3);
    await shown.goBack();
    await shown.getByRole('link', { name: /^Live calls/ }).click();
    await shown.getByRole('button', { name: 'live', exact: true, pressed: true }).waitFor();

    const desk = await open({ name: 'desk', secret: 'its own' });
    await desk.locator('.alarms').getByText('The application desk was not connected').waitFor();
    assert.is(await desk.getByText('PJSIP/line').count(), 0);
    const narrow = await open({ name: 'narrow', secret: 'its own' });
    assert.is(await narrow.getByText('3 calls in 10 minutes').count(), 0);
  },
  async () => ({
    endpoints: { line: { registrations: [{ server: `sip:127.0.0.1:${await freePort()}` }] } },
  }),
);

page.run();
