import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chartDocuments } from './chart-documents.ts';

/**
 * Makes what the server shows people, in dist/page: the page as one script and one style sheet, and the charts. Nothing
 * of it is loaded from anywhere else when it is shown.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const out = join(root, 'dist', 'page');

mkdirSync(out, { recursive: true });
await build({
  absWorkingDir: root,
  entryPoints: { app: 'page/main.tsx' },
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  outdir: out,
  legalComments: 'none',
});
for (const name of ['index.html', 'icon.svg']) copyFileSync(join(root, 'page', name), join(out, name));
writeFileSync(join(out, 'charts.json'), JSON.stringify(await chartDocuments()));
