/** States of the server of a DTLS handshake, by the message that is due. */
export type HandshakeState =
  /** Nothing is known of the client; a ClientHello without a valid cookie changes nothing. */
  | 'hello'
  | 'certificate'
  | 'keyExchange'
  | 'certificateVerify'
  | 'changeCipher'
  | 'finished'
  /** Both sides have proved the handshake; keys of SRTP are in use. */
  | 'connected'
  /** The client has said goodbye. */
  | 'closed'
  /** It cannot go on. */
  | 'failed';

/** What happens to it: the next message in order, a repeated one, a record of another kind, or time. */
export type HandshakeEvent =
  | 'clientHello'
  | 'certificate'
  | 'clientKeyExchange'
  | 'certificateVerify'
  | 'finished'
  | 'otherMessage'
  | 'changeCipherSpec'
  /** The last message of the client's earlier flight came again: ours was lost. */
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
  clientHello: 'fail',
  certificate: 'fail',
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
  clientHello: 'ignore',
  certificate: 'ignore',
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

/** What is done in each state for each event. */
export const handshakeTable: Readonly<Record<HandshakeState, Row>> = {
  hello: { ...over, clientHello: 'takeHello', timeUp: 'giveUp' },
  certificate: { ...underWay, certificate: 'takeCertificate' },
  keyExchange: { ...underWay, clientKeyExchange: 'takeKeyExchange' },
  certificateVerify: { ...underWay, certificateVerify: 'takeVerify' },
  changeCipher: { ...underWay, changeCipherSpec: 'changeCipher' },
  // Alerts are encrypted from here on.
  finished: { ...underWay, finished: 'takeFinished', closeNotify: 'close', fatalAlert: 'close' },
  connected: {
    ...over,
    clientHello: 'refuseRenegotiation',
    repeatedFlight: 'resend',
    closeNotify: 'close',
    fatalAlert: 'close',
  },
  closed: over,
  failed: over,
};
