import * as assert from 'uvu/assert';
import type { AriClient } from './ari-client.ts';
import { Phone } from './phone.ts';

/**
 * Two members of a group have a call each, from phones that call `desk` (`Stasis(desk)`). When the server's process is
 * replaced and they join in the other order, each has its own call again, with its events from the start.
 */
export async function membersKeepTheirCalls(
  server: { sip: string; client(): AriClient },
  replace: () => Promise<void>,
): Promise<void> {
  const phones = [await Phone.open('4711', server.sip), await Phone.open('4712', server.sip)] as const;
  const names = ['one', 'two'] as const;
  const join = (member: string, resume?: string) =>
    server.client().connect('desk', { group: 'workers', member, ...(resume && { resume }) });
  const open: AriClient[] = [];
  try {
    const before = new Map<string, { id: string; story: string[] }>();
    const first: AriClient[] = [];
    for (const name of names) first.push(await join(name));
    open.push(...first);
    for (const [index, phone] of phones.entries()) {
      const calling = phone.call('desk');
      const member = first[index]!;
      const { channel } = await member.waitFor('StasisStart');
      await member.ok('POST', `/channels/${channel.id}/answer`);
      await calling;
      await member.ok('POST', `/channels/${channel.id}/variable?variable=SEEN&value=1`);
      await member.waitFor('ChannelVarset', ({ variable }) => variable === 'SEEN');
      before.set(names[index]!, { id: channel.id, story: member.story(channel.id) });
    }
    await replace();
    // In the other order: who comes first does not get the call of who comes later.
    const two = await join('two');
    open.push(two);
    await two.ok('POST', `/channels/${before.get('one')!.id}/variable?variable=MISSED&value=1`);
    await two.waitFor('StasisStart');
    const states = await two.ok<{ members: unknown[] }[]>('GET', '/../hookswitch/groups');
    assert.equal(states[0]?.members, [
      { name: 'one', calls: 1, state: 'away' },
      { name: 'two', calls: 1, state: 'active' },
    ]);
    const one = await join('one');
    open.push(one);
    await one.waitFor('ChannelVarset', ({ variable }) => variable === 'MISSED');
    for (const [name, client, other] of [
      ['one', one, two],
      ['two', two, one],
    ] as const) {
      const { id, story } = before.get(name)!;
      assert.equal(client.story(id).slice(0, story.length), story);
      assert.equal(other.story(id), []);
      await client.ok('DELETE', `/channels/${id}`);
      await client.waitFor('StasisEnd');
    }
    await Promise.all(phones.map((phone) => phone.over()));
  } finally {
    await Promise.all([...open.map((client) => client.close()), ...phones.map((phone) => phone.close())]);
  }
}
