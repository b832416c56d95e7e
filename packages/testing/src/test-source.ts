import { type Act, type Played, type RecordedCall, readBundle, readCall } from './recorded-call.ts';

/** A statement of the test, and the time when what it waits for was recorded, in ms since the call began. */
type Statement = { atMs: number; code: string /** It waits itself: no time is moved before it. */; waits: boolean };

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&').replace(/[\r\n\u2028\u2029]/g, ' ')}'`;
/** A text on one line, for a comment. */
const plain = (text: string): string => text.replace(/[\r\n\u2028\u2029]/g, ' ');

/** Names of phones as variables. */
function variablesOf(phones: Iterable<string>): Map<string, string> {
  const variables = new Map<string, string>();
  for (const phone of phones) {
    const plainName = phone.replace(/\W+/g, '_').replace(/^(\d)/, '_$1') || 'phone';
    const name = `${plainName}Phone`;
    variables.set(phone, [...variables.values()].includes(name) ? `${name}${variables.size}` : name);
  }
  return variables;
}

/** Digits of one phone that came one after the other are pressed together. */
function joined(acts: readonly Act[]): Act[] {
  const found: Act[] = [];
  for (const act of acts) {
    const last = found.at(-1);
    if (act.does === 'press' && last?.does === 'press' && last.phone === act.phone && act.atMs - last.atMs < 1_000)
      found[found.length - 1] = { ...act, digit: last.digit + act.digit };
    else found.push(act);
  }
  return found;
}

function statementOf(act: Act, phone: string): Statement {
  const codes: { [K in Act['does']]?: string } = {
    ring: 'ring()',
    progress: 'progress()',
    answer: 'answer()',
    hold: 'hold()',
    unhold: 'unhold()',
  };
  let code = codes[act.does] ?? '';
  if (act.does === 'dial') code = `dial(${quoted(act.extension)})`;
  if (act.does === 'transfer') code = `transfer(${quoted(act.extension)})`;
  if (act.does === 'press') code = `press(${quoted(act.digit)})`;
  if (act.does === 'hangup') code = act.cause === 16 ? 'hangup()' : `hangup(${act.cause})`;
  return { atMs: act.atMs, code: `await ${phone}.${code};`, waits: false };
}

/** Prompts that a phone heard whole. */
const heard = (played: readonly Played[], phones: ReadonlyMap<string, string>): Statement[] =>
  played.flatMap(({ media, phone = '', toMs }) => {
    const [, prompt] = /^sound:(.+)$/.exec(media) ?? [];
    const variable = phones.get(phone);
    if (prompt === undefined || variable === undefined) return [];
    return [{ atMs: toMs, code: `await ${variable}.hears(${quoted(prompt)});`, waits: true }];
  });

/** The statements in order, with the time that passes between them. */
function inTime(statements: Statement[]): string[] {
  const lines: string[] = [];
  let now = 0;
  for (const { atMs, code, waits } of statements.sort((one, other) => one.atMs - other.atMs)) {
    if (!waits && atMs - now >= 20) lines.push(`await pbx.clock.advance(${Math.round(atMs - now)});`);
    lines.push(code);
    now = Math.max(now, atMs);
  }
  return lines;
}

/** Events by application, in order. */
function eventsOf({ lines, applications }: RecordedCall): Map<string, string[]> {
  const found = new Map<string, string[]>(applications.map((name) => [name, []]));
  for (const { text } of lines) {
    const [, type = '', application = ''] = /^(\w+) for (.+?):/.exec(text) ?? [];
    found.get(application)?.push(type);
  }
  return found;
}

const option = (name: string, value: unknown): string =>
  `    ${name}: ${JSON.stringify(value, undefined, 2).replaceAll('\n', '\n    ')},\n`;

const imports = [
  ['assert', 'node:assert/strict'],
  ['{ test }', 'node:test'],
  ['{ startTestServer }', 'hookswitch/testing'],
]
  .map(([what, from]) => `import ${what} from '${from}';\n`)
  .join('');

/**
 * Writes a test of a recorded call: phones do what far sides did, hear the prompts, and the events of the call come
 * again. It runs under `node --test`; `APPLICATION` is the command that starts the application.
 * @param text the bundle. @throws TypeError if it is none.
 */
export function testOf(text: string): string {
  const bundle = readBundle(text);
  const call = readCall(bundle.call.timeline, bundle.call.began);
  const phones = variablesOf(call.phones.keys());
  const { dialplan } = (bundle.config ?? {}) as { dialplan?: unknown };
  const variableOf = (phone: string) => phones.get(phone) as string;
  const statements = [
    ...joined(call.acts).map((act) => statementOf(act, variableOf(act.phone))),
    ...heard(call.played, phones),
    ...call.ended.map(({ atMs, phone }) => ({ atMs, code: `await ${variableOf(phone)}.hungUp();`, waits: true })),
  ];
  const called = new Set(
    call.acts.filter(({ does }) => does === 'ring' || does === 'answer').map(({ phone }) => phone),
  );
  const silent = (phone: string) => (called.has(phone) ? `.does({ when: 'silent' })` : '');
  const endpoints = Object.fromEntries([...call.phones].filter(([, { context }]) => context !== undefined));
  const options = [
    option('app', call.applications[0] ?? 'hello'),
    option('phones', [...phones.keys()]),
    ...(dialplan === undefined ? [] : [option('dialplan', dialplan), option('endpoints', endpoints)]),
  ].join('');
  const events = [...eventsOf(call)].flatMap(([application, types]) => types.map((type) => `${application}: ${type}`));
  const expected = [...new Set(events.map((each) => each.replace(/^.*: /, '')))];
  const body = [
    `await pbx.run('sh', ['-c', \`exec \${process.env.APPLICATION ?? 'node app.js'}\`]);`,
    ...[...phones].map(([phone, variable]) => `const ${variable} = pbx.phone(${quoted(phone)})${silent(phone)};`),
    ...inTime(statements),
    'await pbx.idle();',
    `const wanted = ${JSON.stringify(expected)};`,
    'const types = new Set(pbx.events.map(({ type }) => type));',
    `assert.deepEqual(wanted.filter((type) => !types.has(type)), [], 'these events did not come');`,
  ];
  const notes = call.missing.map((each) => `// Not in this test: ${plain(each)}.\n`).join('');
  return `${imports}
// Call ${plain(bundle.call.id)}, recorded ${new Date(bundle.call.began).toISOString()}. What callers said is not in the recording.
${notes}test(${quoted(`call ${bundle.call.id}`)}, async () => {
  const pbx = await startTestServer({
${options}  });
  try {
${body.map((line) => `    ${line}\n`).join('')}  } finally {
    await pbx.close();
  }
});
`;
}
