/** Someone who may use the interface; as the configuration has it. One of the two passwords is given. */
export type HttpUser = {
  name: string;
  password?: string | undefined;
  /** `scrypt$N$r$p$salt$hash`, salt and hash in hex or base64. */
  password_hash?: string | undefined;
  /** May look (GET, OPTIONS) but change nothing. */
  read_only: boolean;
  /** A read-only user's WebSocket registers applications like anyone's; otherwise it only observes. */
  may_register?: boolean;
};
