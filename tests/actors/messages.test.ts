import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createMessages } from '../../src/actors/messages.ts';
import { createBus, type Publication } from '../../src/bus/bus.ts';
import { createEndpoints } from '../../src/stores/endpoints.ts';
import { DriverError } from '../../src/telephony/driver.ts';
import type { MessageDriver } from '../../src/telephony/messages.ts';
import { recordingLog } from '../support/log.ts';

function create(outcome: (leaves?: () => void) => Promise<void> = () => Promise.resolve()) {
  const log = recordingLog();
  const bus = createBus({ log });
  const published: Publication[] = [];
  bus.subscribe((publication) => void published.push(publication));
  const endpoints = createEndpoints({ bus });
  endpoints.add('PJSIP', 'alice');
  const sent: object[] = [];
  const driver: MessageDriver = {
    technology: 'PJSIP',
    sendMessage(message, leaves) {
      sent.push(message);
      return outcome(leaves);
    },
    refer({ progress: _progress, ...request }, leaves) {
      sent.push(request);
      return outcome(leaves);
    },
  };
  const messages = createMessages({ bus, log, endpoints });
  messages.attach(driver);
  return { messages, sent, published, log };
}

const refusal = (promise: Promise<void>) =>
  promise.then(
    () => 'sent',
    (error: Error & { status?: number }) => `${error.status} ${error.message}`,
  );

test('a message is on its way without waiting for the far side', async () => {
  const { messages, sent } = create((leaves) => {
    leaves?.();
    return new Promise(() => {});
  });
  await messages.sendMessage({ to: 'pjsip:alice', from: '100', body: 'hello', variables: { 'X-A': '1' } });
  assert.equal(sent, [{ to: 'pjsip:alice', from: '100', body: 'hello', variables: { 'X-A': '1' } }]);
});

test('an endpoint by technology and name is found in any case, before anything else is read', async () => {
  const { messages, sent } = create();
  await messages.sendMessageToEndpoint('pjsip', 'ALICE', { from: '100' });
  assert.equal(sent, [{ to: 'pjsip:alice', from: '100', body: '', variables: {} }]);
  assert.is(await refusal(messages.sendMessageToEndpoint('PJSIP', 'nobody', {})), '404 Endpoint not found');
});

test('what is missing or malformed is refused and nothing is sent', async () => {
  const { messages, sent } = create();
  assert.is(await refusal(messages.sendMessage({ from: '1' })), '400 To must be specified');
  assert.is(await refusal(messages.sendMessage({ to: 'alice' })), '400 From must be specified');
  assert.match(
    await refusal(messages.sendMessage({ to: 'alice', from: '1', variables: { a: 1 } })),
    /^400 Only string values/,
  );
  assert.match(await refusal(messages.sendMessage({ to: 'alice', from: '1', variables: [] })), /^400 .*JSON object/);
  assert.is(await refusal(messages.refer({ to: 'alice' })), '400 Refer_to must be specified');
  assert.equal(sent, []);
});

test('an endpoint that cannot be reached is not found; a refusal of the far side is logged', async () => {
  const unreachable = create(() => Promise.reject(new DriverError('endpoint', 'not registered')));
  assert.is(await refusal(unreachable.messages.sendMessage({ to: 'alice', from: '1' })), '404 Endpoint not found');
  const refused = create(() => Promise.reject(new Error('603')));
  assert.is(await refusal(refused.messages.refer({ to: 'alice', refer_to: 'sip:bob@host' })), 'sent');
  assert.equal(
    refused.log.lines.map(({ message }) => message),
    ['a referral was not accepted'],
  );
});

test('a message that comes in is told to those who hear the endpoint, variables as a plain object', () => {
  const { messages, published } = create();
  messages.received({ from: 'sip:alice@a', to: 'sip:100@b', body: 'hi', endpoint: 'alice', headers: { 'X-B': '2' } });
  assert.equal(published, [
    {
      event: {
        type: 'TextMessageReceived',
        message: { from: 'sip:alice@a', to: 'sip:100@b', body: 'hi', variables: { 'X-B': '2' } },
        endpoint: { technology: 'PJSIP', resource: 'alice', state: 'unknown', channel_ids: [] },
      },
      topics: ['endpoint:PJSIP/alice', 'endpoint:PJSIP', 'endpoint:'],
    },
  ]);
});

test.run();
