import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LegReport } from '../../../src/telephony/driver.ts';
import { Phone } from '../../support/phone.ts';
import { anybody, createPhone, type Phone as Driver, endpoint, type PhoneOptions } from './support.ts';

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

transfers('a transfer to a host without a number goes to the extension s', async () => {
  const { phone, channel } = await called({
    config: { endpoints: [{ ...anybody, allowance: { extensions: ['200', 's'] } }] },
  });
  assert.is(await phone.refer('<sip:pbx.example;user=phone>'), 202);
  assert.is(asked(await channel.heard('leg.transferAsked'))?.extension, 's');
});

transfers('a text message is answered 202, inside a call and outside', async () => {
  const { phone } = await called();
  assert.is(await phone.request('MESSAGE', ['Content-Type: text/plain']), 202);
  const { status } = await phone.outside('MESSAGE', 'anybody', ['Content-Type: text/plain']);
  assert.is(status, 202);
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

transfers('a leg that is saved goes on telling where it was', async () => {
  const { phone, channel } = await called();
  await phone.refer('<sip:300@pbx.example>');
  const transfer = asked(await channel.heard('leg.transferAsked'))!;
  const { core } = JSON.parse(JSON.stringify(channel.leg.dump()));
  assert.equal(core.transfers, [{ id: transfer.id, event: 'refer' }]);
});

/** Target-Dialog (RFC 4538): REFER, SUBSCRIBE and INVITE outside a call that name one. */
const bobs = endpoint('bob', { auth: { username: 'bob', password: 'wonderland' }, subscribeContext: 'lamps' });
const carols = endpoint('carol', { auth: { username: 'carol', password: 'wonderland' } });
const hint = (_context: string, extension: string) =>
  extension === '201' ? { devices: ['PJSIP/bob'], state: 'NOT_INUSE' as const } : undefined;

/** A server where all have passwords, and Bob, who has proved his and is in a call. */
async function proved() {
  const driver = await createPhone({ hint, config: { endpoints: [bobs, carols] } });
  drivers.push(driver);
  const open = async (number: string, password?: string) => {
    const phone = await Phone.open(number, driver.uri.replace(/^sip:/, ''));
    phone.password = password;
    phones.push(phone);
    return phone;
  };
  const phone = await open('bob', 'wonderland');
  const calling = phone.call('200');
  const channel = await driver.rung();
  channel.leg.answer();
  await calling;
  // From here on it has to be known by what it knows of its call.
  phone.password = undefined;
  return { driver, phone, channel, open };
}

const targeted = (phone: Phone, ...lines: string[]) => [
  'Refer-To: <sip:300@pbx.example>',
  `Target-Dialog: ${phone.targetDialog()}`,
  ...lines,
];

transfers('a REFER outside a call transfers the call that it names, and is told in its own dialog', async () => {
  const { driver, phone, channel } = await proved();
  const { status, inside } = await phone.outside('REFER', 'bob', targeted(phone, 'Require: tdialog'));
  assert.is(status, 202);
  const transfer = asked(await channel.heard('leg.transferAsked'))!;
  assert.equal([transfer.extension, transfer.handling], ['300', 'core']);
  assert.is(driver.driver.counts().referrals, 1);
  assert.is(await inside('SUBSCRIBE', ['Event: refer', 'Expires: 30']), 200);
  assert.is(await inside('SUBSCRIBE', ['Event: dialog', 'Expires: 30']), 489);
  channel.leg.tellTransfer(transfer.id, 200);
  await phone.until(() => phone.notified.length === 3, 'three NOTIFYs');
  assert.equal(phone.notified, [
    { event: 'refer', state: 'active;expires=60', fragment: 'SIP/2.0 100 Trying' },
    { event: 'refer', state: 'active;expires=60', fragment: 'SIP/2.0 100 Trying' },
    { event: 'refer', state: 'terminated;reason=noresource', fragment: 'SIP/2.0 200 OK' },
  ]);
  assert.is(driver.driver.counts().referrals, 0);
  assert.is(await inside('SUBSCRIBE', ['Event: refer', 'Expires: 30']), 481);
});

transfers('who asks outside a call may want no news, no more news, and hears of the end of the call', async () => {
  const { driver, phone, channel } = await proved();
  assert.is((await phone.outside('REFER', 'bob', targeted(phone, 'Refer-Sub: false'))).status, 200);
  channel.leg.tellTransfer(asked(await channel.heard('leg.transferAsked'))!.id, 200);
  const { inside } = await phone.outside('REFER', 'bob', targeted(phone));
  assert.is(await inside('SUBSCRIBE', ['Event: refer', 'Expires: 0']), 200);
  await phone.until(() => phone.notified.length === 2, 'two NOTIFYs');
  assert.is(phone.notified[1]?.state, 'terminated;reason=timeout');
  const latest = () => channel.reports.flatMap((report) => asked(report) ?? []).at(-1)!;
  channel.leg.tellTransfer(latest().id, 486);
  assert.is((await phone.outside('REFER', 'bob', targeted(phone))).status, 202);
  channel.leg.hangup(16);
  channel.leg.release();
  await phone.until(() => phone.notified.length === 4, 'four NOTIFYs');
  assert.equal(phone.notified.at(-1), {
    ...{ event: 'refer', state: 'terminated;reason=noresource', fragment: 'SIP/2.0 487 Request Terminated' },
  });
  assert.is(driver.driver.counts().referrals, 0);
});

transfers('who asks outside a call is told in its dialog by the process that goes on', async () => {
  const { driver, phone, channel } = await proved();
  const { inside } = await phone.outside('REFER', 'bob', targeted(phone));
  const transfer = asked(await channel.heard('leg.transferAsked'))!;
  await phone.until(() => phone.notified.length === 1, 'the first NOTIFY');
  drivers.splice(0);
  const next = await createPhone({ hint, config: { endpoints: [bobs, carols] }, from: await driver.handOver() });
  drivers.push(next);
  assert.is(next.driver.counts().referrals, 1);
  assert.is(await inside('SUBSCRIBE', ['Event: refer', 'Expires: 30']), 200);
  const { leg } = next.channels[0]!;
  leg.tellTransfer(transfer.id, 180);
  leg.tellTransfer(transfer.id, 200);
  await phone.until(() => phone.notified.length === 4, 'four NOTIFYs');
  assert.equal(phone.notified, [
    { event: 'refer', state: 'active;expires=60', fragment: 'SIP/2.0 100 Trying' },
    { event: 'refer', state: 'active;expires=60', fragment: 'SIP/2.0 100 Trying' },
    { event: 'refer', state: 'active;expires=60', fragment: 'SIP/2.0 180 Ringing' },
    { event: 'refer', state: 'terminated;reason=noresource', fragment: 'SIP/2.0 200 OK' },
  ]);
  assert.is(next.driver.counts().referrals, 0);
});

transfers('what is asked outside a call whose endpoint is no more is carried out untold', async () => {
  const { driver, phone, channel } = await proved();
  await phone.outside('REFER', 'bob', targeted(phone));
  const transfer = asked(await channel.heard('leg.transferAsked'))!;
  await phone.until(() => phone.notified.length === 1, 'the first NOTIFY');
  drivers.splice(0);
  const handedOver = await driver.handOver();
  const [refer] = handedOver.driver.outsideRefers!;
  const gone = { ...handedOver.driver, outsideRefers: [{ ...refer!, endpoint: 'nobody' }] };
  const next = await createPhone({ config: { endpoints: [bobs, carols] }, from: { ...handedOver, driver: gone } });
  drivers.push(next);
  const { leg } = next.channels[0]!;
  leg.tellTransfer(transfer.id, 200);
  assert.equal([next.driver.counts().referrals, phone.notified.length], [0, 1]);
  const { core } = JSON.parse(JSON.stringify(leg.dump()));
  assert.equal(core.transfers ?? [], []);
});

transfers('from elsewhere the name of a call proves nothing, and of somebody else it is refused', async () => {
  const { phone, channel, open } = await proved();
  const ask = async (number: string, password: string | undefined, lines: readonly string[]) =>
    (await (await open(number, password)).outside('REFER', 'bob', lines)).status;
  assert.is(await ask('bob', undefined, targeted(phone)), 401);
  assert.is(await ask('carol', 'wonderland', targeted(phone)), 403);
  assert.not.ok(channel.told.includes('leg.transferAsked'));
  assert.is(await ask('bob', 'wonderland', targeted(phone)), 202);
  await channel.heard('leg.transferAsked');
});

transfers('a REFER outside calls that names none, or one that is not there, is refused to who is known', async () => {
  const { phone } = await proved();
  const refer = async (...lines: string[]) =>
    (await phone.outside('REFER', 'bob', ['Refer-To: <sip:300@pbx.example>', ...lines])).status;
  const away = 'Target-Dialog: nobody;local-tag=1;remote-tag=2';
  assert.equal([await refer(), await refer(away)], [401, 401]);
  phone.password = 'wonderland';
  assert.equal([await refer(), await refer(away)], [403, 481]);
  for (const value of [
    'nobody',
    'nobody;local-tag=1',
    'a;local-tag=1;remote-tag=',
    'a;local-tag=1;local-tag=2;remote-tag=3',
  ])
    assert.is(await refer(`Target-Dialog: ${value}`), 400, value);
  assert.is(await refer(away, away), 400, 'two of them');
  // What an endpoint may not do inside its call it may not do outside.
  assert.is((await phone.outside('REFER', 'bob', ['Refer-To: <mailto:a@b>', targeted(phone)[1]!])).status, 603);
});

transfers('a SUBSCRIBE that names the call of a phone is taken for the phone; from elsewhere it is not', async () => {
  const { phone, open } = await proved();
  const lamp = ['Event: dialog', 'Expires: 60'];
  const named = [...lamp, `Target-Dialog: ${phone.targetDialog()}`];
  assert.is((await phone.outside('SUBSCRIBE', '201', lamp)).status, 401);
  assert.is((await phone.outside('SUBSCRIBE', '201', named)).status, 200);
  assert.is((await phone.outside('SUBSCRIBE', '201', [...lamp, 'Target-Dialog: a'])).status, 400);
  assert.is((await (await open('bob')).outside('SUBSCRIBE', '201', named)).status, 401);
});

transfers(
  'a new call is asked for its password, whatever it names; both sides say that they know Target-Dialog',
  async () => {
    const { driver, phone, open } = await proved();
    const other = await open('bob');
    const heard = (lines: string[]) =>
      other.call('300', lines).then(
        () => 'answered',
        () => /SIP\/2\.0 ([4-6]\d\d)/.exec(other.explain().split('> INVITE').at(-1) ?? '')?.[1],
      );
    assert.is(await heard([`Target-Dialog: ${phone.targetDialog()}`]), '401');
    other.password = 'wonderland';
    assert.is(await heard(['Target-Dialog: a']), '400');
    const supported = (text: string) => /^Supported: .*\btdialog\b/m.test(text);
    const called = await Phone.open('carol', driver.uri.replace(/^sip:/, ''));
    phones.push(called);
    called.refuses = '486 Busy Here';
    driver.open(`carol/sip:carol@127.0.0.1:${called.port}`).leg.dial();
    await called.until(() => called.invites.length > 0, 'an INVITE');
    assert.ok(supported(`Supported: ${called.invites[0]?.all('Supported').join(', ')}`));
  },
);

transfers.run();
