import { METHOD_NAME_ALL, type Params, type Result, type Router, UnsupportedPathError } from 'hono/router';

type Node<T> = {
  literals: Map<string, Node<T>>;
  /** Variables with an ending (`:name.svg`), by that. */
  endings: Map<string, Node<T>>;
  variable: Node<T> | undefined;
  handlers: [T, string[]][];
};

const createNode = <T>(): Node<T> => ({ literals: new Map(), endings: new Map(), variable: undefined, handlers: [] });

/** The segment's last dot and what follows it; '' without one. */
const endingOf = (segment: string): string => {
  const dot = segment.lastIndexOf('.');
  return dot < 1 ? '' : segment.slice(dot);
};

const childOf = <T>(children: Map<string, Node<T>>, key: string): Node<T> => {
  const child = children.get(key) ?? createNode();
  children.set(key, child);
  return child;
};

/**
 * Matches Hono's routes as the interface requires. Matching goes segment by segment; a literal wins over a variable,
 * without backtracking. A variable with an ending wins over one without. An empty segment is no value. (Hono's fast
 * RegExpRouter refuses a literal beside a variable; its TrieRouter costs several times as much.) Paths consist of
 * literals, `:name` and `:name.ending`, for any method.
 */
export class SegmentRouter<T> implements Router<T> {
  readonly name = 'SegmentRouter';
  readonly #root = createNode<T>();
  /** Paths without variables need one lookup. */
  readonly #literal = new Map<string, Result<T>>();

  /** @throws UnsupportedPathError for wildcards, patterns and single methods. */
  add(method: string, path: string, handler: T): void {
    if (method !== METHOD_NAME_ALL || /[*{}?]/.test(path)) throw new UnsupportedPathError(path);
    const names: string[] = [];
    let node = this.#root;
    for (const segment of path.split('/').slice(1)) {
      if (segment.startsWith(':')) {
        const ending = endingOf(segment);
        names.push(segment.slice(1, segment.length - ending.length));
        if (ending === '') node = node.variable ??= createNode();
        else node = childOf(node.endings, ending);
      } else node = childOf(node.literals, segment);
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
      start = end + 1;
      const literal: Node<T> | undefined = node.literals.get(segment);
      if (literal) {
        node = literal;
        continue;
      }
      const ending = node.endings.size === 0 ? '' : endingOf(segment);
      const ended: Node<T> | undefined = node.endings.get(ending);
      if (segment !== '') values.push(ended ? segment.slice(0, -ending.length) : segment);
      node = segment === '' ? undefined : (ended ?? node.variable);
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
