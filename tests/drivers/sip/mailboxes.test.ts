import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { HeaderLines } from '../../../src/sip/message/build.ts';
import type { SipRequest } from '../../../src/sip/message/message.ts';
import { anybody, createPhone, type Phone, subscriber } from './support.ts';

const phones: Phone[] = [];
const counts: Record<string, { newMessages: number; oldMessages: number }> = {};

/** A phone that watches the mailbox `anybody` of a server, and what it is notified of. */
async function world(answer = 200) {
  const server = await createPhone({ config: { endpoints: [anybody] }, mailbox: (name) => counts[name] });
  const client = await createPhone();
  phones.push(server, client);
  const notified: SipRequest[] = [];
  client.transactions.onRequest((transaction) => {
    notified.push(transaction.request);
    transaction.reply(answer);
    client.facts.changed();
  });
  const send = subscriber(client, server, {
    from: '<sip:phone@127.0.0.1>;tag=phone',
    to: () => 'sip:anybody@127.0.0.1',
    callId: 'watch',
  });
  const subscribe = (headers: HeaderLines, toTag?: string, user = 'anybody') => send(headers, user, { toTag });
  const heard = (count: number) => client.facts.until(() => notified.length >= count, `${count} NOTIFYs`);
  return { server, client, notified, subscribe, heard };
}

const event = ['Event', 'message-summary'] as const;
const mailboxes = suite('mailboxes');

mailboxes.before.each(() => {
  counts['anybody'] = { newMessages: 0, oldMessages: 3 };
});

mailboxes.after.each(async () => {
  for (const phone of phones.splice(0)) await phone.close();
});

mailboxes('a phone that subscribes is told at once, at every change, and no more when it unsubscribes', async () => {
  const { server, notified, subscribe, heard } = await world();
  const accepted = await subscribe([event, ['Expires', '300']]);
  assert.equal([accepted.status, accepted.expires], [200, 300]);
  await heard(1);
  assert.is(notified[0]!.header('Subscription-State'), 'active;expires=300');
  assert.is(
    notified[0]!.bodyText,
    'Messages-Waiting: no\r\nMessage-Account: sip:anybody@127.0.0.1\r\nVoice-Message: 0/3 (0/0)\r\n',
  );
  counts['anybody'] = { newMessages: 2, oldMessages: 3 };
  server.watchers.changed('mailbox:anybody');
  server.watchers.changed('mailbox:another');
  await heard(2);
  assert.match(notified[1]!.bodyText, 'Messages-Waiting: yes');
  assert.is((await subscribe([event, ['Expires', '0']], accepted.toTag)).status, 200);
  await heard(3);
  assert.is(notified[2]!.header('Subscription-State'), 'terminated;reason=timeout');
  assert.is(server.driver.counts().subscriptions, 0);
  assert.is((await subscribe([event], accepted.toTag)).status, 481);
});

mailboxes('renewing keeps one subscription', async () => {
  const { server, subscribe, heard } = await world();
  const { toTag } = await subscribe([event, ['Expires', '300']]);
  await subscribe([event, ['Expires', '600']], toTag);
  await heard(2);
  assert.is(server.driver.counts().subscriptions, 1);
});

mailboxes('other events, too short times and other mailboxes are refused', async () => {
  const { subscribe } = await world();
  const others = await subscribe([['Event', 'conference']]);
  assert.equal([others.status, others.header('Allow-Events')], [489, 'message-summary, dialog, presence']);
  assert.is((await subscribe([event, ['Expires', '5']])).status, 423);
  assert.is((await subscribe([event], undefined, 'boss')).status, 404);
});

mailboxes('a phone that knows nothing of its subscription loses it', async () => {
  const { server, subscribe, heard } = await world(481);
  await subscribe([event]);
  await heard(1);
  const poll = setInterval(() => server.facts.changed(), 5);
  await server.facts.until(() => server.driver.counts().subscriptions === 0, 'the subscription ends');
  clearInterval(poll);
});

mailboxes.run();
