/** Settings of scopes for users and tokens; independent of requests. */

/**
 * Limits of a user or token. A missing list limits nothing; an empty one allows nothing. Names are patterns: `*`
 * matches any characters. In names of endpoints it does not match `/` and `@`.
 */
export type ScopeSettings = {
  /** Applications to be, to look at, and to send channels to. */
  applications?: readonly string[] | undefined;
  /** Operations: `resource`, `resource:read`, `resource:change` or `resource:nickname`. */
  operations?: readonly string[] | undefined;
  /** Contexts of the dialplan that channels may be sent to. */
  contexts?: readonly string[] | undefined;
  /** Endpoints that may be called: `PJSIP/alice`, `PJSIP/0049*@provider`, `Local/*@default`. */
  endpoints?: readonly string[] | undefined;
};

/** An operation as scopes name it. */
export type OperationName = {
  readonly resource: string;
  readonly nickname: string;
  /** It is `read`, or else `change`. */
  readonly changesNothing: boolean;
  /** Allowed to every authenticated user in any scope. */
  readonly everyone?: boolean;
};

/** A compiled scope. */
export type Scope = {
  operation(operation: OperationName): boolean;
  /** An application, or its instance for one call (`application:channel`). */
  application(name: string): boolean;
  context(name: string): boolean;
  /** `technology/resource` to be called; of a Local channel its context has to be covered, too. */
  endpoint(dialString: string): boolean;
};

type Test = (name: string) => boolean;

/** Whether the parts come in a name in their order, nothing but `between` between them. */
function comeInOrder(name: string, parts: readonly string[], between: (text: string) => boolean): boolean {
  const [first = '', ...others] = parts;
  const last = others.pop() ?? '';
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end || !between(name.slice(at, found))) return false;
    at = found + part.length;
  }
  return between(name.slice(at, end));
}

/** A test for names that fit a pattern. */
function patternTest(pattern: string, between: (text: string) => boolean): Test {
  if (!pattern.includes('*')) return (name) => name === pattern;
  const parts = pattern.split('*');
  return (name) => comeInOrder(name, parts, between);
}

const anything = (_text: string): boolean => true;
const withinOnePart = (text: string): boolean => !/[/@]/.test(text);

function anyOf(patterns: readonly string[] | undefined, between = anything): Test {
  if (patterns === undefined) return anything;
  const tests = patterns.map((pattern) => patternTest(pattern, between));
  return (name) => tests.some((test) => test(name));
}

/** The dial string of a Local channel without its options, and its context. */
const localOf = (dialString: string) => /^(local\/[^/@]{1,200}@([^/]{1,200}))(?:\/[^/]{0,20})?$/i.exec(dialString);

/** Resources under the names of version 0.1, which scopes may use until 0.3. */
const renamed: ReadonlyMap<string, string> = new Map([['sights', 'videoVisibility']]);

/** Reads the settings once, for all requests. */
export function readScope(settings: ScopeSettings): Scope {
  const operations = (settings.operations ?? ['*']).map((text) => {
    const [named = '', word = '*'] = text.split(':');
    const resource = renamed.get(named) ?? named;
    return { resource: patternTest(resource, anything), word, nickname: patternTest(word, anything) };
  });
  const application = anyOf(settings.applications);
  const context = anyOf(settings.contexts);
  const endpoint = anyOf(
    settings.endpoints?.map((pattern) => pattern.toLowerCase()),
    withinOnePart,
  );
  return {
    operation: ({ resource, nickname, changesNothing, everyone }) =>
      everyone === true ||
      operations.some(
        (each) =>
          each.resource(resource) && (each.word === (changesNothing ? 'read' : 'change') || each.nickname(nickname)),
      ),
    application(name) {
      if (application(name)) return true;
      const colon = name.indexOf(':');
      return colon > 0 && application(name.slice(0, colon));
    },
    context,
    endpoint(dialString) {
      const local = localOf(dialString);
      if (local) return endpoint((local[1] ?? '').toLowerCase()) && context(local[2] ?? '');
      // An unreadable Local dial string could not be limited by contexts.
      if (/^local\//i.test(dialString) && settings.contexts !== undefined) return false;
      return endpoint(dialString.toLowerCase());
    },
  };
}

/** Everything that all of the scopes cover. */
export function intersection(scopes: readonly Scope[]): Scope {
  const [only, ...more] = scopes;
  if (only && more.length === 0) return only;
  return {
    operation: (operation) => scopes.every((scope) => scope.operation(operation)),
    application: (name) => scopes.every((scope) => scope.application(name)),
    context: (name) => scopes.every((scope) => scope.context(name)),
    endpoint: (dialString) => scopes.every((scope) => scope.endpoint(dialString)),
  };
}

/**
 * The error of an operation pattern; undefined if it matches an operation.
 * @param names all operations.
 */
export function operationPatternProblem(pattern: string, names: readonly OperationName[]): string | undefined {
  if (pattern.split(':').length > 2)
    return `expected \`resource\` or \`resource:word\`, found ${JSON.stringify(pattern)}`;
  const { operation } = readScope({ operations: [pattern] });
  if (names.some((name) => operation({ ...name, everyone: false }))) return undefined;
  return `there is no such operation: ${JSON.stringify(pattern)}`;
}
