import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LegReport } from '../../../src/telephony/driver.ts';
import { Phone } from '../../support/phone.ts';
import { anybody, createPhone, type Phone as Driver, type PhoneOptions } from './support.ts';

/** REFER inside a call, sent by a phone that shares no code with the driver. */
const transfers = suite('transfers that phones ask for');

const drivers: Driver[] = [];
const phones: Phone[] = [];
transfers.after.each(async () => {
  const over = drivers.splice(0);
  // While the phones are there to say goodbye to.
  for (const driver of over) await driver.finish();
  for (const phone of phones.splice(0)) await phone.close();
  for (const driver of over) await driver.close();
});

/** A call of a phone that has been answered. */
async function called(options: PhoneOptions = {}) {
  const driver = await createPhone({ config: { endpoints: [anybody], ...options.config } });
  drivers.push(driver);
  const phone = await Phone.open('bob', driver.uri.replace(/^sip:(?:[^@]*@)?/, ''));
  phones.push(phone);
  const calling = phone.call('200');
  const channel = await driver.rung();
  channel.leg.answer();
  await calling;
  return { driver, phone, channel };
}

const asked = (report: LegReport) => (report.type === 'leg.transferAsked' ? report.transfer : undefined);

transfers('a REFER is accepted, told as it goes, and is over with the last word', async () => {
  const { phone, channel } = await called();
  assert.is(await phone.refer('<sip:300@pbx.example>', ['Referred-By: <sip:bob@pbx.example>']), 202);
  const transfer = asked(await channel.heard('leg.transferAsked'));
  assert.equal(transfer, {
    ...{ id: transfer?.id, extension: '300', context: 'default', target: 'sip:300@pbx.example', handling: 'core' },
    referredBy: '<sip:bob@pbx.example>',
  });
  channel.leg.tellTransfer(transfer!.id, 180);
  channel.leg.tellTransfer(transfer!.id, 486);
  channel.leg.tellTransfer(transfer!.id, 200);
  await phone.until(() => phone.notified.length === 3, 'three NOTIFYs');
  assert.equal(phone.notified, [
    { event: 'refer', state: 'active;expires=60', fragment: 'SIP/2.0 100 Trying' },
    { event: 'refer', state: 'active;expires=60', fragment: 'SIP/2.0 180 Ringing' },
    { event: 'refer', state: 'terminated;reason=noresource', fragment: 'SIP/2.0 486 Busy Here' },
  ]);
});

transfers('a second one tells itself from the first by its number, and one too many is refused for now', async () => {
  const { driver, phone, channel } = await called();
  assert.is(await phone.refer('<sip:300@pbx.example>'), 202);
  const first = asked(await channel.heard('leg.transferAsked'))!;
  assert.is(await phone.refer('<sip:301@pbx.example>'), 491);
  assert.equal(driver.limits.figures(), { 'sip.transfers.per_call': 1 });
  channel.leg.tellTransfer(first.id, 480);
  assert.is(await phone.refer('<sip:302@pbx.example>'), 202);
  await phone.until(() => phone.notified.length === 3, 'three NOTIFYs');
  assert.is(phone.notified[2]?.event, `refer;id=${Number(first.id) + 2}`);
});

transfers('a phone that wants no news gets none', async () => {
  const { phone, channel } = await called();
  assert.is(await phone.refer('<sip:300@pbx.example>', ['Refer-Sub: false']), 200);
  const transfer = asked(await channel.heard('leg.transferAsked'))!;
  channel.leg.tellTransfer(transfer.id, 200);
  // The call and its requests go on as before.
  assert.is(await phone.refer('<sip:300@pbx.example>', ['Require: norefersub', 'Refer-Sub: false']), 200);
  assert.equal(phone.notified, []);
});

transfers('another call is named with its tags, and found when it is one of ours', async () => {
  const { driver, phone, channel } = await called();
  const second = await Phone.open('bob', driver.uri.replace(/^sip:(?:[^@]*@)?/, ''));
  phones.push(second);
  const calling = second.call('300');
  const consulted = await driver.rung(1);
  consulted.leg.answer();
  await calling;
  const { callId, theirTag, ownTag } = second.dialog();
  assert.is(await phone.refer(`<sip:300@pbx.example?Replaces=${second.replaces()}>`), 202);
  const { replaces } = asked(await channel.heard('leg.transferAsked'))!;
  assert.equal(replaces, {
    ...{ protocolId: callId, localTag: theirTag, remoteTag: ownTag },
    channelId: consulted.id,
  });
});

for (const [what, status, lines] of [
  ['no Refer-To', 400, []],
  ['two of them', 400, ['Refer-To: <sip:1@x>', 'Refer-To: <sip:2@x>']],
  ['one that cannot be read', 400, ['Refer-To: <<>']],
  ['one that is no call', 603, ['Refer-To: <mailto:bob@pbx.example>']],
  ['one that asks for another method', 603, ['Refer-To: <sip:300@pbx.example;method=BYE>']],
  ['a Replaces without tags', 400, ['Refer-To: <sip:300@pbx.example?Replaces=abc>']],
  ['a Replaces with two of one kind', 400, ['Refer-To: <sip:3@x?Replaces=a%3Bto-tag%3D1%3Bto-tag%3D2%3Bfrom-tag%3D3>']],
] as const)
  transfers(`a REFER with ${what} is refused with ${status}, and the call goes on`, async () => {
    const { phone, channel } = await called();
    assert.is(await phone.request('REFER', [...lines]), status);
    assert.is(await phone.refer('<sip:300@pbx.example>'), 202);
    assert.ok(asked(await channel.heard('leg.transferAsked')));
  });

transfers('what an endpoint may not call it may not transfer to, nor anywhere when it may not transfer', async () => {
  const allowance = { extensions: ['200', '300'] };
  const bounded = await called({ config: { endpoints: [{ ...anybody, allowance }] } });
  assert.is(await bounded.phone.refer('<sip:0019005551234@pbx.example>'), 403);
  assert.is(await bounded.phone.refer('<sip:300@pbx.example>'), 202);
  const forbidden = await called({ config: { endpoints: [{ ...anybody, allowTransfer: false }] } });
  assert.is(await forbidden.phone.refer('<sip:300@pbx.example>'), 603);
});

transfers('a phone may ask anew how it goes, and may want to know no more', async () => {
  const { phone, channel } = await called();
  await phone.refer('<sip:300@pbx.example>');
  const transfer = asked(await channel.heard('leg.transferAsked'))!;
  assert.is(await phone.request('SUBSCRIBE', ['Event: refer', 'Expires: 30']), 200);
  assert.is(await phone.request('SUBSCRIBE', ['Event: presence', 'Expires: 30']), 489);
  assert.is(await phone.request('SUBSCRIBE', ['Event: refer;id=999', 'Expires: 30']), 481);
  assert.is(await phone.request('SUBSCRIBE', ['Event: refer', 'Expires: 0']), 200);
  await phone.until(() => phone.notified.length === 3, 'three NOTIFYs');
  assert.is(phone.notified[2]?.state, 'terminated;reason=timeout');
  channel.leg.tellTransfer(transfer.id, 200);
  assert.is(await phone.request('OPTIONS', []), 200);
  assert.is(phone.notified.length, 3);
});

transfers('a leg that is put down goes on telling where it was', async () => {
  const { phone, channel } = await called();
  await phone.refer('<sip:300@pbx.example>');
  const transfer = asked(await channel.heard('leg.transferAsked'))!;
  const { core } = JSON.parse(JSON.stringify(channel.leg.dump()));
  assert.equal(core.transfers, [{ id: transfer.id, event: 'refer' }]);
});

transfers.run();
