import { unsealed } from './arguments.ts';
import { compileSearch, search } from './search.ts';

/**
 * Calculations of `$[…]`, from loosest to tightest. `condition ? this :: that`; `|` `&` (the deciding operand); `=`
 * `!=` `<` `>` `<=` `>=` (1 or 0); `+` `-`; `*` `/` `%`. Then `=~` and `:` (searches, the latter from the start: the
 * group, else the number of characters), `~~` (joins), `!` and parentheses. Words are quoted or bare. Two numbers
 * compare as numbers, anything else as text.
 */

const levels: readonly (readonly string[])[] = [
  ['|'],
  ['&'],
  ['=', '!=', '<=', '>=', '<', '>'],
  ['+', '-'],
  ['*', '/', '%'],
  ['=~', '~~', ':'],
];
const deepestNesting = 50;
const number = /^[+-]?(\d+(\.\d*)?|\.\d+)$/;

/** Whether a text counts as true: not empty and not zero. */
export const isTrue = (text: string): boolean => text !== '' && !(number.test(text) && Number(text) === 0);

/** The result as text; undefined when the text is no calculation or has none (division by zero). Never throws. */
export function calculate(text: string): string | undefined {
  const calculation = new Calculation(text);
  const result = calculation.choice(0);
  return calculation.done ? result : undefined;
}

class Calculation {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get done(): boolean {
    this.#skipSpace();
    return this.#at >= this.#text.length;
  }

  /** `condition ? this :: that`, or the condition alone. */
  choice(depth: number): string | undefined {
    const condition = this.level(0, depth);
    if (condition === undefined || !this.#take(['?'])) return condition;
    const yes = this.choice(depth + 1);
    if (depth > deepestNesting || !this.#take(['::'])) return undefined;
    const no = this.choice(depth + 1);
    return isTrue(condition) ? yes : no;
  }

  level(level: number, depth: number): string | undefined {
    const operators = levels[level];
    if (!operators) return this.#operand(depth);
    let left = this.level(level + 1, depth);
    for (let operator = this.#take(operators); operator; operator = this.#take(operators)) {
      const right = this.level(level + 1, depth);
      left = left === undefined || right === undefined ? undefined : apply(operator, left, right);
    }
    return left;
  }

  #operand(depth: number): string | undefined {
    if (depth > deepestNesting) return undefined;
    if (this.#take(['!'])) {
      const value = this.#operand(depth + 1);
      return value === undefined ? undefined : isTrue(value) ? '0' : '1';
    }
    if (this.#take(['('])) {
      const value = this.choice(depth + 1);
      return this.#take([')']) ? value : undefined;
    }
    const word = /"([^"]*)"|[+-]?[^\s"|&=!<>+\-*/%()?~:][^\s"|&=!<>+\-*/%()?~]*/y;
    word.lastIndex = this.#at;
    const found = word.exec(this.#text);
    if (!found) return undefined;
    this.#at = word.lastIndex;
    return found[1] === undefined ? found[0] : unsealed(found[1]);
  }

  #take(tokens: readonly string[]): string | undefined {
    this.#skipSpace();
    const token = tokens.find((each) => this.#text.startsWith(each, this.#at));
    // `=~` is one, not the beginning of `=`; `::` parts the two halves of a choice.
    if (token && this.#text.startsWith(token === ':' ? '::' : '=~', this.#at) && token !== '=~') return undefined;
    if (token) this.#at += token.length;
    return token;
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length && /\s/.test(this.#text[this.#at]!)) this.#at++;
  }
}

function apply(operator: string, left: string, right: string): string | undefined {
  if (operator === '|') return isTrue(left) ? left : right;
  if (operator === '&') return isTrue(left) && isTrue(right) ? left : '0';
  if (operator === '~~') return left + right;
  if (operator === '=~' || operator === ':') return found(left, right, operator === ':');
  const compare = comparisons[operator];
  if (compare) return compare(orderOf(left, right)) ? '1' : '0';
  const result = areNumbers(left, right) ? arithmetic[operator]?.(Number(left), Number(right)) : undefined;
  return result !== undefined && Number.isFinite(result) ? String(result) : undefined;
}

const areNumbers = (left: string, right: string): boolean => number.test(left) && number.test(right);

/** The sign is that of the left operand less the right one. Texts are compared unless both are numbers. */
const orderOf = (left: string, right: string): number =>
  areNumbers(left, right) ? Number(left) - Number(right) : textOrder(left, right);

const textOrder = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/** Comparisons, by the sign of the left operand less the right one. */
const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '>': (order) => order > 0,
  '<=': (order) => order <= 0,
  '>=': (order) => order >= 0,
};

const arithmetic: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
};

/** Result of a search: its group, or the number of characters; 0 or '' for none. */
function found(text: string, expression: string, fromStart: boolean): string | undefined {
  const compiled = compileSearch(fromStart && !expression.startsWith('^') ? `^${expression}` : expression);
  if (!compiled) return undefined;
  const hit = search(compiled, text);
  const hasGroup = /(?:^|[^\\])\((?!\?)/.test(expression);
  return hasGroup ? (hit?.[1] ?? '') : String(hit?.[0].length ?? 0);
}
