import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../support/conformance-client.ts';
import { anyDeed, likewise } from '../support/deeds.ts';
import {
  bridgeReader,
  channelReader,
  contradictions,
  dialReader,
  playbackReader,
  recordingReader,
} from '../support/event-readers.ts';
import { createStory, serverAddress } from './snapshot-story.ts';

/**
 * A whole server with two phones and an application that goes and comes and does whatever it likes, in whatever order: nothing
 * fails inside, no answer is a 5xx, what is told has no contradiction, and when all have hung up nothing is held any more.
 */

const templates = [
  'POST /channels?endpoint=PJSIP/bob&app=app&channelId={new}',
  'POST /channels?endpoint=Local/{extension}@default&app=app&channelId={new}&otherChannelId={new}x',
  'POST /channels?endpoint=PJSIP/bob&context=default&extension={extension}&priority=1',
  'POST /channels/create?endpoint=PJSIP/bob&app=app&channelId={new}',
  'POST /channels/create?endpoint=Local/{extension}@default&app=app&channelId={new}',
  'POST /channels/{c}/dial?timeout=2&caller={d}',
  'POST /channels/{c}/answer',
  'DELETE /channels/{c}',
  'DELETE /channels/{c}?reason=busy',
  'POST /channels/{c}/continue?context=default&extension={extension}&priority=1',
  'POST /channels/{c}/move?app=app',
  'POST /channels/{c}/redirect?endpoint=PJSIP/bob',
  'POST /channels/{c}/ring',
  'DELETE /channels/{c}/ring',
  'POST /channels/{c}/progress',
  'POST /channels/{c}/silence',
  'DELETE /channels/{c}/silence',
  'POST /channels/{c}/hold',
  'DELETE /channels/{c}/hold',
  'POST /channels/{c}/mute?direction=in',
  'DELETE /channels/{c}/mute?direction=both',
  'POST /channels/{c}/moh',
  'DELETE /channels/{c}/moh',
  'POST /channels/{c}/dtmf?dtmf=1w2&duration=40',
  'POST /channels/{c}/variable?variable=TALK_DETECT(set)&value=300,128',
  'POST /channels/{c}/variable?variable=X&value=1&report_events=true',
  'POST /channels/{c}/play/{new}p?media=tone:ring,sound:nothing',
  'POST /channels/{c}/play/{new}p?media=tone:%21440/700',
  'POST /channels/{c}/snoop/{new}?spy=both&whisper=out&app=app',
  'POST /channels/{c}/transfer_progress?states=channel_answered',
  'POST /bridges?type=mixing&bridgeId={b}',
  'POST /bridges?type=holding&bridgeId={b}',
  'DELETE /bridges/{b}',
  'POST /bridges/{b}/addChannel?channel={c}',
  'POST /bridges/{b}/addChannel?channel={c},{d}',
  'POST /bridges/{b}/addChannel?channel={c}&role=announcer',
  'POST /bridges/{b}/removeChannel?channel={c}',
  'POST /bridges/{b}/play/{new}p?media=tone:ring',
  'POST /bridges/{b}/moh',
  'DELETE /bridges/{b}/moh',
  'POST /events/user/X?application=app&source=channel:{c}',
  'POST /applications/app/subscription?eventSource=channel:{c},bridge:{b}',
  'DELETE /applications/app/subscription?eventSource=channel:{c}',
] as const;

const deed = anyDeed({
  request: [12, { line: fc.constantFrom(...templates), c: fc.nat(4), d: fc.nat(4), b: fc.nat(1) }],
  ...likewise(['call', 'hangup', 'hold', 'refer', 'digits'], { phone: fc.constantFrom('alice', 'bob'), c: fc.nat(3) }),
  ...likewise(['leaves', 'comes back'], {}),
  wait: [4, { steps: fc.constantFrom(0, 1, 2, 5, 30, 300) }],
});
const extension = fc.constantFrom('app', 'echo', 'dial', 'room', 'wait', 'nobody', 'forward');

test('whatever is asked of a server, nothing fails in it, and nothing is held when all have hung up', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(deed, extension), { minLength: 4, maxLength: 30 }), async (deeds) => {
      const story = await createStory(3);
      const { clock, ask, phones } = story;
      const heard = story.observe();
      let made = 0;
      await clock.run(100);
      for (const [each, to] of deeds) {
        if (each.kind === 'wait') await clock.run(10 * each.steps);
        else if (each.kind === 'leaves' || each.kind === 'comes back') {
          story.leave();
          if (each.kind === 'comes back') story.comeBack();
        } else if (each.kind !== 'request') {
          const phone = phones[each.phone as 'alice'];
          const leg = phone.calls[each.c % Math.max(1, phone.calls.length)]?.leg;
          if (each.kind === 'call') phone.dial(`sip:${to}@${serverAddress}:5060`);
          else if (each.kind === 'hangup') leg?.hangup(16);
          else if (each.kind === 'hold') leg?.hold();
          else if (each.kind === 'refer') leg?.redirect(`sip:${to}@${serverAddress}`);
          else leg?.sendDigits({ digits: '12', beforeMs: 0, betweenMs: 20, durationMs: 60, afterMs: 0 });
        } else {
          const ids = ((await ask('GET', '/channels')) as { id: string }[]).map(({ id }) => id);
          const names = {
            new: `n${made++}`,
            b: `b${each.b}`,
            extension: to,
            c: ids[each.c % Math.max(1, ids.length)] ?? 'none',
            d: ids[each.d % Math.max(1, ids.length)] ?? 'none',
          };
          const line = each.line.replaceAll(/\{(\w+)\}/g, (_whole, name: keyof typeof names) => names[name]);
          const [method = '', path = ''] = line.split(' ');
          await ask(method, path);
        }
      }
      for (let round = 0; round < 3; round++) {
        for (const { id } of (await ask('GET', '/channels')) as { id: string }[])
          await ask('DELETE', `/channels/${id}`);
        for (const { id } of (await ask('GET', '/bridges')) as { id: string }[]) await ask('DELETE', `/bridges/${id}`);
        await clock.run(3_000);
      }
      await clock.run(40_000);
      const { errors, replies, end } = await story.close();
      const readers = [channelReader(), bridgeReader(), playbackReader(), recordingReader(), dialReader()];
      const wrong = contradictions(heard as Message[], readers);
      const { contacts: _contacts, sip, ...held } = end as Record<string, unknown> & { sip: Record<string, number> };
      assert.equal(
        {
          errors,
          wrong,
          failed: replies.filter((reply) => / 5\d\d$/.test(reply)),
          held,
          dialogs: sip['dialogs'],
          legs: sip['legs'],
        },
        {
          ...{ errors: [], wrong: [], failed: [], dialogs: 0, legs: 0 },
          held: {
            ...{
              channels: 0,
              playbacks: 0,
              bridges: 0,
              recordings: 0,
              snoops: 0,
              channelAudio: 0,
              registrations: 0,
              outboundConnections: 0,
              externalConnections: 0,
            },
            media: {
              sessions: 0,
              ports: 0,
              players: 0,
              timers: 0,
              externalWaitingMs: 0,
              externalDroppedMs: 0,
              externalUnsentFrames: 0,
            },
          },
        },
      );
    }),
    { numRuns: 6 },
  );
});

test('a server that stops while a bridge stands does not log that it was lost', async () => {
  const story = await createStory(4);
  const { clock, ask } = story;
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=c');
  await ask('POST', '/bridges?type=mixing&bridgeId=b');
  await clock.run(500);
  await ask('POST', '/bridges/b/addChannel?channel=c');
  await ask('DELETE', '/channels/c');
  await clock.run(1_000);
  const { errors, replies } = await story.close();
  await clock.run(0);
  assert.equal([replies.map((reply) => reply.slice(-3)), errors], [['200', '200', '204', '204'], []]);
});

test.run();
