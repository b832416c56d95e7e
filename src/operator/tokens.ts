import { plain, plainJson } from '../lib/plain-text.ts';
import type { NewToken, Token } from '../models/token.ts';
import { AskError, createClient, type Server } from './client.ts';

/** Arguments of `hookswitch token`. */
type TokenAsked = {
  /** `make`, `list` or `revoke`. */
  act: string;
  /** Name of the token, for all but `list`. */
  name?: string | undefined;
  /** Lifetime: a number followed by `s`, `m`, `h` or `d`. */
  expires?: string | undefined;
  /** User that it stands for, and its limits, comma-separated: passed to the operation as they are. */
  user?: string | undefined;
  applications?: string | undefined;
  operations?: string | undefined;
  contexts?: string | undefined;
  endpoints?: string | undefined;
  readOnly?: boolean | undefined;
  /** Write JSON. */
  json: boolean;
};

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** @throws AskError. */
function readExpiry(text: string): number {
  const [, number = '', unit = 's'] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
  if (number === '') throw new AskError(`'${text}' is not a lifetime; expected one such as 90d, 12h, 30m or 3600s`);
  return Number(number) * (seconds[unit] ?? 1);
}

const limits = ({ scopes, read_only }: Token): string =>
  [
    ...(read_only ? ['read only'] : []),
    ...scopes.flatMap((scope) =>
      Object.entries(scope).map(([member, names]) => `${member}: ${names.join(', ') || 'none'}`),
    ),
  ].join('; ');

const lineOf = (token: Token): string =>
  plain(`${token.name}  of ${token.user}  until ${token.expires}  by ${token.made_by}  ${limits(token)}`.trimEnd());

/** Makes, lists and revokes tokens of a running server. @throws AskError. */
export async function operateTokens(asked: TokenAsked, server: Server, write: (text: string) => void): Promise<void> {
  const client = createClient(server);
  const path = '/hookswitch/tokens';
  if (asked.act === 'list') {
    for (const token of await client.get<Token[]>(path))
      write(`${asked.json ? plainJson(JSON.stringify(token)) : lineOf(token)}\n`);
    return;
  }
  if (!asked.name) throw new AskError(`token ${asked.act} needs the name of a token`);
  if (asked.act === 'revoke') {
    await client.ask('DELETE', `${path}/${encodeURIComponent(asked.name)}`);
    return;
  }
  if (asked.act !== 'make') throw new AskError(`unknown command: token ${asked.act}`);
  const { name, user, applications, operations, contexts, endpoints } = asked;
  const lists = { applications, operations, contexts, endpoints };
  const body = {
    ...{ name, user },
    ...(asked.expires !== undefined && { expires_in: readExpiry(asked.expires) }),
    ...(asked.readOnly && { read_only: true }),
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([member, text]) => (text === undefined ? [] : [[member, text]])),
    ),
  };
  const made = JSON.parse(await client.ask('POST', path, body)) as NewToken;
  // The token alone, so that a script can keep it in a variable.
  write(asked.json ? `${JSON.stringify(made)}\n` : `${made.token}\n`);
}
