/** States of a DTLS handshake, by the message that is due. */
export type HandshakeState =
  /** A server: nothing is known of the client; a ClientHello without a valid cookie changes nothing. */
  | 'hello'
  | 'certificate'
  | 'keyExchange'
  | 'certificateVerify'
  /** A client that has nowhere to send to. */
  | 'idle'
  /** It has sent a ClientHello; a server may ask for a cookie, or go on without. */
  | 'helloVerify'
  | 'serverHello'
  | 'serverCertificate'
  | 'serverKeyExchange'
  /** A server may ask for a certificate, or not. */
  | 'certificateRequest'
  | 'serverHelloDone'
  /** Both sides. */
  | 'changeCipher'
  | 'finished'
  /** Both sides have proved the handshake; keys of SRTP are in use. */
  | 'connected'
  /** The far side has said goodbye. */
  | 'closed'
  /** It cannot go on. */
  | 'failed';

/** What happens to it: the next message in order, a repeated one, a record of another kind, or time. */
export type HandshakeEvent =
  | 'helloRequest'
  | 'clientHello'
  | 'helloVerifyRequest'
  | 'serverHello'
  | 'certificate'
  | 'serverKeyExchange'
  | 'certificateRequest'
  | 'serverHelloDone'
  | 'clientKeyExchange'
  | 'certificateVerify'
  | 'finished'
  | 'otherMessage'
  | 'changeCipherSpec'
  /** The last message of the far side's earlier flight came again: ours was lost. */
  | 'repeatedFlight'
  | 'closeNotify'
  | 'fatalAlert'
  | 'resendDue'
  | 'timeUp';

/** What is done: `take…` reads the message and may fail the handshake. */
export type HandshakeAction =
  | 'takeHello'
  | 'takeCertificate'
  | 'takeKeyExchange'
  | 'takeVerify'
  | 'takeVerifyRequest'
  | 'takeServerHello'
  | 'takeServerKeyExchange'
  | 'takeRequest'
  | 'takeHelloDone'
  | 'changeCipher'
  | 'takeFinished'
  | 'resend'
  | 'refuseRenegotiation'
  | 'close'
  | 'fail'
  | 'giveUp'
  | 'ignore';

type Row = Readonly<Record<HandshakeEvent, HandshakeAction>>;

/** Anything out of turn fails the handshake (RFC 5246 7.4); only what the network may have reordered does not. */
const underWay: Row = {
  helloRequest: 'ignore',
  clientHello: 'fail',
  helloVerifyRequest: 'fail',
  serverHello: 'fail',
  certificate: 'fail',
  serverKeyExchange: 'fail',
  certificateRequest: 'fail',
  serverHelloDone: 'fail',
  clientKeyExchange: 'fail',
  certificateVerify: 'fail',
  finished: 'fail',
  otherMessage: 'fail',
  // It came before messages that the network has delayed: the client sends its flight again.
  changeCipherSpec: 'ignore',
  repeatedFlight: 'resend',
  // In the clear an alert proves nothing: anybody could end the handshake with one (RFC 6347 4.1.2.7).
  closeNotify: 'ignore',
  fatalAlert: 'ignore',
  resendDue: 'resend',
  timeUp: 'giveUp',
};

const over: Row = {
  helloRequest: 'ignore',
  clientHello: 'ignore',
  helloVerifyRequest: 'ignore',
  serverHello: 'ignore',
  certificate: 'ignore',
  serverKeyExchange: 'ignore',
  certificateRequest: 'ignore',
  serverHelloDone: 'ignore',
  clientKeyExchange: 'ignore',
  certificateVerify: 'ignore',
  finished: 'ignore',
  otherMessage: 'ignore',
  changeCipherSpec: 'ignore',
  repeatedFlight: 'ignore',
  closeNotify: 'ignore',
  fatalAlert: 'ignore',
  resendDue: 'ignore',
  timeUp: 'ignore',
};

/** Whatever of the server's flight is missing comes again with our hello, by the clock. */
const ofClient: Row = { ...underWay, repeatedFlight: 'ignore' };

/** What is done in each state for each event. */
export const handshakeTable: Readonly<Record<HandshakeState, Row>> = {
  hello: { ...over, clientHello: 'takeHello', timeUp: 'giveUp' },
  certificate: { ...underWay, certificate: 'takeCertificate' },
  keyExchange: { ...underWay, clientKeyExchange: 'takeKeyExchange' },
  certificateVerify: { ...underWay, certificateVerify: 'takeVerify' },
  idle: { ...over, timeUp: 'giveUp' },
  helloVerify: {
    ...ofClient,
    helloVerifyRequest: 'takeVerifyRequest',
    serverHello: 'takeServerHello',
  },
  serverHello: { ...ofClient, serverHello: 'takeServerHello' },
  serverCertificate: { ...ofClient, certificate: 'takeCertificate' },
  serverKeyExchange: { ...ofClient, serverKeyExchange: 'takeServerKeyExchange' },
  certificateRequest: { ...ofClient, certificateRequest: 'takeRequest', serverHelloDone: 'takeHelloDone' },
  serverHelloDone: { ...ofClient, serverHelloDone: 'takeHelloDone' },
  changeCipher: { ...underWay, changeCipherSpec: 'changeCipher' },
  // Alerts are encrypted from here on.
  finished: { ...underWay, finished: 'takeFinished', closeNotify: 'close', fatalAlert: 'close' },
  connected: {
    ...over,
    helloRequest: 'refuseRenegotiation',
    clientHello: 'refuseRenegotiation',
    repeatedFlight: 'resend',
    closeNotify: 'close',
    fatalAlert: 'close',
  },
  closed: over,
  failed: over,
};
