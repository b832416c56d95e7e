import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeOfAll } from '../../src/http/elsewhere.ts';
import { merges } from '../../src/http/merging.ts';
import { apis } from '../../src/http/routes/index.ts';
import { refusal } from '../support/refusal.ts';

const merging = suite('answers of several nodes');

merging('lists of own objects stand behind each other', () => {
  assert.equal(merges['channels.list']!([[{ id: 'a~1' }], [], [{ id: 'b~1' }]]), [{ id: 'a~1' }, { id: 'b~1' }]);
});

merging('an application has what it has at any node, once', () => {
  const one = { name: 'x', channel_ids: ['a~1'], device_names: ['d'] };
  const other = { name: 'x', channel_ids: ['b~1'], device_names: ['d'] };
  const both = { name: 'x', channel_ids: ['a~1', 'b~1'], device_names: ['d'] };
  assert.equal(merges['applications.get']!([one, other]), both);
  assert.equal(merges['applications.list']!([[one], [other, { name: 'y' }]]), [both, { name: 'y' }]);
});

merging('an endpoint is online if it is at any node', () => {
  const at = (state: string, ...ids: string[]) => ({ technology: 'PJSIP', resource: 'alice', state, channel_ids: ids });
  assert.equal(merges['endpoints.list']!([[at('unknown')], [at('offline', 'b~1')], [at('online', 'c~1')]]), [
    at('online', 'b~1', 'c~1'),
  ]);
});

merging('a registration at a provider is shown as the node sees it that holds it', () => {
  const at = (status: string, client = 'sip:1@p') => ({ server: 'sip:p', client, status });
  const endpoint = (...registrations: object[]) => ({ technology: 'PJSIP', resource: 'trunk', registrations });
  assert.equal(
    merges['endpoints.list']!([
      [endpoint(at('Standby'), at('Standby', 'sip:2@p'))],
      [endpoint(at('Registered'), at('Standby', 'sip:2@p'))],
    ]),
    [endpoint(at('Standby', 'sip:2@p'), at('Registered'))],
  );
  const line = (name: string, status: string) => ({ endpoint: name, ...at(status) });
  assert.equal(
    merges['server.listRegistrations']!([
      [line('PJSIP/one', 'Standby'), line('PJSIP/two', 'Rejected')],
      [line('PJSIP/one', 'Registered'), line('PJSIP/two', 'Standby')],
    ]),
    [line('PJSIP/two', 'Rejected'), line('PJSIP/one', 'Registered')],
  );
});

merging('a stored recording of the same name is that of the first node', () => {
  assert.equal(merges['recordings.listStored']!([[{ name: 'r', format: 'wav' }], [{ name: 'r', format: 'ulaw' }]]), [
    { name: 'r', format: 'wav' },
  ]);
});

merging('every operation that is gathered exists', () => {
  const names = apis.flatMap(({ resources }) =>
    resources.flatMap(({ name, operations }) => operations.map(({ nickname }) => `${name}.${nickname}`)),
  );
  assert.equal(
    Object.keys(merges).filter((name) => !names.includes(name)),
    [],
  );
});

const object = (id: string) => ({ kind: 'channel' as const, id, isNew: false });

merging('objects of one node are there, those that no node has are nowhere', () => {
  assert.is(nodeOfAll([]), undefined);
  assert.is(nodeOfAll([{ object: object('x'), node: undefined }]), undefined);
  assert.is(
    nodeOfAll([
      { object: object('x'), node: undefined },
      { object: object('b~1'), node: 'b' },
    ]),
    'b',
  );
});

merging('objects on two nodes are refused, and both are named', () => {
  const places = [
    { object: object('a~1'), node: 'a' },
    { object: object('b~1'), node: 'b' },
  ];
  assert.equal(
    refusal(() => nodeOfAll(places)),
    [409, "The objects are on different nodes: a~1 on 'a', b~1 on 'b'. Create them on one node"],
  );
});

merging.run();
