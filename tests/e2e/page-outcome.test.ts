import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallPage } from '../../src/models/call.ts';
import { pageTests } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { password, type TestServer, user } from '../support/server.ts';
import { untilAsked } from '../support/waiting.ts';

/** What became of a call: the same in the list, the title, the record, the log and the metric. */

const page = suite('the outcome of a call, everywhere');
const test = pageTests(page);

const bobsPort = await freePort();
const directory = mkdtempSync(join(tmpdir(), 'hookswitch-outcome-'));
page.after(() => rmSync(directory, { recursive: true, force: true }));
const file = join(directory, 'calls.jsonl');

type Kind = {
  /** Number of the caller. */
  from: string;
  to: string;
  bob?: { refuses?: string; answers?: boolean };
  /** Gives up once it rings. */
  givesUp?: boolean;
  outcome: string;
};

const kinds: readonly Kind[] = [
  { from: '101', to: '202', outcome: 'answered: answered' },
  { from: '102', to: '202', bob: { refuses: '486 Busy Here' }, outcome: 'refused: User busy (cause 17, SIP 486)' },
  { from: '103', to: '203', bob: { answers: false }, outcome: 'failed: User alerting, no answer (cause 19)' },
  {
    ...{ from: '104', to: '202', bob: { answers: false }, givesUp: true },
    outcome: 'abandoned: the caller hung up before an answer',
  },
  { from: '105', to: 'closed', outcome: 'refused: Call Rejected (cause 21)' },
  { from: '106', to: 'away', outcome: 'failed: the application nobody is not connected' },
  {
    ...{ from: '107', to: '202', bob: { refuses: '301 Moved Permanently' } },
    outcome: 'refused: redirected, and the redirection was not followed (SIP 301)',
  },
  {
    ...{ from: '108', to: '202', bob: { refuses: '503 Service Unavailable' } },
    outcome: 'failed: Circuit/channel congestion (cause 34, SIP 503)',
  },
];

/** Asks as a user with a password. */
const asked = ({ url }: TestServer, path: string) =>
  fetch(url.replace(/\/ari$/, path), {
    headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
  });

type Ended = { outcome: string; outcome_reason: string };
type CallRecord = Ended & { src: string; direction: string };
const inWords = ({ outcome, outcome_reason: reason }: Ended): string => `${outcome}: ${reason}`;

async function place(
  server: TestServer,
  bob: Phone,
  { from, to, bob: does = {}, givesUp = false }: Kind,
): Promise<void> {
  const caller = server.closing(await Phone.open(from, server.sip()));
  bob.refuses = does.refuses;
  bob.answers = does.answers ?? true;
  const called = caller.call(to).then(
    () => true,
    () => false,
  );
  if (givesUp) {
    await caller.until(() => caller.progress.length > 0, 'it rings');
    caller.hangup();
  }
  if (await called) caller.hangup();
}

test(
  'is the same in the list, in the title, in the record, in the log and in the metric',
  async ({ server, open }) => {
    const bob = server.closing(await Phone.open('bob', server.sip(), bobsPort));
    const wanted: Record<string, string> = {};
    for (const [at, kind] of kinds.entries()) {
      wanted[kind.from] = kind.outcome;
      await place(server, bob, kind);
      await untilAsked(
        async () => {
          const { calls } = (await (await asked(server, '/hookswitch/calls?state=ended')).json()) as CallPage;
          return calls.length === at + 1;
        },
        () => `the call of ${kind.from} does not end`,
      );
    }
    const { calls } = (await (await asked(server, '/hookswitch/calls')).json()) as CallPage;
    const listed = calls.map(({ channels: [first], outcome: { result, reason } }) => [
      first?.caller.number ?? '',
      `${result}: ${reason}`,
    ]);
    assert.equal(Object.fromEntries(listed.reverse()), wanted, 'the list');

    const records = (): Record<string, string> => {
      const all = readFileSync(file, 'utf8').trimEnd().split('\n');
      const incoming = all.map((line) => JSON.parse(line) as CallRecord).filter(({ direction }) => direction === 'in');
      return Object.fromEntries(incoming.map((each) => [each.src, inWords(each)]));
    };
    await untilAsked(
      () => Promise.resolve(records()['108'] !== undefined),
      () => 'the last record is not written',
    );
    assert.equal(records(), wanted, 'the record');
    const logged = server.lines() as unknown as (Ended & { msg: string; channel: string; from: string })[];
    const ends = new Map(logged.flatMap((line) => (line.msg === 'a call has ended' ? [[line.channel, line]] : [])));
    const inLog = logged.flatMap(({ msg, channel, from }) => {
      const end = msg === 'a call comes in' ? ends.get(channel) : undefined;
      return end ? [[from, inWords(end)]] : [];
    });
    assert.equal(Object.fromEntries(inLog), wanted, 'the log');

    const counted: Record<string, number> = {};
    for (const line of (await (await asked(server, '/metrics')).text()).split('\n')) {
      const [, direction, outcome, count] =
        /calls_ended_total\{direction="(\w+)".*outcome="(\w+)".*\} (\d+)/.exec(line) ?? [];
      if (direction === 'in') counted[outcome ?? ''] = (counted[outcome ?? ''] ?? 0) + Number(count);
    }
    assert.equal(counted, { answered: 1, refused: 3, failed: 3, abandoned: 1 }, 'the metric');

    const shown = await open();
    for (const [from, outcome] of Object.entries(wanted)) {
      const [result = '', reason = ''] = outcome.split(/: (.*)/);
      await shown.getByRole('link', { name: 'Calls', exact: true }).first().click();
      const row = shown.getByRole('link', { name: new RegExp(`${from} → `) });
      assert.is(await row.locator('.pill').textContent(), result, `the list on the page, of ${from}`);
      if (result !== 'answered')
        assert.ok((await row.textContent())?.includes(reason), `${from}: ${await row.textContent()}`);
      await row.click();
      await shown.getByText(reason).first().waitFor();
      const head = shown.locator('.call-head');
      assert.is(await head.locator('.pill').first().textContent(), result, `the title of ${from}`);
      assert.ok((await head.textContent())?.includes(reason), `${from}: ${await head.textContent()}`);
    }
  },
  () => ({
    dialplan: {
      default: {
        '202': ['Dial(PJSIP/bob,20)'],
        '203': ['Dial(PJSIP/bob,1)'],
        closed: ['Hangup(21)'],
        away: ['Stasis(nobody)'],
      },
    },
    endpoints: { bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] } } },
    cdr: { file },
    logLevel: 'info',
  }),
);

page.run();
