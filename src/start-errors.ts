import { audioAddress, type Config } from './config/schema.ts';
import { ListenError } from './sip/transport/transport.ts';
import { CertificateError } from './stores/certificates.ts';
import { StorageError } from './stores/durable-file.ts';

/** An address for audio that cannot be had. */
export class MediaAddressError extends Error {
  override readonly name = 'MediaAddressError';
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super('no audio can be sent from the address of media.rtp_address', { cause });
    this.code = code;
  }
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another program',
  EACCES: 'may not be used by this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
};

/**
 * What a start that failed means for people, in one line: what could not be had, why, and which setting chooses
 * another. Undefined for errors that should not have happened.
 */
export function explainStartError(error: unknown, config: Config): string | undefined {
  const choose = (variable: string, key: string): string =>
    `choose another with ${variable} or \`${key}\` in the configuration`;
  if (error instanceof StorageError)
    return `the data directory cannot be used: ${error.message}; ${choose('HOOKSWITCH_DATA', 'general.data_directory')}`;
  if (error instanceof CertificateError) return `a certificate cannot be used: ${error.message}`;
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = reasons[code];
  if (!reason) return undefined;
  if (error instanceof MediaAddressError)
    return `audio address ${audioAddress(config)} ${reason}; ${choose('HOOKSWITCH_RTP_ADDRESS', 'media.rtp_address')}`;
  const setting = code === 'EADDRNOTAVAIL' ? 'bind' : 'port';
  if (error instanceof ListenError) {
    const { protocol, host, port } = error.listen;
    const variable = `HOOKSWITCH_SIP_${setting.toUpperCase()}`;
    return `SIP ${protocol} ${host}:${port} ${reason}; ${choose(variable, `sip.transports[].${setting}`)}`;
  }
  const { bind, port } = config.http;
  return `HTTP ${bind}:${port} ${reason}; ${choose(`HOOKSWITCH_HTTP_${setting.toUpperCase()}`, `http.${setting}`)}`;
}
