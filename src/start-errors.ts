import { audioAddress, type Config } from './config/schema.ts';
import { ListenError } from './sip/transport/transport.ts';
import { CertificateError } from './stores/certificates.ts';
import { StorageError } from './stores/durable-file.ts';

/** `media.rtp_address` cannot be used. */
export class MediaAddressError extends Error {
  override readonly name = 'MediaAddressError';
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super('the address of media.rtp_address cannot be used for audio', { cause });
    this.code = code;
  }
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EACCES: 'needs rights that this user lacks',
  EADDRNOTAVAIL: 'is not an address of this machine',
};

/**
 * Explains a failed start in one line: what failed, why, and which setting to change. Undefined for internal errors.
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
