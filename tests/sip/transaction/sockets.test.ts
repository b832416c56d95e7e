import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import { createIds } from '../../../src/lib/ids.ts';
import type { SipResponse } from '../../../src/sip/message/message.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import { silentLog } from '../../support/log.ts';
import { addressOf, openParty, type Party } from '../transport/bench.ts';
import { outgoing } from './fake-transports.ts';

function layerOn(party: Party) {
  return createTransactionLayer({
    transports: party.transports,
    clock: systemClock,
    ids: createIds(systemClock),
    log: silentLog,
    timers: { t1: 500, t2: 4_000, t4: 5_000 },
  });
}

for (const protocol of ['udp', 'tcp'] as const) {
  test(`a call is set up, acknowledged and a second one refused over ${protocol}`, async () => {
    const parties = [await openParty(), await openParty()] as const;
    const [uac, uas] = [layerOn(parties[0]), layerOn(parties[1])];
    const target = addressOf(parties[1], protocol);
    uas.onRequest((transaction) => {
      transaction.reply(180);
      transaction.reply(transaction.request.callId === 'good' ? 200 : 486);
    });
    const acknowledged = new Promise<string>((resolve) => uas.onAck((ack) => resolve(ack.callId)));
    const heard: string[] = [];
    const call = (callId: string) =>
      new Promise<SipResponse>((resolve, reject) => {
        uac.request(outgoing('INVITE').set('Call-ID', callId).remove('Route'), target, {
          onProvisional: ({ status }) => heard.push(`${callId} ${status}`),
          onFinal: resolve,
          onTimeout: () => reject(new Error('timeout')),
          onTransportError: ({ reason }) => reject(new Error(reason)),
        });
      });
    assert.is((await call('good')).status, 200);
    uac.sendAck(outgoing('ACK').set('Call-ID', 'good'), target);
    assert.is(await acknowledged, 'good');
    assert.is((await call('bad')).status, 486);
    assert.equal(heard, ['good 180', 'bad 180']);
    uac.close();
    uas.close();
    await Promise.all(parties.map(({ transports }) => transports.close()));
  });

  test(`a malformed request is answered 400 over ${protocol}`, async () => {
    const parties = [await openParty(), await openParty()] as const;
    layerOn(parties[1]);
    const bytes = outgoing('OPTIONS')
      .set('CSeq', '7 BYE')
      .prepend('Via', `SIP/2.0/${protocol} x.invalid;rport`)
      .toBuffer();
    parties[0].transports.send(bytes, addressOf(parties[1], protocol));
    const { message } = await parties[0].messages.next();
    assert.is(message.startLine, 'SIP/2.0 400 Bad Request');
    await Promise.all(parties.map(({ transports }) => transports.close()));
  });
}

test('a request over a connection that closes after it was written fails at once', async () => {
  const party = await openParty();
  const uac = layerOn(party);
  const deaf = createServer((socket) => socket.once('data', () => socket.destroy()));
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const { port } = deaf.address() as AddressInfo;
  const told: string[] = [];
  const over = (method: string) =>
    new Promise<void>((resolve) => {
      uac.request(
        outgoing(method),
        { protocol: 'tcp', address: '127.0.0.1', port },
        {
          onFinal: () => told.push('final'),
          onTimeout: () => told.push('timeout'),
          onTransportError: ({ reason }) => told.push(`${method} ${reason}`),
          onTerminated: resolve,
        },
      );
    });
  await over('OPTIONS');
  await over('INVITE');
  assert.equal(told, ['OPTIONS closed', 'INVITE closed']);
  assert.is(uac.counts().clients, 0);
  uac.close();
  await new Promise((resolve) => deaf.close(resolve));
  await party.transports.close();
});

test.run();
