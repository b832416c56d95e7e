import type { TLSSocket } from 'node:tls';

type Meanings = readonly (readonly [codes: readonly string[], meaning: string])[];

/** OpenSSL's alerts and errors in words, by the end of their codes. */
const unbelieved = [
  'UNKNOWN_CA',
  'BAD_CERTIFICATE',
  'CERTIFICATE_UNKNOWN',
  'CERTIFICATE_EXPIRED',
  'CERTIFICATE_REVOKED',
];
const failures: Meanings = [
  [unbelieved.map((alert) => `_ALERT_${alert}`), 'it does not believe our certificate'],
  [['_UNSUPPORTED_PROTOCOL', '_ALERT_PROTOCOL_VERSION'], 'it supports no version of TLS that is allowed here'],
  [['_PEER_DID_NOT_RETURN_A_CERTIFICATE'], 'it shows no certificate, which is required'],
  [['_HTTP_REQUEST', '_WRONG_VERSION_NUMBER'], 'it does not use TLS'],
  [['ECONNRESET'], 'it closed the connection before the handshake was over'],
];

/** Why a certificate is not believed, by the codes of OpenSSL's verification. */
const doubts: Meanings = [
  [['CERT_HAS_EXPIRED'], 'its certificate has expired'],
  [['CERT_NOT_YET_VALID'], 'its certificate is not valid yet'],
  [['CERT_REVOKED'], 'its certificate has been revoked'],
  [['UNABLE_TO_GET_CRL'], 'tls.client_crl has no list of the authority of its certificate'],
  [['CRL_HAS_EXPIRED'], 'the list of tls.client_crl for its certificate has expired'],
  [['CRL_NOT_YET_VALID'], 'the list of tls.client_crl for its certificate is not valid yet'],
  [['INVALID_PURPOSE'], 'its certificate is not for clients'],
  [
    [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    ],
    'no authority of tls.client_authorities has signed its certificate',
  ],
];

const meaningOf = (meanings: Meanings, code: string): string | undefined =>
  meanings.find(([ends]) => ends.some((end) => code.endsWith(end)))?.[1];

/** Why the certificate that a client has shown is not believed: in words, with the library's own behind them. */
export function certificateFailure({ authorizationError }: TLSSocket): string {
  // A string code, in spite of Node's types.
  const code = String(authorizationError);
  return `${meaningOf(doubts, code) ?? 'its certificate is not believed'} (${code})`;
}

/** Why a client did not get through the TLS handshake: in words, with the library's own behind them. */
export function handshakeFailure({ code = '', message }: NodeJS.ErrnoException, socket: TLSSocket): string {
  // Node closes the connection of an untrusted client, and only reports the close.
  if (socket.authorizationError) return certificateFailure(socket);
  const meaning = meaningOf(failures, code);
  return meaning === undefined ? message : `${meaning} (${code})`;
}
