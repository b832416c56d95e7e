/** One transport for SIP to a domain (RFC 3403 4.1, RFC 3263 4.1). */
export type NaptrRecord = {
  readonly order: number;
  readonly preference: number;
  readonly service: string;
  readonly replacement: string;
};

/** One server of a service (RFC 2782). */
export type SrvRecord = {
  readonly priority: number;
  readonly weight: number;
  readonly port: number;
  readonly name: string;
};

/** An address of a host, and how long it may be believed, in s. */
export type AddressRecord = { readonly address: string; readonly ttl: number };

/** DNS lookups. A name without such records gives an empty list; a failed lookup rejects. */
export interface NameServer {
  naptr(name: string): Promise<readonly NaptrRecord[]>;
  srv(name: string): Promise<readonly SrvRecord[]>;
  /** IPv4 before IPv6. */
  addresses(name: string): Promise<readonly AddressRecord[]>;
}
