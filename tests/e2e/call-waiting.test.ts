import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startBaresip, tell } from '../support/baresip.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { onServer } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

/** A phone that has two calls: it takes the second, swaps them, and ends one. */
const waiting = suite('call waiting of baresip');

need('baresip').test(
  waiting,
  'the call that it does not talk in is held, through swaps and a hangup',
  async (program) => {
    const endpoints = {
      anonymous: { match: ['127.0.0.1'] },
      alice: { auth: { username: 'alice', password: 'wonderland' }, aor: {} },
    };
    const dialplan = { default: { '100': ['Dial(PJSIP/alice)'] } };
    await onServer({ endpoints, dialplan }, async (server) => {
      const app = await server.app('desk', { subscribeAll: true });
      const control = await freePort();
      await startBaresip(program, server, 'alice', {
        answers: 'manual',
        more: () => ['module_app ctrl_tcp.so', `ctrl_tcp_listen 127.0.0.1:${control}`],
      });
      await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'alice');
      const legs: string[] = [];
      const phones: Phone[] = [];
      for (const number of ['4711', '4712']) {
        const phone = server.closing(await Phone.open(number, server.sip()));
        phones.push(phone);
        const called = phone.call('100');
        const ringing = await app.waitFor(
          'Dial',
          ({ dialstatus, peer }) => dialstatus === 'RINGING' && !legs.includes(peer.id),
        );
        legs.push(ringing.peer.id);
        await tell(control, 'accept');
        await called;
      }
      const [one, two] = legs;
      const changes = (): string[] =>
        app.events.flatMap((event) =>
          event.type === 'ChannelHold' || event.type === 'ChannelUnhold'
            ? [`${event.type} ${legs.indexOf(event.channel.id) + 1}`]
            : [],
        );
      const expected: string[] = [];
      /** The next hold, or end of one, and nothing else before it. */
      const after = async (next: string): Promise<void> => {
        expected.push(next);
        await untilAsked(
          () => changes().length >= expected.length,
          () => `${next} did not come`,
        );
        assert.equal(changes(), expected);
      };
      await after('ChannelHold 1');
      await tell(control, 'hold');
      await after('ChannelHold 2');
      await tell(control, 'line', '1');
      await tell(control, 'resume');
      await after('ChannelUnhold 1');
      await tell(control, 'hangup');
      await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === one);
      await after('ChannelUnhold 2');
      await phones[0]!.over();
      phones[1]!.hangup();
      await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === two);
    });
  },
);

waiting.run();
