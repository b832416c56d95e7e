import { once } from 'node:events';
import { Inviter, Registerer, RegistererState, type Session, SessionState, UserAgent } from 'sip.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { onServer, type TestServer } from '../support/server.ts';

const phones = suite('sip.js, the SIP of browsers, over wss');

const authority = new Authority();
const files = new CertificateFiles();
const tls = {
  certificates: [files.pair('own', authority.sign('127.0.0.1'))],
  authorities: [files.authority(authority)],
};
phones.after(() => files.close());

const opened: WebSocket[] = [];
// What a browser has; this one knows whom to believe.
(globalThis as { WebSocket?: unknown }).WebSocket = class extends WebSocket {
  constructor(url: string, protocols: string[]) {
    super(url, protocols, { ca: authority.own.certificate });
    opened.push(this);
  }
};

/** Nobody listens: signalling alone is looked at. */
const description = [
  'v=0',
  'o=- 1 1 IN IP4 127.0.0.1',
  's=-',
  'c=IN IP4 127.0.0.1',
  't=0 0',
  'm=audio 9 RTP/AVP 0',
  'a=sendrecv',
  '',
].join('\r\n');
const silent = {
  getDescription: async () => ({ body: description, contentType: 'application/sdp' }),
  hasDescription: (type: string) => type === 'application/sdp',
  setDescription: async () => {},
  sendDtmf: () => true,
  close: () => {},
};

/** A user agent of a browser that is registered as Alice, and answers every call. */
async function startAlice(server: TestServer) {
  const at = server.sip('wss');
  const agent = new UserAgent({
    uri: UserAgent.makeURI(`sip:alice@${at}`)!,
    transportOptions: { server: `wss://${at}`, keepAliveInterval: 0 },
    authorizationUsername: 'alice',
    authorizationPassword: 'wonderland',
    logBuiltinEnabled: false,
    sessionDescriptionHandlerFactory: () => silent as never,
    delegate: { onInvite: (invitation) => void invitation.accept() },
  });
  server.closing({ close: () => agent.stop() });
  await agent.start();
  const registerer = new Registerer(agent);
  await registerer.register();
  return { agent, registerer, at };
}

const reached = (session: Session, wanted: SessionState) =>
  new Promise<void>((resolve) => {
    const look = (state: SessionState) => state === wanted && resolve();
    session.stateChange.addListener(look);
    look(session.state);
  });

const endpoints = { alice: { auth: { username: 'alice', password: 'wonderland' }, aor: {} } };
const dialplan = { default: { '600': ['Answer', 'Wait(3600)'] } };

phones('it registers, calls and hangs up, is called and hung up, and unregisters', async () => {
  await onServer({ endpoints, dialplan, tls }, async (server) => {
    const app = await server.app('desk', { subscribeAll: true });
    const { agent, registerer, at } = await startAlice(server);
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'alice');
    assert.is(registerer.state, RegistererState.Registered);

    const inviter = new Inviter(agent, UserAgent.makeURI(`sip:600@${at}`)!);
    await inviter.invite();
    await reached(inviter, SessionState.Established);
    const { channel: hers } = await app.waitFor('ChannelStateChange', ({ channel }) => channel.state === 'Up');
    assert.match(hers.name, /^PJSIP\/alice-/);
    await inviter.bye();
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === hers.id);

    const { id } = await app.ok<{ id: string }>('POST', '/channels?endpoint=PJSIP/alice&app=desk');
    await app.waitFor('StasisStart', ({ channel }) => channel.id === id);
    await app.ok('DELETE', `/channels/${id}`);
    await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);

    await registerer.unregister();
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.contact_status === 'Removed');
  });
});

phones('a browser that goes away without a word is registered no more', async () => {
  await onServer({ endpoints, dialplan, tls }, async (server) => {
    const app = await server.app('desk', { subscribeAll: true });
    await startAlice(server);
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.aor === 'alice');
    const socket = opened.at(-1)!;
    socket.terminate();
    await once(socket, 'close');
    await app.waitFor('ContactStatusChange', ({ contact_info }) => contact_info.contact_status === 'Removed');
    const refused = await app.request('POST', '/channels?endpoint=PJSIP/alice&app=desk');
    assert.ok(refused.status >= 200);
  });
});

phones.run();
