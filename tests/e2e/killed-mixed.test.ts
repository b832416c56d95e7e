import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Alarm } from '../../src/models/alarm.ts';
import type { ServerInfo } from '../../src/models/server-info.ts';
import type { AriClient } from '../support/ari-client.ts';
import { CertificateFiles } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { Caller, ownCertificates } from '../support/hostile.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { tonesIn } from '../support/rtp-audio.ts';
import { startTestServer } from '../support/server.ts';
import { type SupervisedServer, startSupervised } from '../support/supervised-server.ts';
import { untilAsked } from '../support/waiting.ts';

/**
 * Calls in all states, with audio, whose server is killed once: each goes on, is heard, and ends by its BYE. A group has 16
 * channels, three of them over connections; HOOKSWITCH_TEST_GROUPS=13 makes 208. What phones did not hear is printed then. With HOOKSWITCH_TEST_UPGRADE the server
 * is upgraded instead.
 */
const mixed = suite('calls in all states behind kill -9');
const supportFile = (name: string): string => fileURLToPath(new URL(`../support/${name}`, import.meta.url));
const certificates = new CertificateFiles();
mixed.after(() => certificates.close());
const isUpgraded = process.env['HOOKSWITCH_TEST_UPGRADE'] !== undefined;
const groups = Number(process.env['HOOKSWITCH_TEST_GROUPS'] ?? 2);

type Channel = { id: string; state: string; caller: { number: string } };

const dialplan = {
  default: {
    echo: ['Answer', 'Echo'],
    desk: ['Stasis(desk)'],
    '600': ['Answer', 'Echo'],
    _roomX: ['Answer', 'ConfBridge(${EXTEN})'],
    '_roomX.': ['Answer', 'ConfBridge(${EXTEN})'],
    '_bX.': ['Dial(PJSIP/${EXTEN},120)'],
  },
};

/** The calls that a phone was called with: an INVITE may come again. */
const callIds = ({ invites }: Phone): Set<string> => new Set(invites.flatMap((invite) => invite.all('Call-ID')));

/** What a phone hears, packet by packet: the longest time without one, in ms. */
class Ear {
  longestMs = 0;
  #count = 0;
  #at = performance.now();
  readonly #phone: Phone;

  constructor(phone: Phone) {
    this.#phone = phone;
  }

  get packets(): number {
    return this.#phone.audio.packets.length;
  }

  /** Waits until it has received so many packets. */
  until(count: number): Promise<void> {
    return this.#phone.audio.until(() => this.packets >= count, `packet ${count} to ${this.#phone.number}`);
  }

  look(): void {
    const { length } = this.#phone.audio.packets;
    if (length === this.#count) return;
    const now = performance.now();
    this.longestMs = Math.max(this.longestMs, now - this.#at);
    this.#at = now;
    this.#count = length;
  }
}

mixed(`${groups * 16} channels go on, and applications miss nothing`, async () => {
  const all = Array.from({ length: groups }, (_, at) => at);
  const names = all.flatMap((at) => ['b1', 'b2', 'b3', 'b4', 'b5'].map((kind) => `${kind}${at}`));
  const ports = new Map<string, number>();
  for (const name of names) ports.set(name, await freePort());
  const endpoints = {
    anonymous: { match: ['127.0.0.1'], media_encryption: 'optional' },
    ...Object.fromEntries(
      [...ports].map(([name, port]) => [name, { aor: { contacts: [`sip:${name}@127.0.0.1:${port}`] } }]),
    ),
  };
  const media = { warm_up: isUpgraded };
  const tls = ownCertificates(certificates);
  const more = { media, supervisor: { steady: 0.1 } };
  const server = await startSupervised({ dialplan, endpoints, ws: true, tls, more });
  const secureAt = { sip: () => `127.0.0.1:${server.tlsPort}` };
  const secure: Caller[] = [];
  /** The octets in each recording. */
  const recorded = (): Record<string, number> => {
    const directory = join(server.directory, 'recordings');
    const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    const sizes = files.map((file) => [file, statSync(join(directory, file))] as const);
    return Object.fromEntries(sizes.flatMap(([file, at]) => (at.isFile() ? [[file, at.size]] : [])));
  };
  const opened: Phone[] = [];
  const open = async (number: string, port = 0): Promise<Phone> => {
    const phone = await Phone.open(number, server.sip, port);
    opened.push(phone);
    return phone;
  };
  const kinds = ['echoing', 'meeting', 'dialed', 'ringing', 'callees', 'desk', 'holding', 'held', 'asking', 'talking'];
  const phones = Object.fromEntries([...kinds, 'targets'].map((kind): [string, Phone[]] => [kind, []]));
  const first = await server.client().connect('desk', { resume: 'new' });
  const later = server.client();
  let hearing: NodeJS.Timeout | undefined;
  try {
    const { epoch } = await first.message('ResumePoint');
    for (const at of all) {
      phones['echoing']!.push(await open(`1${at}`));
      for (const [protocol, to] of [
        ['TCP', server.sipPort],
        ['WS', server.wsPort],
      ] as const) {
        const phone = await Phone.openOver(protocol, `1${protocol}${at}`, `127.0.0.1:${to}`);
        opened.push(phone);
        phones['echoing']!.push(phone);
      }
      phones['meeting']!.push(await open(`2${at}`));
      phones['dialed']!.push(await open(`3${at}`));
      phones['ringing']!.push(await open(`4${at}`));
      phones['desk']!.push(await open(`51${at}`), await open(`52${at}`));
      const callees = [await open(`b1${at}`, ports.get(`b1${at}`)), await open(`b2${at}`, ports.get(`b2${at}`))];
      callees[1]!.answers = false;
      phones['callees']!.push(...callees);
      phones['holding']!.push(await open(`6${at}`));
      phones['held']!.push(await open(`b3${at}`, ports.get(`b3${at}`)));
      phones['asking']!.push(await open(`7${at}`));
      phones['talking']!.push(await open(`b4${at}`, ports.get(`b4${at}`)));
      phones['targets']!.push(await open(`b5${at}`, ports.get(`b5${at}`)));
    }
    const { echoing, meeting, dialed, ringing, callees, desk, holding, held, asking, talking: asked, targets } = phones;
    await Promise.all(echoing!.map((phone) => phone.call('echo')));
    // Two are in a room.
    await Promise.all(meeting!.map((phone, at) => phone.call(`room${at >> 1}`)));
    for (const at of all) secure.push(await Caller.call(secureAt, undefined, `secure-${at}`));
    await Promise.all(dialed!.map((phone, at) => phone.call(`b1${at}`)));
    const calling = ringing!.map((phone, at) => phone.call(`b2${at}`));
    await Promise.all(
      callees!.filter((_, at) => at % 2 === 1).map((phone) => phone.until(() => phone.rings, 'the call')),
    );
    // In each group one hears a tone; one is in a bridge that hears one and is recorded.
    for (const [at, phone] of desk!.entries()) {
      const called = phone.call('desk');
      const { channel } = await first.waitFor('StasisStart', (event) => event.channel.caller.number === phone.number);
      await first.ok('POST', `/channels/${channel.id}/answer`);
      await called;
      if (at % 2 === 0) {
        await first.ok('POST', `/channels/${channel.id}/play?media=tone:440/600000`);
      } else {
        const { id } = await first.ok<{ id: string }>('POST', '/bridges?type=mixing');
        await first.ok('POST', `/bridges/${id}/addChannel?channel=${channel.id}`);
        await first.ok('POST', `/bridges/${id}/play?media=tone:440/600000`);
        await first.ok('POST', `/bridges/${id}/record?name=r${at}&format=ulaw`);
      }
    }
    // One holds the other, who hears music; one transfers the other to somebody whose phone rings.
    for (const [at, phone] of holding!.entries()) {
      await phone.call(`b3${at}`);
      phone.direction = 'sendonly';
      assert.is(await phone.offerAnew(), 200);
    }
    for (const [at, phone] of asking!.entries()) {
      targets![at]!.answers = false;
      await phone.call(`b4${at}`);
      assert.is(await phone.refer(`<sip:b5${at}@${server.sip}>`), 202);
      await targets![at]!.until(() => targets![at]!.rings, 'the call');
    }
    const talking = [...echoing!, ...meeting!, ...dialed!, ...callees!.filter(({ inCall }) => inCall), ...desk!];
    for (const { audio } of held!) audio.hum(700);
    for (const { audio } of [...holding!, ...asked!]) audio.hum(400);
    for (const { audio } of talking) audio.hum(400);
    const untilHeard = (): Promise<unknown> =>
      Promise.all([
        ...[...echoing!, ...dialed!].map(({ audio }) => audio.hears([400], [400, 700])),
        // Alone in its room is the last one of an odd number.
        ...meeting!.slice(0, groups - (groups % 2)).map(({ audio }) => audio.hears([400], [400, 700])),
        ...secure.map((caller) => caller.hearsItself()),
        ...desk!.map(({ audio }) => audio.hears([440], [440, 700])),
      ]);
    await untilHeard();
    const channelsOf = () => later.ok<Channel[]>('GET', '/channels');
    const before = (await channelsOf()).map(({ id, state }) => `${id} ${state}`).sort();
    const seen = first.events.at(-1) as unknown as { seq: number };
    const ears = [...talking, ...held!].map((phone) => new Ear(phone));
    hearing = setInterval(() => {
      for (const ear of ears) ear.look();
    }, 5);
    for (const ear of ears) ear.look();
    for (const ear of ears) ear.longestMs = 0;
    const recordedBefore = recorded();
    await (isUpgraded ? server.replace() : server.kill());
    const counts = ears.map(({ packets }) => packets);
    assert.equal((await channelsOf()).map(({ id, state }) => `${id} ${state}`).sort(), before);
    // More than `hears` looks at: audio of the next server alone.
    await Promise.all(ears.map((ear, at) => ear.until(counts[at]! + 50)));
    for (const caller of secure) await caller.reconnect(secureAt);
    await untilHeard();
    if (process.env['HOOKSWITCH_TEST_GROUPS']) {
      const gaps = ears.map(({ longestMs }) => Math.round(longestMs)).sort((a, b) => a - b);
      process.stdout.write(`without audio: median ${gaps[gaps.length >> 1]} ms, longest ${gaps.at(-1)} ms\n`);
    }
    for (const { audio } of talking) assert.ok(new Set(audio.packets.map(({ ssrc }) => ssrc)).size <= 1);
    await later.connect('desk', { resume: `${epoch}:${seen.seq}` });
    // What rings is answered now, and nobody was called twice.
    for (const [at, callee] of callees!.entries()) {
      if (at % 2 === 1) callee.take();
      assert.is(callIds(callee).size, 1);
    }
    await Promise.all(calling);
    for (const target of targets!) {
      target.take();
      target.audio.hum(700);
    }
    for (const phone of holding!) {
      phone.direction = 'sendrecv';
      assert.is(await phone.offerAnew(), 200);
    }
    await Promise.all([
      ...[...held!, ...targets!].map(({ audio }) => audio.hears([400], [400, 700])),
      ...[...holding!, ...asked!].map(({ audio }) => audio.hears([700], [400, 700])),
      ...asking!.map((phone) => phone.over()),
    ]);
    for (const target of [...held!, ...asked!, ...targets!]) assert.is(callIds(target).size, 1);
    await untilAsked(
      async () => Object.entries(recorded()).every(([file, octets]) => octets > (recordedBefore[file] ?? 0)),
      () => 'not all recordings go on',
    );
    for (const at of all) await later.ok('POST', `/recordings/live/r${2 * at + 1}/stop`);
    for (const phone of [...echoing!, ...meeting!, ...dialed!, ...ringing!, ...desk!]) phone.hangup();
    for (const phone of [...holding!, ...asked!]) phone.hangup();
    await Promise.all(secure.map((caller) => caller.hangup(secureAt)));
    await Promise.all([...callees!, ...held!, ...targets!].map((phone) => phone.over()));
    for (const { id, state } of await channelsOf())
      if (state === 'Up') await later.request('DELETE', `/channels/${id}`);
    await untilAsked(
      async () => (await channelsOf()).length === 0,
      () => 'channels stay',
    );
    const ended = () =>
      [...first.events, ...later.events].flatMap((event) => (event.type === 'StasisEnd' ? [event.channel.id] : []));
    await untilAsked(
      async () => ended().length >= 2 * groups,
      () => 'not all channels of the application end',
    );
    assert.is(ended().length, 2 * groups, 'each channel of the application ends once');
    assert.is(new Set(ended()).size, 2 * groups);
    // The first message is the ResumePoint.
    const numbers = later.events.slice(1).map((event) => (event as unknown as { seq: number }).seq);
    assert.equal(
      numbers,
      numbers.map((_, at) => seen.seq + 1 + at),
      'no event is lost or doubled',
    );
    assert.equal(Object.keys(recorded()).length, groups);
  } finally {
    clearInterval(hearing);
    for (const caller of secure) caller.close();
    await Promise.all([first.close(), later.close(), ...opened.map((phone) => phone.close())]);
    await server.close();
  }
});

mixed('calls on hold and transfers under way go on', async () => {
  const names = ['held', 'talks', 'target', 'wants'];
  const ports = await Promise.all(names.map(() => freePort()));
  const contacts = names.map((name, at) => [name, { aor: { contacts: [`sip:${name}@127.0.0.1:${ports[at]}`] } }]);
  const endpoints = { anonymous: { match: ['127.0.0.1'] }, ...Object.fromEntries(contacts) };
  const all = { default: { '_[a-z].': ['Dial(PJSIP/${EXTEN},120)'], desk: ['Stasis(desk)'] } };
  const server = await startSupervised({ dialplan: all, endpoints, more: { supervisor: { steady: 0.1 } } });
  const [held, talks, target, wants] = await Promise.all(
    names.map((name, at) => Phone.open(name, server.sip, ports[at])),
  );
  const [holder, asker, kept] = await Promise.all(['1', '2', '3'].map((number) => Phone.open(number, server.sip)));
  const phones = [held, talks, target, wants, holder, asker, kept] as Phone[];
  const client = await server.client().connect('desk');
  try {
    // One holds the other, who hears music.
    await holder!.call('held');
    holder!.audio.hum(400);
    held!.audio.hum(700);
    await Promise.all([held!.audio.hears([400], [400, 700]), holder!.audio.hears([700], [400, 700])]);
    holder!.direction = 'sendonly';
    assert.is(await holder!.offerAnew(), 200);
    // An application holds one.
    const calling = kept!.call('desk');
    const { channel } = await client.waitFor('StasisStart');
    await client.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    await client.ok('POST', `/channels/${channel.id}/hold`);
    // One transfers the other, who hears how the target rings.
    target!.answers = false;
    await asker!.call('talks');
    talks!.audio.hum(400);
    assert.is(await asker!.refer(`<sip:target@${server.sip}>`), 202);
    await target!.until(() => target!.rings, 'the call');
    await server.kill();
    // The transfer is completed.
    target!.take();
    target!.audio.hum(700);
    await Promise.all([talks!.audio.hears([700], [400, 700]), target!.audio.hears([400], [400, 700])]);
    assert.is(callIds(target!).size, 1);
    await asker!.until(() => asker!.notified.at(-1)?.fragment.includes('200') === true, 'the news of the transfer');
    await asker!.over();
    // Who was held hears music, then the other again.
    const music = held!.audio.packets.length;
    await held!.audio.until(() => held!.audio.packets.length > music + 25, 'music');
    const heard = Buffer.concat(held!.audio.packets.slice(music).map(({ payload }) => payload));
    assert.ok(heard.some((octet) => (octet & 0x7f) < 0x60));
    assert.equal(tonesIn(heard, [400]), []);
    holder!.direction = 'sendrecv';
    assert.is(await holder!.offerAnew(), 200);
    await Promise.all([held!.audio.hears([400], [400, 700]), holder!.audio.hears([700], [400, 700])]);
    const before = kept!.described.length;
    await server.client().ok('DELETE', `/channels/${channel.id}/hold`);
    await kept!.until(() => kept!.described.length > before, 'the end of hold');
    for (const phone of [holder, kept, talks]) phone!.hangup();
    await untilAsked(
      async () => (await server.client().ok<Channel[]>('GET', '/channels')).length === 0,
      () => 'channels stay',
    );
  } finally {
    await Promise.all([client.close(), ...phones.map((phone) => phone.close())]);
    await server.close();
  }
});

mixed('a Record of the dialplan goes on in its unfinished file, and ends by its key', async () => {
  const server = await startSupervised({
    dialplan: { default: { voicemail: ['Answer', 'Record(mail.ulaw,0,0,q)', 'Stasis(desk,${RECORD_STATUS})'] } },
    more: { supervisor: { steady: 0.1 } },
  });
  const phone = await Phone.open('1', server.sip);
  const client = server.client();
  const directory = join(server.directory, 'recordings');
  const unfinished = () => statSync(join(directory, 'mail.ulaw.part'), { throwIfNoEntry: false });
  const grows = async (): Promise<void> => {
    const from = unfinished()?.size ?? 0;
    await untilAsked(
      async () => (unfinished()?.size ?? 0) > from + 8_000,
      () => `it does not grow: ${JSON.stringify(readdirSync(directory))} ${server.logged()}`,
    );
  };
  try {
    await phone.call('voicemail');
    phone.audio.hum(400);
    await grows();
    const { ino } = unfinished()!;
    for (const interrupt of [() => server.replace(), () => server.kill()]) {
      await interrupt();
      await grows();
      assert.equal(readdirSync(directory), ['mail.ulaw.part']);
      assert.is(unfinished()?.ino, ino);
    }
    const { size } = unfinished()!;
    await client.connect('desk');
    assert.is(await phone.inform('#'), 200);
    const { args } = await client.waitFor('StasisStart');
    assert.equal(args, ['DTMF']);
    assert.equal(readdirSync(directory), ['mail.ulaw']);
    const recorded = readFileSync(join(directory, 'mail.ulaw'));
    assert.ok(recorded.length >= size);
    // The beginning is still there.
    assert.equal(tonesIn(recorded.subarray(4_000, 8_000), [400, 700]), [400]);
    phone.hangup();
  } finally {
    await Promise.all([client.close(), phone.close()]);
    await server.close();
  }
});

mixed('away policies apply as long after the application went as they say, whatever is killed meanwhile', async () => {
  const hour = 3_600;
  const away_policies = {
    ...{ waits: { after: hour }, ends: { after: hour, action: 'hangup' }, goes: { after: hour, action: 'continue' } },
    moves: { after: hour, action: 'move', move_to: 'desk' },
    plays: { after: hour, action: 'hangup', music_class: 'default', music_for: hour },
  };
  const names = Object.keys(away_policies);
  const ways = names.map((name) => [name, ['Answer', `Stasis(${name})`, `Stasis(desk,behind ${name})`]]);
  const scratch = mkdtempSync(join(tmpdir(), 'hookswitch-clock-'));
  const shift = join(scratch, 'shift');
  const server = await startSupervised({
    dialplan: { default: Object.fromEntries(ways) },
    more: { away_policies, general: { return_timeout: 0.1 }, supervisor: { steady: 0.1, standby: false } },
    node: ['--import', supportFile('shifted-clock.mjs')],
    env: { CLOCK_SHIFT: shift },
  });
  const phones = await Promise.all(names.map((name) => Phone.open(name, server.sip)));
  const [waits, ends, goes, moves, plays] = phones as [Phone, Phone, Phone, Phone, Phone];
  const clients: AriClient[] = [];
  /** The application that calls move to. It gets what happens before it is connected, too. */
  const atDesk = async (resume: string): Promise<AriClient> => {
    const client = await server.client().connect('desk', { resume });
    clients.push(client);
    return client;
  };
  const idsOf = async () => (await server.client().ok<Channel[]>('GET', '/channels')).map(({ id }) => id).sort();
  /** When each policy is to be applied, as it was ever written. */
  const due = (): string[] => {
    const text = readFileSync(join(server.data, 'state.log'), 'latin1');
    const all = text.matchAll(/"application":"(\w+)","state":"away","dueAt":([\d.]+)/g);
    return [...new Set([...all].map(([, name, at]) => `${name} ${at}`))].sort();
  };
  try {
    const ids: string[] = [];
    for (const [at, name] of names.entries()) {
      const client = await server.client().connect(name);
      const calling = phones[at]!.call(name);
      ids.push((await client.waitFor('StasisStart')).channel.id);
      await calling;
      await client.close();
    }
    await untilAsked(
      async () => due().length === 4,
      () => `not all are away: ${due()}`,
    );
    const before = due();
    // Within that time.
    await server.kill();
    const { epoch } = await (await atDesk('new')).message('ResumePoint');
    assert.equal(await idsOf(), [...ids].sort());
    assert.equal(due(), before);
    // Behind it.
    writeFileSync(shift, String(hour * 1_000));
    await server.kill();
    const desk = await atDesk(`${epoch}:0`);
    await ends.over();
    const started = async (at: number) =>
      (await desk.waitFor('StasisStart', ({ channel }) => channel.id === ids[at])).args;
    assert.equal(await started(names.indexOf('goes')), ['behind goes']);
    assert.equal(await started(names.indexOf('moves')), []);
    const count = plays.audio.packets.length;
    const isLoud = (octet: number): boolean => (octet & 0x7f) < 0x60;
    await plays.audio.until(
      () => plays.audio.packets.slice(count).some(({ payload }) => payload.some(isLoud)),
      'music',
    );
    assert.equal(
      [waits, goes, moves, plays].map(({ inCall }) => inCall),
      [true, true, true, true],
    );
    writeFileSync(shift, String(2 * hour * 1_000));
    await server.kill();
    await plays.over();
    assert.equal(
      [waits, goes, moves].map(({ inCall }) => inCall),
      [true, true, true],
    );
    for (const phone of [waits, goes, moves]) phone.hangup();
    await untilAsked(
      async () => (await idsOf()).length === 0,
      () => 'channels stay',
    );
  } finally {
    await Promise.all([...clients, ...phones].map((each) => each.close()));
    await server.close();
    rmSync(scratch, { recursive: true });
  }
});

mixed('a queue of playbacks goes on in its order, each once, over an upgrade and a kill', async () => {
  const server = await startSupervised({ dialplan, more: { supervisor: { steady: 0.1 } } });
  const phone = await Phone.open('51', server.sip);
  const clients: AriClient[] = [];
  const connect = async (resume: string): Promise<AriClient> => {
    const client = await server.client().connect('desk', { resume });
    clients.push(client);
    return client;
  };
  /** The next client, with all that the one before has not heard. */
  const goOn = (epoch: unknown): Promise<AriClient> => {
    const { seq } = clients.at(-1)!.events.at(-1) as unknown as { seq: number };
    return connect(`${epoch}:${seq}`);
  };
  try {
    const first = await connect('new');
    const { epoch } = await first.message('ResumePoint');
    const calling = phone.call('desk');
    const { channel } = await first.waitFor('StasisStart');
    await first.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    const tones = [440, 880, 440, 880];
    for (const [at, hertz] of tones.entries())
      await first.ok('POST', `/channels/${channel.id}/play?media=tone:%21${hertz}/1500&playbackId=p${at}`);
    await first.waitFor('PlaybackStarted');
    await server.replace();
    const second = await goOn(epoch);
    const point = await second.message('ResumePoint');
    await server.kill();
    const third = await goOn(point['epoch']);
    await third.waitFor('PlaybackFinished', ({ playback }) => playback.id === 'p3');
    const told = clients.flatMap(({ events }) =>
      events.flatMap((event) =>
        event.type === 'PlaybackStarted' || event.type === 'PlaybackFinished'
          ? [`${event.type} ${event.playback.id}`]
          : [],
      ),
    );
    assert.equal(
      told,
      tones.flatMap((_, at) => [`PlaybackStarted p${at}`, `PlaybackFinished p${at}`]),
    );
    phone.hangup();
    await third.waitFor('StasisEnd');
  } finally {
    await Promise.all([phone.close(), ...clients.map((client) => client.close())]);
    await server.close();
  }
});

mixed('digits that are being sent in a kill reach the peer once at most, and later ones follow', async () => {
  const server = await startSupervised({ dialplan, more: { supervisor: { steady: 0.1 } } });
  const phone = await Phone.open('51', server.sip);
  const client = await server.client().connect('desk');
  /** Each event of RFC 4733 has a timestamp. */
  const digits = (): number[] => {
    const events = phone.audio.packets.filter(({ payloadType }) => payloadType === 101);
    return [...new Map(events.map(({ timestamp, payload }) => [timestamp, payload[0]!])).values()];
  };
  try {
    const calling = phone.call('desk');
    const { channel } = await client.waitFor('StasisStart');
    await client.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    await client.ok('POST', `/channels/${channel.id}/dtmf?dtmf=1234567&duration=200&between=200`);
    await phone.audio.until(() => digits().includes(2), 'the second digit');
    await server.kill();
    await server.client().ok('POST', `/channels/${channel.id}/dtmf?dtmf=9`);
    await phone.audio.until(() => digits().includes(9), 'the digit of the next request');
    const all = digits();
    assert.equal(
      all,
      all.map((digit, at) => (digit === 9 ? 9 : at + 1)),
    );
    assert.is(all.at(-1), 9);
    phone.hangup();
  } finally {
    await Promise.all([phone.close(), client.close()]);
    await server.close();
  }
});

mixed('a line stays registered at its provider, whose calls go on and come', async () => {
  const auth = { username: '49301', password: 'secret' };
  const provider = await startTestServer({ endpoints: { 49301: { auth } } });
  const trunk = { outbound_auth: auth, registrations: [{ server: `sip:${provider.sip()}` }], context: 'line' };
  const server = await startSupervised({
    endpoints: { trunk },
    dialplan: { line: { 49301: ['Stasis(desk)'] } },
    more: { supervisor: { steady: 0.1 } },
  });
  const client = await server.client().connect('desk');
  const later = server.client();
  const bindings = async (): Promise<number> => (await provider.running.usage()).sip.bindings;
  try {
    await untilAsked(
      async () => (await bindings()) === 1,
      () => `it is not registered: ${server.logged()}`,
    );
    const exchange = await provider.app('exchange');
    const call = () => exchange.ok<Channel>('POST', '/channels?endpoint=PJSIP/49301&app=exchange');
    const answered = async (app: AriClient, id: string): Promise<string> => {
      const { channel } = await app.waitFor('StasisStart');
      const up = exchange.waitFor('StasisStart', (event) => event.channel.id === id);
      await app.ok('POST', `/channels/${channel.id}/answer`);
      await up;
      return channel.id;
    };
    const first = await call();
    const here = await answered(client, first.id);
    await server.kill();
    assert.is(await bindings(), 1);
    await later.connect('desk');
    assert.equal(
      (await later.ok<Channel[]>('GET', '/channels')).map(({ id, state }) => [id, state]),
      [[here, 'Up']],
    );
    const second = await call();
    const other = await answered(later, second.id);
    const ended = [here, other].map((id) => later.waitFor('StasisEnd', ({ channel }) => channel.id === id));
    for (const { id } of [first, second]) await exchange.ok('DELETE', `/channels/${id}`);
    await Promise.all(ended);
    assert.is(await bindings(), 1);
  } finally {
    await Promise.all([client.close(), later.close()]);
    await server.close();
    await provider.close();
  }
});

/** What is wrong with a disk: how it begins, and how it ends. */
type Disturbance = { begin(): void; end(): void };

/** The store cannot be written: no call ends, and a kill ends none once it can be. */
async function goesOnUnwritten(
  options: Parameters<typeof startSupervised>[0],
  disturbanceOf: (server: SupervisedServer) => Disturbance,
): Promise<void> {
  const callee = await freePort();
  const endpoints = {
    anonymous: { match: ['127.0.0.1'] },
    b10: { aor: { contacts: [`sip:b10@127.0.0.1:${callee}`] } },
  };
  const more = { general: { log_level: 'info' }, state_store: { retry: 0.2 }, supervisor: { steady: 0.1 } };
  const server = await startSupervised({ dialplan, endpoints, more, ...options });
  const disturbance = disturbanceOf(server);
  const numbers = ['11', '21', '31', '51', '12'];
  const [echoing, meeting, dialing, desk, late] = (await Promise.all(
    numbers.map((number) => Phone.open(number, server.sip)),
  )) as [Phone, Phone, Phone, Phone, Phone];
  const called = await Phone.open('b10', server.sip, callee);
  const phones = [echoing, meeting, dialing, desk, late, called];
  const first = await server.client().connect('desk');
  const channelsOf = () => server.client().ok<Channel[]>('GET', '/channels');
  const states = async () => (await channelsOf()).map(({ id, state }) => `${id} ${state}`).sort();
  const logged = (line: string) =>
    untilAsked(
      async () => server.logged().includes(line),
      () => `not logged: ${line}`,
    );
  try {
    await Promise.all([echoing.call('echo'), meeting.call('room0'), dialing.call('b10')]);
    const calling = desk.call('desk');
    const { channel } = await first.waitFor('StasisStart');
    await first.ok('POST', `/channels/${channel.id}/answer`);
    await calling;
    await first.ok('POST', `/channels/${channel.id}/play?media=tone:440/600000`);
    /** What the server, its alarms and its metrics say. */
    const told = async () => {
      const client = server.client();
      const { state_store } = await client.ok<ServerInfo>('GET', '/../hookswitch/server');
      const alarms = await client.ok<Alarm[]>('GET', '/../hookswitch/alarms');
      const metrics = await (await fetch(`http://127.0.0.1:${server.httpPort}/metrics`)).text();
      return [
        state_store?.reason === undefined,
        !alarms.some(({ kind }) => kind === 'state_store'),
        metrics.includes('hookswitch_state_store_written 1'),
      ];
    };
    const [all, none] = [Array(3).fill(true), Array(3).fill(false)];
    assert.equal(await told(), all);
    disturbance.begin();
    await first.ok('POST', `/channels/${channel.id}/variable?variable=FULL&value=1`);
    await logged('cannot write the state store');
    assert.equal(await told(), none);
    // Calls go on and begin.
    await late.call('echo');
    for (const { audio } of [echoing, dialing, called, late]) audio.hum(400);
    const untilHeard = (): Promise<unknown> =>
      Promise.all([
        ...[echoing, dialing, called, late].map(({ audio }) => audio.hears([400], [400, 700])),
        desk.audio.hears([440], [440, 700]),
      ]);
    await untilHeard();
    disturbance.end();
    await logged('the state store can be written again');
    assert.equal(await told(), all);
    const before = await states();
    assert.is(before.length, 6);
    await server.kill();
    assert.equal(await states(), before);
    const value = await server.client().ok<object>('GET', `/channels/${channel.id}/variable?variable=FULL`);
    assert.equal(value, { value: '1' });
    const counts = phones.map(({ audio }) => audio.packets.length);
    await Promise.all(
      [echoing, dialing, called, late, desk].map((phone) =>
        phone.audio.until(() => phone.audio.packets.length > counts[phones.indexOf(phone)]! + 50, 'audio'),
      ),
    );
    await untilHeard();
    for (const phone of [echoing, meeting, dialing, desk, late]) phone.hangup();
    await called.over();
    await untilAsked(
      async () => (await channelsOf()).length === 0,
      () => 'channels stay',
    );
  } finally {
    await Promise.all([first.close(), ...phones.map((phone) => phone.close())]);
    await server.close();
  }
}

need('unshare').test(mixed, 'a full disk costs no call, and a kill costs none once it has room again', () =>
  goesOnUnwritten({ disk: '4m' }, ({ data }) => ({
    begin: () => assert.throws(() => writeFileSync(join(data, 'filler'), Buffer.alloc(8_000_000)), /ENOSPC/),
    end: () => rmSync(join(data, 'filler')),
  })),
);

mixed(
  'a disk that takes a second for each write costs no call, and a kill costs none once it is fast again',
  async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'hookswitch-slow-'));
    const slow = join(scratch, 'slow');
    const node = ['--import', supportFile('slow-disk.mjs')];
    try {
      await goesOnUnwritten({ node, env: { SLOW_DISK: slow } }, () => ({
        begin: () => writeFileSync(slow, ''),
        end: () => rmSync(slow),
      }));
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  },
);

mixed('a call goes on where the state file was removed before, and the clock set back by an hour', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'hookswitch-clock-'));
  const shift = join(scratch, 'shift');
  const server = await startSupervised({
    dialplan,
    more: { general: { log_level: 'info' }, supervisor: { steady: 0.1, standby: false } },
    node: ['--import', supportFile('shifted-clock.mjs')],
    env: { CLOCK_SHIFT: shift },
  });
  const phone = await Phone.open('11', server.sip);
  const file = join(server.data, 'state.log');
  try {
    await phone.call('echo');
    phone.audio.hum(400);
    await phone.audio.hears([400], [400, 700]);
    rmSync(file);
    await untilAsked(
      async () => existsSync(file) && server.logged().includes('the state file was removed'),
      () => `it is not written again: ${server.logged()}`,
    );
    writeFileSync(shift, '-3600000');
    await server.kill();
    const before = phone.audio.packets.length;
    await phone.audio.until(() => phone.audio.packets.length > before + 50, 'audio of the next server');
    await phone.audio.hears([400], [400, 700]);
    assert.is(new Set(phone.audio.packets.map(({ ssrc }) => ssrc)).size, 1);
    phone.hangup();
    await server.emptied();
  } finally {
    await phone.close();
    await server.close();
    rmSync(scratch, { recursive: true, force: true });
  }
});

mixed.run();
