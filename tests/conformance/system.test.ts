import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Case, check, run, runAll, usesTarget } from '../support/conformance-cases.ts';
import type { Client } from '../support/conformance-client.ts';
import { misfits } from '../support/conformance-surface.ts';

const test = suite('the system and its stores, asked from outside');
let client: Client;

usesTarget(test, (own) => {
  client = own;
});

const cases = (title: string, list: readonly Case[]) => test(title, () => runAll(client, {}, list));
/** Both names of the resource; others than Hookswitch know one. */
const bases = () => (client.target.ours ? ['/asterisk', '/system'] : ['/asterisk']);

/* ---- 2.8 The system ---------------------------------------------------------------------------------------------------- */

test('a ping is answered with the time and the id that events carry', async () => {
  const app = await client.connect(client.unique('ping'), '&subscribeAll=true');
  await client.must('POST /asterisk/variable?variable=PING&value=1');
  const event = await app.wait('ChannelVarset', ({ variable }) => variable === 'PING');
  for (const base of bases()) {
    const ping = await client.must(`GET ${base}/ping`);
    assert.equal(misfits('AsteriskPing', ping), []);
    assert.equal([ping['ping'], ping['asterisk_id']], ['pong', event['asterisk_id']]);
  }
  assert.match(String(event['asterisk_id']), /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/);
  await client.must('POST /asterisk/variable?variable=PING');
  await app.close();
});

test('info shows the sections that are asked for', async () => {
  for (const base of bases()) {
    const all = await client.must(`GET ${base}/info`);
    assert.equal(misfits('AsteriskInfo', all), []);
    assert.equal(Object.keys(all).sort(), ['build', 'config', 'status', 'system']);
    const sections: [string, string[]][] = [
      ['build', ['build']],
      ['status,system', ['status', 'system']],
      ['CONFIG', ['config']],
      ['config,what', ['config']],
      ['what', []],
      ['config,config', ['config']],
    ];
    for (const [only, names] of sections) {
      const shown = await client.must(`GET ${base}/info?only=${only}`);
      assert.equal(Object.keys(shown).sort(), names, only);
    }
  }
  const { config } = await client.must<{ config: Record<string, unknown> }>('GET /asterisk/info?only=config');
  assert.is(Object.values(config).includes(0), false);
});

test('functions that need no channel are written and read', async () => {
  const [name, device] = [client.unique('global'), `Stasis:${client.unique('device')}`];
  const write = (call: string, value: string) =>
    client.ask(`POST /asterisk/variable?variable=${encodeURIComponent(call)}&value=${value}`);
  const read = async (call: string) =>
    (await client.must<{ value: string }>(`GET /asterisk/variable?variable=${encodeURIComponent(call)}`)).value;
  check(await write(`GLOBAL(${name})`, '1'), { status: 204 }, 'write');
  assert.is(await read(name), '1');
  check(await write(`GLOBAL_DELETE(${name})`, ''), { status: 204 }, 'delete');
  assert.is(await read(name), '');
  if (!client.target.ours) return;
  for (const [call, why] of [
    ['SHELL(true)', 'the function SHELL is refused: it reaches beyond calls'],
    ['NO_SUCH(x)', 'there is no function NO_SUCH'],
    ['CALLERID(num)', 'there is no function CALLERID'],
    [
      'GLOBAL()',
      'GLOBAL() cannot be written so: it names a variable, of which there may be so many as limits.global_variables says',
    ],
    ['DIALPLAN_EXISTS(a)', 'DIALPLAN_EXISTS(a) cannot be written so: it can be read only'],
    [
      'DEVICE_STATE(PJSIP/alice)',
      'DEVICE_STATE(PJSIP/alice) cannot be written so: the devices are those that begin with Custom: or Stasis:, in a state of NOT_INUSE, INUSE, BUSY, INVALID, UNAVAILABLE, RINGING, RINGINUSE, ONHOLD',
    ],
  ] as const)
    check(await write(call, '1'), { status: 400, message: `Failed to execute function: ${why}` }, call);
  check(await write(`DEVICE_STATE(${device})`, 'BUSY'), { status: 204 }, 'device');
  assert.is(await read(`DEVICE_STATE(${device})`), 'BUSY');
  assert.equal(
    [await read('DIALPLAN_EXISTS(conformance,wait)'), await read('DIALPLAN_EXISTS(conformance,nobody)')],
    ['1', '0'],
  );
  assert.equal([await read('PJSIP_DIAL_CONTACTS(alice)'), await read('PJSIP_ENDPOINT(alice,aors)')], ['', 'alice']);
  assert.equal([await read('SHELL(true)'), await read('CALLERID(num)')], ['', '']);
  await client.must(`DELETE /deviceStates/${device}`);
});

test('global variables are written, read, told and removed', async () => {
  const app = await client.connect(client.unique('globals'), '&subscribeAll=true');
  const name = client.unique('GLOBAL').replaceAll('-', '_');
  for (const base of bases()) {
    const noName = { status: 400, message: 'Variable name is required' };
    check(await client.ask(`GET ${base}/variable`), noName, 'read');
    check(await client.ask(`POST ${base}/variable?value=1`), noName, 'write');
    check(await client.ask(`GET ${base}/variable?variable=${name}`), { status: 200, body: { value: '' } }, 'unset');
    check(await client.ask(`POST ${base}/variable?variable=${name}&value=a+b`), { status: 204 }, 'write');
    check(await client.ask(`GET ${base}/variable?variable=${name}`), { status: 200, body: { value: 'a b' } }, 'set');
    check(await client.ask(`POST ${base}/variable?variable=${name}`), { status: 204 }, 'remove');
    check(await client.ask(`GET ${base}/variable?variable=${name}`), { status: 200, body: { value: '' } }, 'removed');
  }
  await app.fence();
  const told = app.messages.filter(({ variable }) => variable === name);
  assert.equal(
    told.map(({ type, value }) => [type, value]),
    bases().flatMap(() => [
      ['ChannelVarset', 'a b'],
      ['ChannelVarset', ''],
    ]),
  );
  assert.is(
    told.some((event) => 'channel' in event),
    false,
  );
  await app.close();
});

const logMissing = { status: 404, message: 'Log channel does not exist' };
const noLevels = { status: 400, message: 'Configuration levels are required' };
test('log channels are made, shown, rotated and removed', async () => {
  for (const base of bases()) {
    const name = client.unique('log');
    const ask = (line: string) => client.ask(line.replace(' ', ` ${base}`));
    check(await ask(`DELETE /logging/${name}`), logMissing, 'delete');
    check(await ask(`PUT /logging/${name}/rotate`), logMissing, 'rotate');
    check(await ask(`POST /logging/${name}`), noLevels, 'create');
    check(await ask(`POST /logging/${name}?configuration=`), noLevels, 'create');
    check(await ask(`POST /logging/${name}?configuration=error,notice`), { status: 204 }, 'create');
    const exists = { status: 409, message: 'Log channel already exists' };
    check(await ask(`POST /logging/${name}?configuration=debug`), exists, 'again');
    check(await ask(`POST /logging/${name}`), noLevels, 'again without levels');
    const list = await client.must<{ channel: string }[]>(`GET ${base}/logging`);
    assert.equal(misfits('List[LogChannel]', list), []);
    const { channel, ...shown } = list.find((each) => each.channel.endsWith(`/${name}`))!;
    assert.match(channel, /^\//);
    assert.equal(shown, { type: 'File', status: 'Enabled', configuration: 'NOTICE ERROR ' });
    check(await ask(`PUT /logging/${name}/rotate`), { status: 204 }, 'rotate');
    check(await ask(`DELETE /logging/${name}`), { status: client.target.ours ? 204 : 404 }, 'delete');
    check(await ask(`DELETE /logging/${name}`), logMissing, 'delete again');
  }
});

test('a log channel stays in its directory, and its levels are known', async () => {
  if (!client.target.ours) return;
  const outside = { status: 400, message: "Log channel name '../log' is outside the log directory" };
  check(await client.ask('POST /asterisk/logging/..%2Flog?configuration=debug'), outside, 'outside');
  for (const name of ['%2Fetc%2Flog', '%00', 'a%2F..%2F..%2Fb'])
    assert.is((await client.ask(`POST /asterisk/logging/${name}?configuration=debug`)).status, 400, name);
  const levels = 'debug, trace, notice, warning, error, verbose, dtmf, *';
  const unknown = { status: 400, message: `Configuration level 'what' is not known: levels are ${levels}` };
  check(await client.ask('POST /asterisk/logging/x?configuration=debug,WHAT'), unknown, 'level');
});

test('modules are shown, and stay as they are', async () => {
  for (const base of bases()) {
    const modules = await client.must<{ name: string }[]>(`GET ${base}/modules`);
    assert.equal(misfits('List[Module]', modules), []);
    const name = 'res_ari.so';
    assert.is((await client.must(`GET ${base}/modules/${name}`))['name'], name);
    const nothing = `${base}/modules/nothing.so`;
    const asked: [string, number, string][] = [
      [`GET ${nothing}`, 404, 'Module could not be found in running modules'],
      [`POST ${base}/modules/${name}`, 409, 'Module is already loaded'],
      [`DELETE ${nothing}`, 404, 'Module not found in running modules'],
      [`PUT ${nothing}`, 404, 'Module not found in running modules'],
    ];
    if (client.target.ours)
      asked.push(
        [`POST ${nothing}`, 409, 'Module could not be loaded properly'],
        [`DELETE ${base}/modules/${name}`, 409, 'Module could not be unloaded'],
        [`PUT ${base}/modules/${name}`, 409, 'Module does not support reloading'],
      );
    for (const [line, status, message] of asked) check(await client.ask(line), { status, message }, line);
  }
});

const field = (attribute: string, value: string) => ({ attribute, value });
test('objects of the configuration are made, changed, shown and removed', async () => {
  for (const base of bases()) {
    const at = `${base}/config/dynamic/res_pjsip`;
    const id = client.unique('aor');
    const aor = `${at}/aor/${id}`;
    const put = (fields: unknown, path = aor) =>
      client.ask(`PUT ${path}`, fields === undefined ? {} : { json: { fields } });
    const noClass = { status: 404, message: "configClass 'nothing' not found" };
    const noType = { status: 404, message: "objectType 'nothing' not found" };
    const noObject = { status: 404, message: `Object with id '${id}' not found` };
    for (const method of ['GET', 'PUT', 'DELETE']) {
      check(await client.ask(`${method} ${base}/config/dynamic/nothing/nothing/x`), noClass, `${method} class`);
      check(await client.ask(`${method} ${at}/nothing/x`), noType, `${method} type`);
    }
    check(await client.ask(`GET ${aor}`), noObject, 'get');
    check(await client.ask(`DELETE ${aor}`), noObject, 'delete');
    const notMade = { status: 400, message: `Creation of object '${id}' failed field value validation` };
    // Ours says why behind Asterisk's words.
    const reasons = client.target.ours ? [': there is no attribute nothing', ': max_contacts cannot be so'] : ['', ''];
    for (const [index, fields] of [[field('nothing', '1')], [field('max_contacts', 'many')]].entries())
      check(await put(fields), { ...notMade, message: `${notMade.message}${reasons[index]}` }, JSON.stringify(fields));
    check(await client.ask(`GET ${aor}`), noObject, 'nothing was made');
    const made = await put([field('max_contacts', '2')]);
    check(made, { status: 200 }, 'make');
    assert.equal(misfits('List[ConfigTuple]', made.body), []);
    const noFields = { status: 400, message: `Fields must be provided to update object '${id}'` };
    check(await put(undefined), noFields, 'change nothing');
    const notChanged = { status: 400, message: `Update of object '${id}' failed field value validation` };
    check(
      await put([field('max_contacts', '3'), field('max_contacts', 'many')]),
      { ...notChanged, message: `${notChanged.message}${reasons[1]}` },
      'change wrongly',
    );
    const shown = await client.must<{ attribute: string; value: string }[]>(`GET ${aor}`);
    assert.equal(
      shown.filter(({ attribute }) => attribute === 'max_contacts'),
      [field('max_contacts', '2')],
    );
    check(await client.ask(`DELETE ${aor}`), { status: 204 }, 'delete');
    check(await client.ask(`DELETE ${aor}`), noObject, 'delete again');
  }
});

test('objects of the configuration file can be seen, not changed', async () => {
  if (!client.target.ours) return;
  const alice = '/asterisk/config/dynamic/res_pjsip/endpoint/alice';
  assert.equal(misfits('List[ConfigTuple]', await client.must(`GET ${alice}`)), []);
  const noFields = { status: 400, message: "Fields must be provided to update object 'alice'" };
  check(await client.ask(`PUT ${alice}`), noFields, 'no fields');
  const forbidden = { status: 403, message: "Cannot update sorcery objects of type 'endpoint'" };
  check(await client.ask(`PUT ${alice}`, { json: { fields: [field('context', 'x')] } }), forbidden, 'change');
  check(
    await client.ask(`DELETE ${alice}`),
    { status: 403, message: "Could not delete object with id 'alice'" },
    'remove',
  );
});

/* ---- 2.9 Device states, mailboxes, sounds ------------------------------------------------------------------------------ */

const uncontrolled = { status: 409, message: 'Uncontrolled device specified' };
const nameless = { status: 404, message: 'Device name is missing' };
const noDevice = { status: 500, message: 'Unknown device' };
cases('a device state is refused for the first fault of several', [
  { ask: 'PUT /deviceStates/PJSIP%2Falice?deviceState=what', ...uncontrolled },
  { ask: 'PUT /deviceStates/x', ...uncontrolled },
  { ask: 'PUT /deviceStates/Stasis:?deviceState=what', ...nameless },
  { ask: 'PUT /deviceStates/Stasis:x?deviceState=what', ...noDevice },
  { ask: 'PUT /deviceStates/Stasis:x?deviceState=UNKNOWN', ...noDevice },
  { ask: 'PUT /deviceStates/Stasis:x', ...noDevice },
  { ask: 'DELETE /deviceStates/x', ...uncontrolled },
  { ask: 'DELETE /deviceStates/stasis:', ...nameless },
  { ask: 'DELETE /deviceStates/Stasis:never-set', status: 204 },
  { ask: 'GET /deviceStates/Stasis:never-set', status: 200, body: { name: 'Stasis:never-set', state: 'UNKNOWN' } },
  { ask: 'GET /deviceStates/What%2Fx', status: 200, body: { name: 'What/x', state: 'INVALID' } },
  { ask: 'GET /deviceStates/nonsense', status: 200, body: { name: 'nonsense', state: 'INVALID' } },
  { ask: 'GET /deviceStates/PJSIP%2Fnobody', status: 200, body: { name: 'PJSIP/nobody', state: 'INVALID' } },
]);

test('a device state is set, shown, told and forgotten', async () => {
  const app = await client.connect(client.unique('devices'));
  const name = `Stasis:${client.unique('device')}`;
  await client.must(`POST /applications/${app.name}/subscription?eventSource=deviceState:${name}`);
  const states = ['NOT_INUSE', 'INUSE', 'BUSY', 'INVALID', 'UNAVAILABLE', 'RINGING', 'RINGINUSE', 'ONHOLD'];
  for (const state of states) {
    await run(client, { name }, { ask: `PUT /deviceStates/{name}?deviceState=${state}`, status: 204 });
    await run(client, { name }, { ask: 'GET /deviceStates/{name}', status: 200, body: { name, state } });
  }
  const list = await client.must<{ name: string; state: string }[]>('GET /deviceStates');
  assert.equal(misfits('List[DeviceState]', list), []);
  assert.equal(
    list.filter((each) => each.name === name),
    [{ name, state: 'ONHOLD' }],
  );
  await run(client, { name }, { ask: 'DELETE /deviceStates/{name}', status: 204 });
  await run(client, { name }, { ask: 'GET /deviceStates/{name}', status: 200, body: { name, state: 'UNKNOWN' } });
  await app.fence();
  assert.equal(
    app.messages.map(({ device_state }) => device_state),
    // Asterisk tells nobody that a state was forgotten.
    (client.target.ours ? [...states, 'UNKNOWN'] : states).map((state) => ({ name, state })),
  );
  await app.close();
});

test('a phone that is away is a device that cannot be reached', async () => {
  if (!client.target.ours) return;
  const body = { name: 'PJSIP/alice', state: 'UNAVAILABLE' };
  for (const name of ['PJSIP%2Falice', 'pjsip%2FAlice'])
    check(await client.ask(`GET /deviceStates/${name}`), { status: 200, body }, name);
});

const noMailbox: readonly Case[] = [
  { ask: 'GET /mailboxes/nobody', status: 404, message: 'Mailbox is does not exist' },
  { ask: 'DELETE /mailboxes/nobody', status: 404, message: 'Mailbox does not exist' },
];
test('a mailbox that is not there is refused, in two spellings', async () => {
  if (await client.has('/mailboxes')) await runAll(client, {}, noMailbox);
});

test('a mailbox is made, changed, shown and removed', async () => {
  if (!(await client.has('/mailboxes'))) return;
  const name = client.unique('mail@box/1');
  const shown = (old_messages: number, new_messages: number) => ({ name, old_messages, new_messages });
  await run(client, { name }, { ask: 'PUT /mailboxes/{name}?oldMessages=1&newMessages=2', status: 204 });
  await run(client, { name }, { ask: 'GET /mailboxes/{name}', status: 200, body: shown(1, 2) });
  await run(client, { name }, { ask: 'PUT /mailboxes/{name}?newMessages=3', status: 204 });
  await run(client, { name }, { ask: 'GET /mailboxes/{name}', status: 200, body: shown(0, 3) });
  const list = await client.must<{ name: string }[]>('GET /mailboxes');
  assert.equal(misfits('List[Mailbox]', list), []);
  assert.equal(
    list.filter((each) => each.name === name),
    [shown(0, 3)],
  );
  await run(client, { name }, { ask: 'DELETE /mailboxes/{name}', status: 204 });
  await run(client, { name }, { ask: 'DELETE /mailboxes/{name}', status: 404, message: 'Mailbox does not exist' });
});

cases('sounds that are not there are refused', [
  { ask: 'GET /sounds?lang=xx', status: 404, message: 'No sounds found that matched the query' },
  { ask: 'GET /sounds?format=what', status: 404, message: 'No sounds found that matched the query' },
  { ask: 'GET /sounds?lang=en&format=what', status: 404, message: 'No sounds found that matched the query' },
  { ask: 'GET /sounds/nothing', status: 404, message: 'Sound not found' },
]);

test('sounds are listed with their languages and formats', async () => {
  type Sound = { id: string; text?: string; formats: { language: string; format: string }[] };
  const all = await client.must<Sound[]>('GET /sounds');
  assert.equal(misfits('List[Sound]', all), []);
  const [{ language, format }] = all[0]!.formats as [{ language: string; format: string }];
  const some = await client.must<Sound[]>(`GET /sounds?lang=${language}&format=${format}`);
  assert.ok(some.length > 0);
  for (const { formats } of some) assert.equal(formats, [{ language, format }]);
  for (const id of ['beep', 'digits/1'])
    assert.equal(
      await client.must(`GET /sounds/${encodeURIComponent(id)}`),
      all.find((sound) => sound.id === id),
    );
});

test.run();
