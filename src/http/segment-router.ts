import { METHOD_NAME_ALL, type Params, type Result, type Router, UnsupportedPathError } from 'hono/router';

type Node<T> = { literals: Map<string, Node<T>>; variable: Node<T> | undefined; handlers: [T, string[]][] };

const createNode = <T>(): Node<T> => ({ literals: new Map(), variable: undefined, handlers: [] });

/**
 * Hono's routes matched as the interface demands: segment by segment, a literal always before a variable at the same
 * place and never taken back, an empty segment no variable's value. (Hono's fast RegExpRouter refuses a literal beside
 * a variable, and its TrieRouter costs several times as much.) Paths are literals and `:name`s, for any method.
 */
export class SegmentRouter<T> implements Router<T> {
  readonly name = 'SegmentRouter';
  readonly #root = createNode<T>();
  /** Paths without a variable are found at once. */
  readonly #literal = new Map<string, Result<T>>();

  /** @throws UnsupportedPathError for wildcards, patterns and single methods. */
  add(method: string, path: string, handler: T): void {
    if (method !== METHOD_NAME_ALL || /[*{}?]/.test(path)) throw new UnsupportedPathError(path);
    const names: string[] = [];
    let node = this.#root;
    for (const segment of path.split('/').slice(1)) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        node = node.variable ??= createNode();
      } else {
        const next = node.literals.get(segment) ?? createNode();
        node.literals.set(segment, next);
        node = next;
      }
    }
    node.handlers.push([handler, names]);
    if (names.length === 0) this.#literal.set(path, [node.handlers.map(([found]) => [found, {}])]);
  }

  match(_method: string, path: string): Result<T> {
    return this.#literal.get(path) ?? this.#walk(path);
  }

  #walk(path: string): Result<T> {
    let node: Node<T> | undefined = this.#root;
    const values: string[] = [];
    for (let start = 1; node && start <= path.length; ) {
      const slash = path.indexOf('/', start);
      const end = slash < 0 ? path.length : slash;
      const segment = path.slice(start, end);
      const literal: Node<T> | undefined = node.literals.get(segment);
      if (!literal && segment !== '') values.push(segment);
      node = literal ?? (segment === '' ? undefined : node.variable);
      start = end + 1;
    }
    if (!node) return [[]];
    return [node.handlers.map(([handler, names]) => [handler, paramsOf(names, values)])];
  }
}

function paramsOf(names: readonly string[], values: readonly string[]): Params {
  const params: Params = {};
  names.forEach((name, at) => {
    params[name] = values[at] ?? '';
  });
  return params;
}
