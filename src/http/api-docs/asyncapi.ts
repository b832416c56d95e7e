import { eventSchemas, eventTypes } from '../../models/events.ts';
import { RESTRequest, RESTResponse } from '../../models/websocket-messages.ts';
import { components } from './openapi.ts';
import { plain } from './schemas.ts';

/** The AsyncAPI 3 description of the events WebSocket. */
export function createAsyncApi(version: string): (host?: string) => object {
  const told = [...eventTypes.map((type) => plain(eventSchemas[type])), plain(RESTResponse)];
  const asked = plain(RESTRequest);
  const all = [...told, asked];
  const messages = Object.fromEntries(
    all.map(({ $id, description }) => [
      $id,
      {
        name: $id,
        summary: description,
        contentType: 'application/json',
        payload: { $ref: `#/components/schemas/${$id}` },
      },
    ]),
  );
  const refer = ({ $id }: { $id?: string }) => ({ $ref: `#/channels/events/messages/${$id}` });
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Hookswitch events',
      version,
      description: 'Events and requests of applications over their WebSocket.',
    },
    defaultContentType: 'application/json',
    channels: {
      events: {
        address: '/events',
        messages: Object.fromEntries(all.map(({ $id }) => [$id, { $ref: `#/components/messages/${$id}` }])),
        bindings: {
          ws: {
            method: 'GET',
            query: {
              type: 'object',
              required: ['app'],
              properties: {
                app: { type: 'string', description: 'Applications to be, comma-separated.' },
                subscribeAll: { type: 'boolean', description: 'Listen to everything there is.' },
                api_key: { type: 'string', description: 'user:password, instead of the Authorization header.' },
              },
            },
          },
        },
      },
    },
    operations: {
      tell: { action: 'send', channel: { $ref: '#/channels/events' }, messages: told.map(refer) },
      ask: { action: 'receive', channel: { $ref: '#/channels/events' }, messages: [refer(asked)] },
    },
    components: { messages, schemas: components(all) },
  };
  return (host) => ({
    ...document,
    servers: { here: { host: host ?? 'localhost:8088', protocol: 'ws', pathname: '/ari' } },
  });
}
