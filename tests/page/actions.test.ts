import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { actionOf, withFields } from '../../page/core/actions.ts';
import { apis, operationNames } from '../../src/http/routes/index.ts';
import { bridgeOperations } from '../../src/machines/bridge.ts';
import { recordingCommands } from '../../src/machines/live-recording.ts';
import { ownershipOperations } from '../../src/machines/ownership.ts';
import { playbackCommands } from '../../src/machines/playback.ts';
import type { AllowedOperations } from '../../src/models/allowed-operations.ts';
import { operationBehind } from '../../src/models/operation-names.ts';

const actions = suite('buttons of the page');

/** Every operation that the charts decide, by what it is done to. */
const operations: Readonly<Record<AllowedOperations['kind'], readonly string[]>> = {
  channel: ['hangup', ...ownershipOperations],
  bridge: bridgeOperations,
  playback: playbackCommands,
  recording: recordingCommands,
};
/** Those without a button: they need another object, which has one. */
const without = ['channel bridge', 'bridge setVideoSource', 'bridge variable'];

const declared = apis.flatMap(({ base, resources }) =>
  resources.flatMap((resource) =>
    resource.operations.flatMap(({ method, paths, params, nickname }) =>
      paths.map((path) => ({
        ...{ method, path: `${base}${path}`, params: Object.keys(params) },
        ...{ resource: resource.name, nickname },
      })),
    ),
  ),
);
const isAt = (path: string, pattern: string): boolean => {
  const [segments, wanted] = [path.split('/'), pattern.split('/')];
  return segments.length === wanted.length && wanted.every((each, at) => each.startsWith('{') || each === segments[at]);
};

actions('every operation of the charts has a button, or needs an object that has one', () => {
  const missing = Object.entries(operations).flatMap(([kind, names]) =>
    names
      .filter((name) => actionOf(kind as AllowedOperations['kind'], 'x', name) === undefined)
      .map((name) => `${kind} ${name}`),
  );
  assert.equal(missing, without);
});

actions('every button asks for an operation that exists, with parameters that it has', () => {
  for (const [kind, names] of Object.entries(operations))
    for (const name of names) {
      const action = actionOf(kind as AllowedOperations['kind'], 'x/1', name);
      if (!action) continue;
      const [path = '', query = ''] = withFields(
        action,
        Object.fromEntries(action.fields.map((each) => [each.name, 'v'])),
      ).split('?');
      const found = declared.find((each) => each.method === action.method && isAt(path, each.path));
      assert.ok(found, `${action.method} ${path}`);
      for (const parameter of new URLSearchParams(query).keys())
        assert.ok(found?.params.includes(parameter), `${action.method} ${path} ${parameter}`);
    }
});

actions('each operation of the charts is known by the name of the operation that asks for it', () => {
  for (const [kind, names] of Object.entries(operations) as [AllowedOperations['kind'], readonly string[]][])
    for (const name of names) {
      const behind = operationBehind(kind, name);
      const found = operationNames.find(({ resource, nickname }) => behind === `${resource}:${nickname}`);
      assert.ok(found, `${kind} ${name}: ${behind}`);
      const action = actionOf(kind, 'x', name);
      if (!action) continue;
      const [path = ''] = action.path.split('?');
      const asked = declared.find((each) => each.method === action.method && isAt(path, each.path));
      assert.is(`${asked?.resource}:${asked?.nickname}`, behind);
    }
});

actions('what nothing brings back is asked for first', () => {
  const asks = Object.entries(operations).flatMap(([kind, names]) =>
    names
      .filter((name) => actionOf(kind as AllowedOperations['kind'], 'x', name)?.grave)
      .map((name) => `${kind} ${name}`),
  );
  assert.equal(asks, ['channel hangup', 'bridge destroy', 'playback stop', 'recording stop', 'recording cancel']);
});

actions('what was not filled in is not sent', () => {
  const action = actionOf('playback', 'p/1', 'pause');
  assert.ok(action);
  assert.is(withFields(action, { other: '' }), '/ari/playbacks/p%2F1/control?operation=pause');
  assert.is(withFields(action, { other: 'a b' }), '/ari/playbacks/p%2F1/control?operation=pause&other=a+b');
});

actions.run();
