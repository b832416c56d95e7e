import type { ScopeSettings } from './access/scope.ts';

/** Someone who may use the interface; as the configuration has it. One of the two passwords is given. Never changed. */
export type HttpUser = {
  name: string;
  password?: string | undefined;
  /** `scrypt$N$r$p$salt$hash`, salt and hash in hex or base64. */
  password_hash?: string | undefined;
  /** May look (GET, OPTIONS) but change nothing. */
  read_only: boolean;
  /** A read-only user's WebSocket registers applications like anyone's; otherwise it only observes. */
  may_register?: boolean;
  /** Addresses and networks that it may come from, all when left out, and those among them that it may not. */
  allowed_addresses?: readonly string[] | undefined;
  denied_addresses?: readonly string[] | undefined;
  /** Live channels that it may have made; left out: any number. */
  channels?: number | undefined;
  /** Its scope; left out: none. */
  scope?: ScopeSettings | undefined;
  /** The token that it came with in place of a password; what it is limited to besides. */
  token?: {
    readonly name: string;
    /** Which token it is, also when another has the name by now. */
    readonly digest: string;
    readonly scopes: readonly ScopeSettings[];
    /** In ms since the Unix epoch. */
    readonly expiresAt: number;
  };
};
