import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSessions, type LogInsHere, type Sessions } from '../../src/http/sessions.ts';
import type { HttpUser } from '../../src/http/user.ts';
import type { KeptLogIn } from '../../src/models/log-in-session.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';

/** Log-ins of pages at several nodes of a cluster. */
const logIns = suite('shared log-ins');

const writer: HttpUser = { name: 'writer', password: 'secret', read_only: false };

type Node = {
  sessions: Sessions;
  here: LogInsHere;
  users: HttpUser[];
  told: KeptLogIn[];
  forgot: string[];
  isAway: boolean;
  /** Tickets that it asked others about. */
  asked: number;
};

/** Nodes that hear each other at once, unless one of them is away. */
class Nodes {
  readonly clock = new ManualClock();
  readonly all = new Map<string, Node>();
  #made = 0;

  start(name: string, users: HttpUser[] = [writer], most = 3): Node {
    const settings = { lifetime: 60, most, ticket_lifetime: 30 };
    const node = { users, told: [], forgot: [], isAway: false, asked: 0 } as unknown as Node;
    node.sessions = createSessions(settings, {
      ...{ clock: this.clock, secret: () => `${name}${++this.#made}` },
      known: (user, token) => node.users.find((each) => each.name === user && each.token?.digest === token),
    });
    const reached = (other: Node): boolean => other !== node && !other.isAway && !node.isAway;
    node.here = node.sessions.share({
      mark: `${name}~`,
      tell: async (logIn) => {
        node.told.push(logIn);
        for (const other of this.all.values()) if (reached(other)) other.here.adopt(structuredClone(logIn));
      },
      forget: (digest) => void node.forgot.push(digest),
      redeem: (ticket, digest) => {
        const other = this.all.get(ticket.split('~')[0]!);
        if (!other || other === node) return undefined;
        node.asked++;
        return reached(other) ? Promise.resolve(structuredClone(other.here.redeem(digest))) : Promise.reject('away');
      },
    });
    this.all.set(name, node);
    return node;
  }
}

const open = async ({ sessions }: Node, user = writer): Promise<string> =>
  (await sessions.open({ user, token: undefined })).token;
const close = ({ sessions }: Node, token: string): Promise<void> => sessions.close({ user: writer, token });
const isGood = ({ sessions }: Node, token: string): boolean => sessions.find(token) !== undefined;

logIns('a log-in is good at all nodes until it is ended at one of them, or expires', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.start('a'), nodes.start('b')];
  const [one, other] = [await open(a), await open(a)];
  assert.equal(b.sessions.find(one), writer);
  assert.equal(b.sessions.describe(one), a.sessions.describe(one));
  await close(b, one);
  assert.equal([isGood(a, one), isGood(b, one)], [false, false]);
  nodes.clock.advance(60_000);
  assert.equal([isGood(a, other), isGood(b, other)], [false, false]);
  await open(b);
  assert.is(b.forgot.length, 2, 'expired ones are told no more');
});

logIns('nodes tell each other neither the token nor anything of the password', async () => {
  const nodes = new Nodes();
  const a = nodes.start('a');
  const token = await open(a);
  const { ticket } = a.sessions.ticket({ user: writer, token: undefined });
  nodes.start('b');
  const told = JSON.stringify(a.told);
  assert.not.match(told, new RegExp(`${token}|${ticket}|secret`));
  // The same user and password: without the token nobody can tell.
  await open(a);
  assert.is.not(a.told[0]?.proof, a.told[1]?.proof);
});

logIns('it is good only where the user has the same password and rights', async () => {
  const nodes = new Nodes();
  const a = nodes.start('a');
  const same = nodes.start('b', [{ read_only: false, password: 'secret', name: 'writer' }]);
  const others = [
    nodes.start('c', [{ ...writer, password: 'new' }]),
    nodes.start('d', [{ ...writer, read_only: true }]),
    nodes.start('e', [{ ...writer, scope: { applications: ['shop'] } }]),
    nodes.start('f', []),
  ];
  const token = await open(a);
  assert.ok(isGood(same, token), 'the order of its settings does not matter');
  for (const other of others) assert.not(isGood(other, token));
  // It has the user by now, as the first node has.
  others[0]!.users = [writer];
  assert.ok(isGood(others[0]!, token));
});

logIns('one of an API token is good where that token is', async () => {
  const nodes = new Nodes();
  const visitor = {
    ...writer,
    token: { name: 'visit', digest: 'd1', scopes: [], expiresAt: nodes.clock.now() + 9_000 },
  };
  const [a, b] = [nodes.start('a', [visitor]), nodes.start('b', [writer])];
  const token = await open(a, visitor);
  assert.not(isGood(b, token));
  b.users = [structuredClone(visitor)];
  assert.equal(b.sessions.find(token), visitor);
  nodes.clock.advance(9_000);
  assert.not(isGood(b, token));
});

logIns('a user that changes at a node is logged out at all', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.start('a'), nodes.start('b')];
  const token = await open(a);
  const { ticket } = b.sessions.ticket({ user: writer, token: undefined });
  assert.ok(isGood(b, token));
  b.sessions.review(() => false);
  assert.equal([isGood(a, token), isGood(b, token)], [false, false]);
  assert.is(await b.sessions.redeem(ticket), undefined);
});

logIns('one that was ended while a node was away does not come back with it', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.start('a'), nodes.start('b')];
  const token = await open(a);
  b.isAway = true;
  await close(a, token);
  assert.ok(isGood(b, token));
  b.isAway = false;
  // Both tell what they have.
  a.here.adopt(a.told[0]);
  b.here.adopt(a.told[1]);
  assert.equal([isGood(a, token), isGood(b, token)], [false, false]);
  b.here.adopt(a.told[0]);
  assert.not(isGood(b, token));
});

logIns('all nodes together have so many: the oldest goes, and is not taken back', async () => {
  const nodes = new Nodes();
  const [a, b] = [nodes.start('a'), nodes.start('b')];
  const tokens: string[] = [];
  for (const node of [a, b, a, b]) {
    tokens.push(await open(node));
    nodes.clock.advance(1_000);
  }
  for (const node of [a, b]) {
    assert.equal(
      tokens.map((token) => isGood(node, token)),
      [false, true, true, true],
    );
    node.here.adopt(a.told[0]);
    assert.equal(
      tokens.map((token) => isGood(node, token)),
      [false, true, true, true],
    );
    assert.is(node.sessions.size, 3);
  }
  // Those that were ended have a bound of their own: the oldest is forgotten.
  for (let made = 0; made < 4; made++) await close(a, await open(a));
  assert.equal(new Set(a.forgot).size, 3);
});

logIns('what is no log-in changes nothing', async () => {
  const nodes = new Nodes();
  const a = nodes.start('a');
  for (const value of [null, 1, 'x', {}, { digest: 'x', user: 'writer' }]) a.here.adopt(value);
  a.here.adopt({ digest: 'x', user: 'writer', proof: 'x', opened: 0, expires: nodes.clock.now() });
  assert.is(a.sessions.size, 0);
  assert.equal(a.forgot, ['x'], 'it has expired');
});

logIns('a ticket is good once in the whole cluster, and the node that made it decides', async () => {
  const nodes = new Nodes();
  const [a, b, c] = [nodes.start('a'), nodes.start('b'), nodes.start('c')];
  const ticketAt = ({ sessions }: Node): string => sessions.ticket({ user: writer, token: undefined }).ticket;
  const ticket = ticketAt(a);
  const uses = await Promise.all([b, c, b].map(({ sessions }) => sessions.redeem(ticket)));
  assert.is(uses.filter((user) => user === writer).length, 1);
  assert.is(await a.sessions.redeem(ticket), undefined);
  const late = ticketAt(a);
  nodes.clock.advance(30_000);
  assert.is(await b.sessions.redeem(late), undefined);
  const unheard = ticketAt(a);
  a.isAway = true;
  assert.is(await b.sessions.redeem(unheard), undefined);
  assert.is(b.sessions.redeem('guessed'), undefined);
});

logIns('strangers can have other nodes asked about so many tickets at the same time', async () => {
  const nodes = new Nodes();
  const [, b] = [nodes.start('a'), nodes.start('b')];
  const answers = Array.from({ length: 150 }, (_, at) => b.sessions.redeem(`a~guess${at}`));
  assert.is(b.asked, 100);
  await Promise.all(answers);
  await b.sessions.redeem('a~guess');
  assert.is(b.asked, 101);
});

logIns.run();
