import { Inviter, Registerer, type Session, SessionState, UserAgent } from 'sip.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { startBaresipProgram, tell } from '../support/baresip.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { need } from '../support/need.ts';
import { type SupervisedServer, startSupervised } from '../support/supervised-server.ts';
import { untilAsked } from '../support/waiting.ts';

/** Calls of phones on connections, whose server is killed: the connections are gone, the calls are not. */
const phones = suite('calls over connections behind kill -9');

const authority = new Authority();
const files = new CertificateFiles();
const ca = files.authority(authority);
const tls = { certificates: [files.pair('own', authority.sign('127.0.0.1'))], authorities: [ca] };
phones.after(() => files.close());

const password = 'wonderland';
const endpoints = {
  alice: { auth: { username: 'alice', password }, aor: {}, media_encryption: 'required' },
  bob: { auth: { username: 'bob', password }, aor: {} },
  web: { auth: { username: 'web', password }, aor: {} },
  anonymous: { match: ['127.0.0.1'] },
};
const dialplan = { default: { echo: ['Answer', 'Echo'], '600': ['Answer', 'Wait(3600)'] } };

type Channel = { id: string; state: string };
type Statistics = { rxcount: number; txcount: number };

async function onSupervised(test: (server: SupervisedServer) => Promise<void>): Promise<void> {
  const server = await startSupervised({ endpoints, dialplan, tls });
  try {
    await test(server);
  } finally {
    await server.close();
  }
}

const channelsOf = (server: SupervisedServer) => server.client().ok<Channel[]>('GET', '/channels');

const untilChannels = (server: SupervisedServer, count: number, what: () => string) =>
  untilAsked(async () => {
    const channels = await channelsOf(server);
    return channels.length === count && channels.every(({ state }) => state === 'Up');
  }, what);

/** Resolves when more has been received and sent than was. */
async function untilAudio(server: SupervisedServer, id: string, explain: () => string): Promise<void> {
  const ask = () => server.client().ok<Statistics>('GET', `/channels/${id}/rtp_statistics`);
  const before = await ask();
  await untilAsked(async () => {
    const { rxcount, txcount } = await ask();
    return rxcount > before.rxcount + 25 && txcount > before.txcount + 25;
  }, explain);
}

for (const [who, protocol, ender] of [
  ['alice', 'tls', 'the phone'],
  ['bob', 'tcp', 'the phone'],
  // It listens at its Contact.
  ['bob', 'tcp', 'the server'],
] as const)
  need('baresip').test(phones, `a call of baresip over ${protocol} is ended by ${ender}`, (program) =>
    onSupervised(async (server) => {
      const control = await freePort();
      const port = protocol === 'tls' ? server.tlsPort : server.sipPort;
      const login = `auth_user=${who};auth_pass=${password};regint=600`;
      const phone = await startBaresipProgram(program, {
        account: `<sip:${who}@127.0.0.1:${port};transport=${protocol}>;${login}${who === 'alice' ? ';mediaenc=srtp-mand' : ''}`,
        settings: [`sip_cafile ${ca}`, `ctrl_tcp_listen 127.0.0.1:${control}`],
        modules: ['srtp.so', 'app ctrl_tcp.so'],
      });
      const explain = () => `${phone.explain()}\n${server.logged()}`;
      try {
        await phone.until(/200 OK/);
        await tell(control, 'dial', `sip:echo@127.0.0.1:${port};transport=${protocol}`);
        await untilChannels(server, 1, explain);
        const [channel] = await channelsOf(server);
        await untilAudio(server, channel!.id, explain);
        await server.kill();
        await untilAudio(server, channel!.id, explain);
        if (ender === 'the phone') await tell(control, 'hangup');
        else await server.client().ok('DELETE', `/channels/${channel!.id}`);
        await phone.until(/[Cc]all.*(?:closed|terminated)|session closed/);
        await untilChannels(server, 0, explain);
        assert.not.match(phone.written, /srtp.*(?:fail|error)/i);
      } finally {
        await phone.close();
      }
    }),
  );

/** Nobody listens: signalling alone is looked at. */
const description = [
  'v=0',
  'o=- 1 1 IN IP4 127.0.0.1',
  's=-',
  'c=IN IP4 127.0.0.1',
  't=0 0',
  'm=audio 9 RTP/AVP 0',
  '',
];
const silent = {
  getDescription: async () => ({ body: description.join('\r\n'), contentType: 'application/sdp' }),
  hasDescription: (type: string) => type === 'application/sdp',
  setDescription: async () => {},
  sendDtmf: () => true,
  close: () => {},
};

const reached = (session: Session, wanted: SessionState) =>
  new Promise<void>((resolve) => {
    const look = (state: SessionState) => state === wanted && resolve();
    session.stateChange.addListener(look);
    look(session.state);
  });

/** A user agent as in a browser, which connects again and registers when it was disconnected. */
async function startBrowser(server: SupervisedServer) {
  (globalThis as { WebSocket?: unknown }).WebSocket = class extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, { ca: authority.own.certificate });
    }
  };
  const at = `127.0.0.1:${server.wssPort}`;
  const told = { connections: 0 };
  const agent: UserAgent = new UserAgent({
    uri: UserAgent.makeURI(`sip:web@${at}`)!,
    transportOptions: { server: `wss://${at}`, keepAliveInterval: 0 },
    authorizationUsername: 'web',
    authorizationPassword: password,
    logBuiltinEnabled: false,
    sessionDescriptionHandlerFactory: () => silent as never,
    delegate: {
      onConnect: () => void registerer.register({ requestDelegate: { onAccept: () => void told.connections++ } }),
      onDisconnect: (error?: Error) => {
        if (error) void agent.reconnect().catch(() => {});
      },
    },
  });
  const registerer = new Registerer(agent);
  await agent.start();
  await untilAsked(
    async () => told.connections > 0,
    () => 'it is not registered',
  );
  return { agent, at, told };
}

for (const who of ['the phone', 'the server'] as const)
  phones(`a call of sip.js over WSS is ended by ${who}`, () =>
    onSupervised(async (server) => {
      const { agent, at, told } = await startBrowser(server);
      try {
        const inviter = new Inviter(agent, UserAgent.makeURI(`sip:600@${at}`)!);
        await inviter.invite();
        await reached(inviter, SessionState.Established);
        await untilChannels(server, 1, server.logged);
        await server.kill();
        if (who === 'the phone') {
          await untilAsked(
            async () => told.connections > 1,
            () => 'it is not registered again',
          );
          await inviter.bye();
        } else {
          const [channel] = await channelsOf(server);
          await server.client().ok('DELETE', `/channels/${channel!.id}`);
        }
        await reached(inviter, SessionState.Terminated);
        await untilChannels(server, 0, server.logged);
      } finally {
        await agent.stop();
      }
    }),
  );

phones.run();
