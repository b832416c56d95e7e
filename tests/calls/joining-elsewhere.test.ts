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

type World = {
  kind?: string;
  home?: string;
  found?: CallElsewhere | undefined;
  enter?: () => Promise<void>;
  second?: string;
};

/** A transferor in the bridge `a~first`, whose request names a call that is not here. */
function world({ kind = 'stasis', home, found, enter = async () => {}, second }: World) {
  const asked: NamedCall[] = [];
  const entered: string[] = [];
  const ended: string[] = [];
  const events: TransferEvent[] = [];
  const transferor = { id: 'dave', actor: { getSnapshot: () => ({ context: { endpoint: ['PJSIP', 'dave'] } }) } };
  const snapshot = { context: { class: kind, ...(home !== undefined && { home }) } };
  const bridge = { id: 'a~first', actor: { getSnapshot: () => snapshot } };
  const waited: string[] = [];
  const entry = { party: { channel: channel('dave') }, joining: undefined } as unknown as TransferEntry;
  const transfers = new Map([['t1', entry]]);
  const options = {
    ...{ log: silentLog, consultations: { onReport() {} }, channels: { find: () => transferor } },
    bridges: { bridgeOf: () => (kind === 'none' ? undefined : bridge), snapshot: () => snapshot },
    swaps: {
      applicationOf: () => (kind === 'stasis' ? 'shop' : undefined),
      hasOthers: () => true,
      othersWith: () => [],
      expectInstead({ id }: { id: string }) {
        waited.push(id);
        return (came: boolean) => void waited.push(came ? 'came' : 'did not come');
      },
    },
    beyond: {
      async find(named: NamedCall) {
        asked.push(named);
        return found;
      },
      async enter({ id }: { id: string }, channelId: string, app: string | undefined) {
        await enter();
        entered.push(`${channelId} in ${id}${app === undefined ? '' : ` and ${app}`}`);
      },
      end: (one: CallElsewhere) => void ended.push(one.channel.id),
    },
  };
  const table = {
    ...{ transfers, living: (id: string) => (id === 'dave' || id === second ? { ...transferor, id } : undefined) },
    callSeen: (id: string) => id === second && { ...call('c~alice'), node: undefined, channel: channel(id) },
    endCall: ({ id }: { id: string }) => void ended.push(id),
    send: (_id: string, event: TransferEvent) => void events.push(event),
  };
  const { join } = createTransferJoining(options as unknown as TransfersOptions, table as unknown as TransferTable);
  const replaces = { protocolId: 'call-2', localTag: '1', remoteTag: '2', ...(second && { channelId: second }) };
  join({ id: 't1', transferer: 'dave', request: { replaces } } as unknown as TransferContext);
  return { asked, entered, ended, events, entry, transfers, waited };
}

const refused = (status: number, result: 'Fail' | 'Invalid') => [{ type: 'parties.refused', status, result }];

joining('the party of the second call enters the bridge of the first, and the second call ends', async () => {
  const { asked, entered, ended, events, entry, waited } = world({ found: call('b~alice') });
  assert.equal(waited, ['dave']);
  await settled();
  assert.equal(waited, ['dave', 'came']);
  assert.equal(asked, [{ endpoint: 'dave', protocolId: 'call-2', localTag: '1', remoteTag: '2' }]);
  assert.equal([entered, ended, events], [['b~alice in a~first and shop'], ['b~asking'], [{ type: 'parties.joined' }]]);
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

joining('the bridge of a Dial takes the party as well', async () => {
  const { entered, ended, events } = world({ kind: 'basic', found: call('b~alice') });
  await settled();
  assert.equal([entered, ended, events], [['b~alice in a~first'], ['b~asking'], [{ type: 'parties.joined' }]]);
});

joining('where the parties of two calls of this node are at others, one of them enters the other bridge', async () => {
  const { asked, entered, ended, events } = world({ second: 'dave-2' });
  await settled();
  assert.equal([asked, entered, ended], [[], ['c~alice in a~first and shop'], ['dave-2']]);
  assert.equal(events, [{ type: 'parties.joined' }]);
});

joining('only a bridge of this node takes parties of others', async () => {
  for (const where of [{ kind: 'none' }, { home: 'c' }]) {
    const { entered, ended, events, entry, waited } = world({ ...where, found: call('b~alice') });
    await settled();
    assert.equal([entered, ended, events], [[], [], refused(603, 'Invalid')], JSON.stringify(where));
    assert.equal(waited, ['dave', 'did not come']);
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
