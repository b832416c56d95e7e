import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import type { Logger } from '../../src/lib/log.ts';
import { createMailboxes } from '../../src/stores/mailboxes.ts';
import { createRecordingLog } from '../support/log.ts';
import { refusal } from '../support/refusal.ts';

type World = { directory: string; errors: () => string[]; log: Logger };

const keeping = suite<World>('mailboxes');

keeping.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const { log, lines } = createRecordingLog();
  world.errors = () => lines.filter(({ level }) => level === 'error').map(({ message }) => message);
  world.log = log;
});
keeping.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

keeping('mailboxes come back after a restart', async ({ directory, log }) => {
  const changes: unknown[] = [];
  const mailboxes = createMailboxes({ directory, clock: systemClock, log });
  mailboxes.onChanged((mailbox) => void changes.push(mailbox));
  assert.equal(mailboxes.list(), []);
  mailboxes.update('1000@default', { oldMessages: 2, newMessages: 1 });
  mailboxes.update('1001', {});
  mailboxes.update('1000@default', { newMessages: 3 });
  mailboxes.update('1002', {});
  mailboxes.delete('1002');
  const first = { name: '1000@default', old_messages: 0, new_messages: 3 };
  const second = { name: '1001', old_messages: 0, new_messages: 0 };
  assert.equal(mailboxes.list(), [first, second]);
  assert.equal(mailboxes.get('1000@default'), first);
  assert.equal(changes.slice(2), [
    first,
    { name: '1002', old_messages: 0, new_messages: 0 },
    { name: '1002', old_messages: 0, new_messages: 0 },
  ]);
  await mailboxes.close();
  assert.equal(createMailboxes({ directory, clock: systemClock, log }).list(), [first, second]);
});

keeping('a mailbox that is not there is refused in the words of Asterisk', ({ directory, log }) => {
  const mailboxes = createMailboxes({ directory, clock: systemClock, log });
  assert.equal(
    refusal(() => mailboxes.get('x')),
    [404, 'Mailbox is does not exist'],
  );
  assert.equal(
    refusal(() => mailboxes.delete('x')),
    [404, 'Mailbox does not exist'],
  );
  assert.equal(
    refusal(() => mailboxes.update('x', { newMessages: -1 })),
    [500, 'Error updating mailbox'],
  );
  assert.equal(mailboxes.list(), []);
});

keeping('a file of mailboxes that makes no sense is logged and left out', ({ directory, log, errors }) => {
  for (const text of ['{}', '[1]', '[{"name":"x","old_messages":-1,"new_messages":0}]']) {
    writeFileSync(join(directory, 'mailboxes.json'), text);
    assert.equal(createMailboxes({ directory, clock: systemClock, log }).list(), []);
  }
  assert.is(errors().length, 3);
});

keeping.run();
