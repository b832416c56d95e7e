import type { Bus } from '../bus/bus.ts';
import { endpointTopics } from '../bus/topics.ts';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import type { Endpoints } from '../stores/endpoints.ts';
import { DriverError } from '../telephony/driver.ts';
import type { MessageDriver, ReceivedMessage } from '../telephony/messages.ts';

type SendMessageRequest = {
  to?: string | undefined;
  from?: string | undefined;
  body?: string | undefined;
  variables?: unknown;
};
type ReferRequest = {
  to?: string | undefined;
  from?: string | undefined;
  refer_to?: string | undefined;
  to_self?: boolean | undefined;
  variables?: unknown;
};

/** Text messages and referrals outside calls. */
export interface Messages {
  /** Resolves when the message is on its way. @throws AriError toRequired, fromRequired, variables…, endpointNotFound. */
  sendMessage(request: SendMessageRequest): Promise<void>;
  sendMessageToEndpoint(technology: string, resource: string, request: SendMessageRequest): Promise<void>;
  /** Resolves when the referral is on its way. @throws AriError as `sendMessage`, referToRequired. */
  refer(request: ReferRequest): Promise<void>;
  referToEndpoint(technology: string, resource: string, request: ReferRequest): Promise<void>;
  /** Registers the technology that sends messages. Without it none can be sent. */
  attach(driver: MessageDriver): void;
  /** Publishes an incoming message as TextMessageReceived. */
  received(message: ReceivedMessage): void;
}

/** Names to strings, and nothing else. @throws AriError variablesNotObject, variablesNotStrings. */
function readStrings(variables: unknown): Record<string, string> {
  if (variables === undefined || variables === null) return {};
  if (typeof variables !== 'object' || Array.isArray(variables)) throw new AriError('variablesNotObject');
  if (Object.values(variables).some((value) => typeof value !== 'string')) throw new AriError('variablesNotStrings');
  return variables as Record<string, string>;
}

export function createMessages({ bus, log, endpoints }: { bus: Bus; log: Logger; endpoints: Endpoints }): Messages {
  let attached: MessageDriver | undefined;

  /** @throws AriError endpointNotFound while no technology carries messages. */
  const driver = (): MessageDriver => {
    if (!attached) throw new AriError('endpointNotFound');
    return attached;
  };

  /** Waits until it is clear whether something can be sent at all; what the far side makes of it later is logged. */
  const onItsWay = (send: (leaves: () => void) => Promise<void>, what: string, to: string): Promise<void> =>
    new Promise((resolve, reject) => {
      let hasLeft = false;
      const leaves = (): void => {
        hasLeft = true;
        resolve();
      };
      send(leaves).then(leaves, (error: unknown) => {
        if (!hasLeft && error instanceof DriverError)
          return reject(new AriError('endpointNotFound', {}, { cause: error }));
        log.warn({ to, error }, `${what} was not accepted`);
        leaves();
      });
    });

  /** `tech:resource` of an endpoint that exists. @throws AriError endpointNotFound. */
  const addressOf = (technology: string, resource: string): string => {
    const endpoint = endpoints.get(technology, resource);
    return `${endpoint.technology.toLowerCase()}:${endpoint.resource}`;
  };

  const sendMessage = ({ to, from, body = '', variables }: SendMessageRequest): Promise<void> => {
    const strings = readStrings(variables);
    if (!to) throw new AriError('toRequired');
    if (!from) throw new AriError('fromRequired');
    const message = { to, from, body, variables: strings };
    const carrier = driver();
    return onItsWay((leaves) => carrier.sendMessage(message, leaves), 'a text message', to);
  };

  const refer = ({ to, from, refer_to: referTo, to_self: toSelf, variables }: ReferRequest): Promise<void> => {
    const strings = readStrings(variables);
    if (!to) throw new AriError('toRequired');
    if (!referTo) throw new AriError('referToRequired');
    const request = {
      to,
      referTo,
      ...(from ? { from } : {}),
      ...(toSelf === undefined ? {} : { toSelf }),
      variables: strings,
      progress: (status: number, done: boolean) => log.info({ to, referTo, status, done }, 'a REFER is in progress'),
    };
    const carrier = driver();
    return onItsWay((leaves) => carrier.refer(request, leaves), 'a referral', to);
  };

  return {
    sendMessage: async (request) => sendMessage(request),
    sendMessageToEndpoint: async (technology, resource, request) =>
      sendMessage({ ...request, to: addressOf(technology, resource) }),
    refer: async (request) => refer(request),
    referToEndpoint: async (technology, resource, request) =>
      refer({ ...request, to: addressOf(technology, resource) }),

    attach(carrier) {
      attached = carrier;
    },

    received({ from, to, body, endpoint: name, headers }) {
      const { technology } = driver();
      const endpoint = endpoints.find(technology, name);
      bus.publish({
        event: {
          type: 'TextMessageReceived',
          message: { from, to, body, variables: headers },
          ...(endpoint ? { endpoint } : {}),
        },
        topics: endpointTopics(technology, name),
      });
    },
  };
}
