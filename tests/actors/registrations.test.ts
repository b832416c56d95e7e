import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRegistrations, type RegistrationHolders } from '../../src/actors/registrations.ts';
import { createRuntime } from '../../src/actors/spawn.ts';
import { createBus } from '../../src/bus/bus.ts';
import { createEndpoints } from '../../src/stores/endpoints.ts';
import type { RegistrationAnswer, RegistrationDetails } from '../../src/telephony/registrations.ts';
import { silentLog as log } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const line: RegistrationDetails = {
  ...{ id: 'trunk;sip:p', technology: 'PJSIP', endpoint: 'trunk', server: 'sip:p', client: 'sip:1@p' },
  ...{ expiresMs: 3_600_000, retryMs: 10_000, longestRetryMs: 60_000, rejectedRetryMs: 900_000 },
};

/** What decides for this node, as a test says. */
class FakeHolders implements RegistrationHolders {
  isHere = false;
  holder: string | undefined;
  readonly told: string[] = [];
  change = (_id: string, _isHeldHere: boolean): void => {};
  move = (_id: string): void => {};

  offer(_id: string, isHeld: boolean): boolean {
    this.told.push(`offer ${isHeld}`);
    return this.isHere;
  }
  withdraw(): void {
    this.told.push('withdraw');
  }
  tell(_id: string, isHeld: boolean): void {
    if (this.told.at(-1) !== `held ${isHeld}`) this.told.push(`held ${isHeld}`);
  }
  holderOf(): string | undefined {
    return this.holder;
  }
  onChanged(listener: (id: string, isHeldHere: boolean) => void): void {
    this.change = listener;
  }
  onMoved(listener: (id: string) => void): void {
    this.move = listener;
  }
  tells(): string[] {
    return this.told.splice(0);
  }
}

function world(holders?: FakeHolders) {
  const clock = new ManualClock();
  const endpoints = createEndpoints({ bus: createBus({ log }) });
  endpoints.add('PJSIP', 'trunk', 'offline');
  const registrations = createRegistrations({
    ...{ runtime: createRuntime(clock, log), log, ids: { hex: () => '000000' } as never, endpoints, holders },
  });
  const asked: string[] = [];
  const answers: ((answer: RegistrationAnswer) => void)[] = [];
  registrations.attach({
    technology: 'PJSIP',
    register: (_line, expiresMs) => {
      asked.push(`for ${expiresMs}`);
      return new Promise((resolve) => void answers.push(resolve));
    },
    ended() {},
  });
  const answer = async (expiresMs = 3_600_000): Promise<void> => {
    answers.shift()?.({ type: 'accepted', expiresMs });
    await new Promise((resolve) => setImmediate(resolve));
  };
  const shown = () => endpoints.find('PJSIP', 'trunk')?.registrations?.map(({ status, node }) => [status, node]);
  const state = () => [...registrations.list()].map(({ state: value }) => value);
  return { clock, registrations, asked, answer, shown, state };
}

const owner = suite('registrations');

owner('on its own a server registers all, and takes them back at its end', async () => {
  const { clock, registrations, asked, answer, shown } = world();
  registrations.follow([line]);
  await clock.run(1);
  await answer();
  assert.equal([asked, shown()], [['for 3600000'], [['Registered', undefined]]]);
  const closing = registrations.close();
  await answer();
  await closing;
  assert.equal(asked, ['for 3600000', 'for 0']);
});

owner('a node of a cluster registers what it holds, and gives it up when another node holds it', async () => {
  const holders = new FakeHolders();
  const { clock, registrations, asked, answer, shown, state } = world(holders);
  registrations.follow([line]);
  clock.advance(60_000);
  assert.equal([asked, state(), shown()], [[], ['standby'], [['Standby', undefined]]]);
  assert.equal(holders.tells().slice(-2), ['offer false', 'held false']);
  holders.holder = 'b';
  holders.move(line.id);
  assert.equal(shown(), [['Standby', 'b']]);
  holders.isHere = true;
  holders.holder = 'a';
  holders.change(line.id, true);
  await answer();
  assert.equal([asked.splice(0), shown(), holders.tells()], [['for 3600000'], [['Registered', 'a']], ['held true']]);
  holders.change(line.id, true);
  await answer();
  assert.equal(asked.splice(0), ['for 3600000'], 'the registrar may have another contact');
  holders.change(line.id, false);
  assert.equal([asked.splice(0), holders.tells(), state()], [['for 0'], ['held true'], ['handingOver']]);
  await answer();
  assert.equal([holders.tells(), state()], [['held false'], ['standby']]);
  registrations.follow([]);
  assert.equal([holders.tells().at(-1), registrations.size], ['withdraw', 0]);
});

owner('a change of the configuration does not register what another node holds', () => {
  const holders = new FakeHolders();
  const { registrations, asked, state } = world(holders);
  registrations.follow([line]);
  registrations.follow([{ ...line, expiresMs: 60_000 }]);
  assert.equal([asked, state()], [[], ['standby']]);
  holders.change(line.id, true);
  assert.equal(asked, ['for 60000']);
});

owner('a restored registration goes on where this node holds it, and stands by where another one does', async () => {
  const before = world();
  before.registrations.follow([line]);
  await before.clock.run(1);
  await before.answer();
  const registered = before.registrations.dump();
  const holders = new FakeHolders();
  holders.isHere = true;
  const here = world(holders);
  here.registrations.restore(registered);
  assert.equal(
    [here.asked, here.state(), holders.tells().includes('offer true')],
    [['for 3600000'], ['refreshing'], true],
  );
  const elsewhere = world(new FakeHolders());
  elsewhere.registrations.restore(registered);
  assert.equal([elsewhere.asked.at(-1), elsewhere.state()], ['for 0', ['handingOver']]);
  const handingOver = elsewhere.registrations.dump();
  await elsewhere.answer();
  await elsewhere.answer();
  const standby = elsewhere.registrations.dump();
  // The server is no node any more.
  for (const dumps of [handingOver, standby]) {
    const alone = world();
    alone.registrations.restore(dumps);
    assert.equal([alone.asked.at(-1), alone.state()], ['for 3600000', ['registering']]);
  }
});

owner.run();
