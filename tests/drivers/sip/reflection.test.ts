import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anybody, createPhone, endpoint, type Phone } from './support.ts';

const reflection = suite('what a forged source could have sent to a victim');
const phones: Phone[] = [];

reflection.after.each(async () => {
  for (const phone of phones.splice(0)) await phone.close();
});

const methods = ['OPTIONS', 'REGISTER', 'INVITE', 'MESSAGE', 'SUBSCRIBE', 'NOTIFY', 'BYE', 'CANCEL', 'REFER', 'WHAT'];

reflection('one answer to each request of a stranger, to where it came from, never much larger', async () => {
  const sent: string[] = [];
  const alice = endpoint('alice', { auth: { username: 'alice', password: 'wonderland' } });
  const server = await createPhone({ config: { endpoints: [alice] }, lets: (text) => sent.push(text) > 0 });
  phones.push(server);
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  let answers = 0;
  const all = new Promise<void>((resolve) => {
    socket.on('message', () => ++answers === methods.length && resolve());
  });
  const via = `SIP/2.0/UDP 127.0.0.1:${socket.address().port};maddr=127.0.0.3;branch=z9hG4bK`;
  const requests = methods.map((method) =>
    [
      `${method} sip:alice@127.0.0.1 SIP/2.0`,
      `Via: ${via}${method}`,
      'From: <sip:alice@127.0.0.1>;tag=1',
      'To: <sip:alice@127.0.0.1>',
      `Call-ID: ${method}`,
      `CSeq: 1 ${method}`,
      'Max-Forwards: 70',
      'Contact: <sip:alice@127.0.0.3>',
      'Event: message-summary',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  );
  for (const request of requests) socket.send(request, server.port, '127.0.0.1');
  // All of them reach the sender itself, none its `maddr`.
  await all;
  assert.is(sent.length, methods.length, 'nothing is repeated');
  for (const request of requests) {
    const method = request.split(' ')[0]!;
    const answer = sent.find((text) => text.includes(`CSeq: 1 ${method}\r\n`))!;
    assert.ok(answer.length < 2 * request.length, `${method}: ${answer.length} octets to ${request.length}`);
  }
  assert.equal([server.transactions.counts().servers, server.transactions.counts().clients], [0, 0]);
  socket.close();
});

reflection(
  'what a subscriber without a password is told goes to where it is, not to where its Contact says',
  async () => {
    const server = await createPhone({
      hint: () => ({ devices: ['PJSIP/alice'], state: 'NOT_INUSE' }),
      config: { endpoints: [endpoint('anybody', { ...anybody, subscribeContext: 'lamps' })] },
    });
    phones.push(server);
    const [subscriber, victim] = [createSocket('udp4').bind(0, '127.0.0.1'), createSocket('udp4').bind(0, '127.0.0.1')];
    await Promise.all([once(subscriber, 'listening'), once(victim, 'listening')]);
    let reflected = 0;
    victim.on('message', () => reflected++);
    const told = new Promise<string>((resolve) => {
      subscriber.on('message', (octets) => {
        const text = octets.toString();
        if (!text.startsWith('NOTIFY ')) return;
        const lines = text.split('\r\n').filter((line) => /^(Via|From|To|Call-ID|CSeq):/.test(line));
        subscriber.send(
          `SIP/2.0 481 No\r\n${lines.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`,
          server.port,
          '127.0.0.1',
        );
        resolve(text);
      });
    });
    const contact = `sip:victim@127.0.0.1:${victim.address().port}`;
    const request = [
      'SUBSCRIBE sip:201@127.0.0.1 SIP/2.0',
      `Via: SIP/2.0/UDP 127.0.0.1:${subscriber.address().port};branch=z9hG4bKsub`,
      'From: <sip:somebody@127.0.0.1>;tag=1',
      'To: <sip:201@127.0.0.1>',
      'Call-ID: forged',
      'CSeq: 1 SUBSCRIBE',
      'Max-Forwards: 70',
      `Contact: <${contact}>`,
      'Event: dialog',
      'Accept: application/dialog-info+xml',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n');
    subscriber.send(request, server.port, '127.0.0.1');
    assert.match(await told, `NOTIFY ${contact} SIP/2.0`);
    await server.transactions.close();
    assert.is(reflected, 0);
    subscriber.close();
    victim.close();
  },
);

reflection.run();
