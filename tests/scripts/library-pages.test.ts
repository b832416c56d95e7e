import { existsSync, readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { libraryPage } from '../../scripts/library-pages.ts';

const place = (path: string) => new URL(`../../${path}`, import.meta.url);
const read = (path: string) => readFileSync(place(path), 'utf8');

test('a function is shown whole, an interface as a table of its members with their comments', () => {
  const statements = [
    '/** Where to ring: see {@link ring}. */\nexport interface Place {\n    /** Its | number. */\n    readonly door: string;\n    /**\n     * Opens it.\n     * @throws Error when it is locked.\n     */\n    open(by: {\n        key: string;\n    }): void;\n}\n',
    '/** Rings. @returns whether somebody came. */\nexport declare function ring(at: Place): boolean;\n',
    'type Inner = string;\n',
  ];
  const page = libraryPage('index', statements, new Set());
  const at = page.indexOf('[ring]');
  assert.is(
    page.slice(at),
    `[ring](#ring) · [Place](#place)

### ring

Rings. Returns whether somebody came.

\`\`\`ts
function ring(at: Place): boolean;
\`\`\`

### Place

Where to ring: see \`ring\`.

| Member | Meaning |
| --- | --- |
| \`readonly door: string\` | Its \\| number. |
| \`open(by: { key: string; }): void\` | Opens it. Throws Error when it is locked. |
`,
  );
});

for (const [types, page] of [
  ['index', 'hookswitch'],
  ['client', 'client'],
  ['testing', 'testing'],
] as const)
  test(`the page of ${page} describes each export, and its links lead somewhere`, () => {
    const text = read(`docs/library/${page}.md`);
    const names = [
      ...read(`packages/types/${types}.d.ts`).matchAll(
        /^export (?:declare )?(?:class|interface|type|function|const) (\w+)/gm,
      ),
    ].map(([, name = '']) => name);
    const generated = read('packages/client/src/generated.ts');
    const missing = names.filter((name) => !text.includes(`### ${name}\n`) && !generated.includes(` ${name} `));
    assert.equal(missing, []);
    assert.ok(names.length >= 3);
    const targets = [...text.matchAll(/\]\((?!http|#)([^)#]+)\)/g)].map(([, target = '']) => target);
    assert.equal(
      targets.filter((target) => !existsSync(new URL(target, place('docs/library/')))),
      [],
    );
  });

test.run();
