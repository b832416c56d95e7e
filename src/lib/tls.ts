import type { SecureContext, SecureVersion } from 'node:tls';

/** Initial data of a server's TLS handshake, in Node's form. */
export type ServerTls = {
  /** PEM: the certificate with those between it and its authority, and its key. */
  readonly cert: string;
  readonly key: string;
  readonly minVersion: SecureVersion;
  /** PEM of the authorities of clients and of their revocation lists, where clients are asked for a certificate. */
  readonly ca?: string[];
  readonly crl?: string[];
  /** Chooses another certificate for the name that the peer asks for (RFC 6066 3). */
  readonly SNICallback: (name: string, choose: (error: Error | null, context?: SecureContext) => void) => void;
};

/** Initial data of our TLS connections. Servers are always verified. */
export type ClientTls = {
  /** PEM of trusted authorities; left out: Node's own. */
  readonly ca?: string[];
  readonly minVersion: SecureVersion;
  /** Our own certificate, for peers that ask for one. */
  readonly cert?: string;
  readonly key?: string;
};

/** Certificates, keys and authorities. Reloaded ones apply from the next handshake on. */
export interface TlsKeys {
  /** Undefined where no certificate is configured. */
  readonly server: ServerTls | undefined;
  /** The same for listeners that request client certificates, with the accepted authorities. */
  readonly askingServer: ServerTls | undefined;
  readonly client: ClientTls;
  /** Hears that any of it is another now. */
  onChanged(listener: () => void): void;
}
