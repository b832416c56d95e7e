import { audioAddress, type Config } from './config/schema.ts';
import { ListenError } from './sip/transport/transport.ts';
import { CertificateError } from './stores/certificates.ts';
import { StorageError } from './stores/durable-file.ts';

/** `media.rtp_address` cannot be used, or `media.webrtc.udp_port` at it. */
export class MediaAddressError extends Error {
  override readonly name = 'MediaAddressError';
  readonly code: string;
  /** The port of all browsers; 0: no port can be bound. */
  readonly port: number;

  constructor(code: string, cause: unknown, port: number) {
    super('the address of media.rtp_address cannot be used for audio', { cause });
    this.code = code;
    this.port = port;
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
  if (error instanceof MediaAddressError && error.port > 0)
    return `UDP ${audioAddress(config)}:${error.port} ${reason}; choose another with \`media.webrtc.udp_port\` in the configuration`;
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
