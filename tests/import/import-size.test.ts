import { execFileSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeArguments } from '../../scripts/compiled.ts';

test('an import of twice the size takes twice the steps, whatever there is more of', () => {
  const { NODE_V8_COVERAGE: _, ...env } = process.env;
  const program = nodeArguments('tests/import/count-steps.ts');
  const steps = JSON.parse(execFileSync(process.execPath, program, { encoding: 'utf8', env })) as Record<
    string,
    [number, number]
  >;
  const grown = Object.entries(steps).map(([name, [one, two]]) => `${name}: ${two / one < 2.2 ? 'linear' : two / one}`);
  assert.equal(
    grown,
    Object.keys(steps).map((name) => `${name}: linear`),
  );
});

test.run();
