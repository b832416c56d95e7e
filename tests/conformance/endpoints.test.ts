import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Case, check, runAll, usesTarget } from '../support/conformance-cases.ts';
import type { Client } from '../support/conformance-client.ts';
import { misfits } from '../support/conformance-surface.ts';

const test = suite('endpoints, asked from outside');
let client: Client;

usesTarget(test, (own) => {
  client = own;
});

const guest = { technology: 'PJSIP', resource: 'guest', state: 'offline', channel_ids: [] };
const alice = { technology: 'PJSIP', resource: 'alice', state: 'offline', channel_ids: [] };

test('endpoints are listed: all, those of a technology, one', async () => {
  for (const line of ['GET /endpoints', 'GET /endpoints/PJSIP']) {
    const list = await client.must<unknown[]>(line);
    assert.equal(misfits('List[Endpoint]', list), []);
    if (client.target.ours) assert.equal(list, [alice, guest]);
  }
  if (!client.target.ours) return;
  for (const line of ['GET /endpoints/PJSIP/alice', 'GET /endpoints/pjsip/alice', 'GET /endpoints/PJSIP/ALICE'])
    assert.equal(await client.must(line), alice, line);
  assert.equal(await client.must('GET /endpoints/pjsip'), [alice, guest]);
});

const missing = { status: 404, message: 'Endpoint not found' };
const noTo = { status: 400, message: 'To must be specified' };
const noFrom = { status: 400, message: 'From must be specified' };
const notStrings = { status: 400, message: "Only string values in the 'variables' object allowed" };
const numbers = { json: { variables: { A: 1 } } };

const looking: readonly Case[] = [
  { ask: 'GET /endpoints/Nothing', status: 404, message: 'No Endpoints found - invalid tech Nothing' },
  { ask: 'GET /endpoints/Nothing/alice', ...missing },
  { ask: 'GET /endpoints/PJSIP/nobody', ...missing },
];
test('an endpoint that is not there is refused', async () => {
  await runAll(client, {}, looking);
});

const sending: readonly Case[] = [
  { ask: 'PUT /endpoints/sendMessage', ...noTo },
  { ask: 'PUT /endpoints/sendMessage?from=x', with: numbers, ...notStrings },
  { ask: 'PUT /endpoints/sendMessage?to=pjsip:nobody&from=x', with: numbers, ...notStrings },
  { ask: 'PUT /endpoints/sendMessage?to=nothing:nobody&from=x', ...missing },
  { ask: 'PUT /endpoints/PJSIP/nobody/sendMessage', with: numbers, ...missing },
  { ask: 'PUT /endpoints/PJSIP/alice/sendMessage?from=x', with: numbers, ...notStrings },
  { ask: 'POST /endpoints/refer', ...noTo },
  { ask: 'POST /endpoints/refer?refer_to=x', with: numbers, ...notStrings },
  { ask: 'POST /endpoints/refer?to=pjsip:nobody&from=x&refer_to=y', with: numbers, ...notStrings },
  { ask: 'POST /endpoints/refer?to=nothing:nobody&from=x&refer_to=y', ...missing },
  { ask: 'POST /endpoints/PJSIP/nobody/refer', with: numbers, ...missing },
  { ask: 'POST /endpoints/PJSIP/alice/refer?from=x&refer_to=y', with: numbers, ...notStrings },
];
test('messages and referrals are refused for the first fault of several', async () => {
  await runAll(client, {}, sending);
  if (client.target.ours) check(await client.ask('PUT /endpoints/sendMessage?to=pjsip:alice'), noFrom, 'no from');
});

test.run();
