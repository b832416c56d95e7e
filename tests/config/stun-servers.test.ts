import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gatheringTerms, turnAddress } from '../../src/config/stun-servers.ts';

const none = {
  ...{ stun: '', turn: '', turn_name: '', username: '', password: '', secret: '', wait: 1 },
  ...{ message: 4096, unsent: 262_144 },
};
const terms = (gathering: Partial<typeof none>, name = '', authorities?: string[]) =>
  gatheringTerms({ gathering: { ...none, ...gathering }, candidates: 20 }, { name, authorities });
const placeOf = (turn: string) => {
  const { address, port, transport } = terms({ turn })?.turn ?? {};
  return [address, port, transport];
};

test('a TURN server is an address, or a URI that says how it is reached', () => {
  assert.equal(placeOf('192.0.2.1'), ['192.0.2.1', 3478, undefined]);
  assert.equal(placeOf('192.0.2.1:99'), ['192.0.2.1', 99, undefined]);
  assert.equal(placeOf('turn:192.0.2.1'), ['192.0.2.1', 3478, undefined]);
  assert.equal(placeOf('turn:192.0.2.1:99?transport=udp'), ['192.0.2.1', 99, undefined]);
  assert.equal(placeOf('turn:192.0.2.1?transport=tcp'), ['192.0.2.1', 3478, 'tcp']);
  assert.equal(placeOf('turns:192.0.2.1'), ['192.0.2.1', 5349, 'tls']);
  assert.equal(placeOf('turns:[2001:db8::1]:443?transport=tcp'), ['2001:db8::1', 443, 'tls']);
  assert.is(turnAddress('turns:192.0.2.1?transport=udp'), undefined);
  assert.is(turnAddress('turn:192.0.2.1?transport=sctp'), 'turn:192.0.2.1?transport=sctp');
});

test('there are terms where there is a server, with what its certificate has to say', () => {
  assert.is(terms({}), undefined);
  const account = { username: 'desk', password: 'north wind', secret: '' };
  assert.equal(terms({ ...account, turn: 'turns:192.0.2.1', stun: '192.0.2.2' }, 'a.example', ['PEM']), {
    waitMs: 1000,
    stun: { address: '192.0.2.2', port: 3478 },
    turn: {
      ...{ address: '192.0.2.1', port: 5349, transport: 'tls', name: 'a.example', authorities: ['PEM'] },
      ...{ ...account, messageBytes: 4096, unsentBytes: 262_144, permissions: 20 },
    },
  });
});

test.run();
