import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createTransferJoining } from '../../src/calls/transfer-joining.ts';
import type { TransferEntry, TransfersOptions, TransferTable } from '../../src/calls/transfer-table.ts';
import type { TransferContext, TransferEvent } from '../../src/machines/transfer.ts';
import type { CallElsewhere, NamedCall } from '../../src/models/call-elsewhere.ts';
import { AriError } from '../../src/models/errors.ts';
import { settled } from '../support/call-control.ts';
import { silentLog } from '../support/log.ts';

/** Attended transfers whose second call is at another node of the cluster. */
const joining = suite('joining a call of another node');

const channel = (id: string) => ({ id, name: `PJSIP/${id}` });
const call = (...others: string[]) =>
  ({
    node: 'b',
    channel: channel('b~asking'),
    bridge: { id: 'b~second' },
    others: others.map(channel),
  }) as unknown as CallElsewhere;

type World = { kind?: string; home?: string; found?: CallElsewhere | undefined; enter?: () => Promise<void> };

/** A transferor in the bridge `a~first`, whose request names a call that is not here. */
function world({ kind = 'stasis', home, found, enter = async () => {} }: World) {
  const asked: NamedCall[] = [];
  const entered: string[] = [];
  const ended: string[] = [];
  const events: TransferEvent[] = [];
  const transferor = { id: 'dave', actor: { getSnapshot: () => ({ context: { endpoint: ['PJSIP', 'dave'] } }) } };
  const snapshot = { context: { class: kind, ...(home !== undefined && { home }) } };
  const bridge = { id: 'a~first', actor: { getSnapshot: () => snapshot } };
  const entry = { party: { channel: channel('dave') }, joining: undefined } as unknown as TransferEntry;
  const transfers = new Map([['t1', entry]]);
  const options = {
    ...{ log: silentLog, consultations: { onReport() {} }, channels: { find: () => transferor } },
    bridges: { bridgeOf: () => (kind === 'none' ? undefined : bridge), snapshot: () => snapshot },
    beyond: {
      async find(named: NamedCall) {
        asked.push(named);
        return found;
      },
      async enter(bridgeId: string, channelId: string) {
        await enter();
        entered.push(`${channelId} in ${bridgeId}`);
      },
      end: (one: CallElsewhere) => void ended.push(one.channel.id),
    },
  };
  const table = {
    ...{ transfers, living: (id: string) => (id === 'dave' ? transferor : undefined) },
    send: (_id: string, event: TransferEvent) => void events.push(event),
  };
  const { join } = createTransferJoining(options as unknown as TransfersOptions, table as unknown as TransferTable);
  const replaces = { protocolId: 'call-2', localTag: '1', remoteTag: '2' };
  join({ id: 't1', transferer: 'dave', request: { replaces } } as unknown as TransferContext);
  return { asked, entered, ended, events, entry, transfers };
}

const refused = (status: number, result: 'Fail' | 'Invalid') => [{ type: 'parties.refused', status, result }];

joining('the party of the second call enters the bridge of the first, and the second call ends', async () => {
  const { asked, entered, ended, events, entry } = world({ found: call('b~alice') });
  await settled();
  assert.equal(asked, [{ endpoint: 'dave', protocolId: 'call-2', localTag: '1', remoteTag: '2' }]);
  assert.equal([entered, ended, events], [['b~alice in a~first'], ['b~asking'], [{ type: 'parties.joined' }]]);
  assert.equal(entry.joining?.destination, { destination_type: 'bridge', destination_bridge: 'a~first' });
  assert.is(entry.joining?.second?.peer?.id, 'b~alice');
});

joining('a call that no node has is refused with 481, one without a single party with 603', async () => {
  for (const [found, told] of [
    [undefined, refused(481, 'Fail')],
    [call(), refused(603, 'Invalid')],
    [call('b~alice', 'b~eve'), refused(603, 'Invalid')],
  ] as const) {
    const { entered, ended, events } = world({ found });
    await settled();
    assert.equal([entered, ended, events], [[], [], told]);
  }
});

joining('only a bridge of an application at this node takes parties of others', async () => {
  for (const where of [{ kind: 'none' }, { kind: 'basic' }, { home: 'c' }]) {
    const { entered, ended, events, entry } = world({ ...where, found: call('b~alice') });
    await settled();
    assert.equal([entered, ended, events], [[], [], refused(603, 'Invalid')], JSON.stringify(where));
    assert.is(entry.joining?.second?.channel.id, 'b~asking', 'the event of the failure names both calls');
  }
});

joining('where the party may not enter, both calls stay as they are', async () => {
  const enter = async (): Promise<void> => {
    throw new AriError('memberNotInStasis');
  };
  const { ended, events } = world({ found: call('b~alice'), enter });
  await settled();
  assert.equal([ended, events], [[], refused(603, 'Invalid')]);
});

joining('nobody enters when the transferee has left meanwhile', async () => {
  const { entered, ended, transfers } = world({ found: call('b~alice') });
  transfers.clear();
  await settled();
  assert.equal([entered, ended], [[], []]);
});

joining.run();
