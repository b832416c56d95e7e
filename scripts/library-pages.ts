/** The pages of the package's own interface, docs/library, made of its declarations. */

const heads = {
  index: [
    '`hookswitch`',
    "import { startServer } from 'hookswitch';",
    'Runs a server in your own process. [The operations guide](../operations.md) has its settings.',
  ],
  testing: [
    '`hookswitch/testing`',
    "import { startTestServer } from 'hookswitch/testing';",
    'Tests an application with virtual phones and simulated time. Begin with [the guide](../guides/testing.md).',
  ],
  client: [
    '`hookswitch/client`',
    "import { connect } from 'hookswitch/client';",
    'A typed client for applications, in Node and in browsers. [hello.ts](../../examples/hello.ts) is a first program. ' +
      'It works with Asterisk, too, but for what `hookswitch` holds.',
  ],
} as const;

/** A comment as text: its marks, its tags and its line breaks are gone. */
const plain = (comment: string): string =>
  comment
    .replace(/^\s*\/\*\*|\*\/\s*$/g, '')
    .replace(/\n\s*\*( |$)/gm, '\n')
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll(
      /@(throws|returns) (.)/g,
      (_, tag: string, first: string) => `${tag === 'throws' ? 'Throws' : 'Returns'} ${first}`,
    )
    .replaceAll(/@param (\w+)/g, '`$1`:')
    .trim();

const inCell = (text: string): string => text.replaceAll(/\s*\n\s*(- )?/g, ' ').replaceAll('|', '\\|');
const code = (text: string): string => `\`${inCell(text).replaceAll('`', "'")}\``;

type Member = { text: string; comment: string };

/** The members of a block whose lines begin with `indent` blanks. */
function membersOf(lines: readonly string[], indent: number): Member[] {
  const start = new RegExp(`^ {${indent}}\\S`);
  const found: Member[] = [];
  let [comment, text] = ['', ''];
  let inComment = false;
  for (const line of lines) {
    if (start.test(line) && line.trimStart().startsWith('/**') && text === '') [inComment, comment] = [true, ''];
    if (inComment) {
      comment += `${line}\n`;
      inComment = !line.includes('*/');
      continue;
    }
    if (text === '' && !start.test(line)) continue;
    text += `${line}\n`;
    if (!start.test(line) || !/[;}]$/.test(line)) continue;
    found.push({ text: text.trim(), comment: plain(comment) });
    [comment, text] = ['', ''];
  }
  return found;
}

const withoutComments = (text: string): string => text.replaceAll(/\s*\/\*\*[\s\S]*?\*\//g, '');

/** The operations of a client, by resource. */
function operations(name: string, text: string, prefix: string): string {
  const rows = membersOf(text.split('\n').slice(1), 4).flatMap(({ text: resource }) => {
    const [, word = ''] = /^(\w+): \{/.exec(resource) ?? [];
    const page = prefix === 'ari' ? `../api/${word}.md` : `../api/hookswitch-${word}.md`;
    return membersOf(resource.split('\n').slice(1), 8).map((each) => {
      const [operation = ''] = each.text.split('(');
      return `| [\`${prefix}.${word}.${operation}\`](${page}) | ${inCell(each.comment)} |`;
    });
  });
  const about = 'Each gives a promise of its model. Its page has the parameters, which are the members of one object.';
  return `### ${name}\n\n${about}\n\n| Operation | Meaning |\n| --- | --- |\n${rows.join('\n')}\n`;
}

function declaration(statement: string): { name: string; page: string } | undefined {
  const [, comment = '', body = ''] = /^(\/\*\*[\s\S]*?\*\/\s*)?([\s\S]*)$/.exec(statement.trim()) ?? [];
  const [, kind = '', name = ''] = /^export (?:declare )?(class|interface|type|function|const) (\w+)/.exec(body) ?? [];
  if (name === '') return undefined;
  if (name === 'AriOperations') return { name, page: operations(name, body, 'ari') };
  if (name === 'OwnOperations') return { name, page: operations(name, body, 'ari.hookswitch') };
  const lines = body.split('\n');
  const isObject = kind !== 'function' && lines.length > 1 && /\{$/.test(lines[0] ?? '');
  const members = isObject ? membersOf(lines.slice(1), 4) : [];
  const shown =
    members.length > 0 ? `${(lines[0] ?? '').replace(/ ?\{$/, '').replace(/ =$/, '')}` : withoutComments(body).trim();
  const rows = members
    .filter(({ text }) => !/^(private|constructor|#)/.test(text))
    .map(({ text, comment: about }) => `| ${code(withoutComments(text).replace(/;$/, ''))} | ${inCell(about)} |`);
  const table = rows.length > 0 ? `\n| Member | Meaning |\n| --- | --- |\n${rows.join('\n')}\n` : '';
  const bare = shown.replace(/^export (declare )?/, '');
  const about = plain(comment);
  const shownKind = kind === 'function' || members.length === 0;
  const block = shownKind ? `\n\`\`\`ts\n${bare}\n\`\`\`\n` : '';
  const more = !shownKind && / extends /.test(bare) ? `\nAlso all of \`${bare.replace(/^.* extends /, '')}\`.\n` : '';
  return { name, page: `### ${name}\n\n${about}\n${block}${more}${table}` };
}

/**
 * The page of an entry of the package.
 * @param statements its declarations, each with its comment.
 * @param described names that other pages describe: models and events.
 */
export function libraryPage(
  name: keyof typeof heads,
  statements: readonly string[],
  described: ReadonlySet<string>,
): string {
  const [title, example, about] = heads[name];
  const pages = statements.flatMap((statement) => declaration(statement) ?? []);
  const own = pages.filter((each) => !described.has(each.name) || /Operations$/.test(each.name));
  const isFunction = ({ page }: { page: string }) => /```ts\nfunction/.test(page);
  const rank = (page: { name: string; page: string }) => (isFunction(page) ? 0 : /Operations$/.test(page.name) ? 2 : 1);
  own.sort((one, other) => rank(one) - rank(other));
  const others =
    name === 'client'
      ? '\nThe types of [models](../api/models.md) and [events](../api/events.md) have the names of these pages.\n'
      : '';
  const list = own.map((each) => `[${each.name}](#${each.name.toLowerCase()})`).join(' · ');
  return `# ${title}

Generated by \`npm run types\`; do not edit.

${about}

\`\`\`ts
${example}
\`\`\`

${list}
${others}
${own.map(({ page }) => page).join('\n')}`;
}
