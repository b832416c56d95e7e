import Type from 'typebox';
import { Endpoint } from '../../models/endpoint.ts';
import type { AriErrorCode } from '../../models/errors.ts';
import { bodyParam, operation, pathParam, queryParam, type Resource } from '../operation.ts';

const tech = pathParam('Technology, e.g. PJSIP.');
const resource = pathParam('Name within the technology.');
const called = pathParam('Name within the technology.', 'endpoint');
const to = queryParam('string', 'Recipient: technology/resource or a URI.', {
  required: true,
  names: 'endpoint',
});

const message = {
  from: queryParam('string', 'Sender: technology/resource or a URI.', { required: true }),
  body: queryParam('string', 'The text.', { hidden: true }),
  variables: bodyParam('Additional variables: names and values.'),
} as const;

const refer = {
  from: queryParam('string', 'The referring party: technology/resource or a URI.', { required: true }),
  refer_to: queryParam('string', 'The target of the transfer.', { required: true, names: 'endpoint' }),
  to_self: queryParam('boolean', 'Refer it to its own call.', { default: false }),
  variables: bodyParam('Additional variables: names and values.'),
} as const;

const sendErrors = [
  'endpointNotFound',
  'toRequired',
  'fromRequired',
  'variablesNotObject',
  'variablesNotStrings',
] as const satisfies AriErrorCode[];

/** Endpoints: what can be called. */
export const endpoints: Resource = {
  name: 'endpoints',
  description: 'Endpoints: what can be called.',
  operations: [
    operation({
      method: 'GET',
      path: '/endpoints',
      nickname: 'list',
      summary: 'List all endpoints.',
      owner: 'endpoints',
      returns: Type.Array(Endpoint),
      handle: (endpoints) => endpoints.list(),
    }),
    operation({
      method: 'PUT',
      path: '/endpoints/sendMessage',
      nickname: 'sendMessage',
      summary: 'Send a text message to a URI or endpoint.',
      owner: 'messages',
      params: { to, ...message },
      status: 202,
      errors: sendErrors,
      handle: (messages, params) => messages.sendMessage(params),
    }),
    operation({
      method: 'POST',
      path: '/endpoints/refer',
      nickname: 'refer',
      summary: 'Refer an endpoint to somewhere else.',
      owner: 'messages',
      params: { to, ...refer },
      status: 202,
      errors: [...sendErrors, 'referToRequired'],
      handle: (messages, params) => messages.refer(params),
    }),
    operation({
      method: 'GET',
      path: '/endpoints/{tech}',
      nickname: 'listByTech',
      summary: 'List the endpoints of a technology.',
      owner: 'endpoints',
      params: { tech },
      returns: Type.Array(Endpoint),
      errors: ['invalidTechnology'],
      handle: (endpoints, params) => endpoints.listByTech(params.tech),
    }),
    operation({
      method: 'GET',
      path: '/endpoints/{tech}/{resource}',
      nickname: 'get',
      summary: 'Look at one endpoint.',
      owner: 'endpoints',
      params: { tech, resource },
      returns: Endpoint,
      errors: ['endpointNotFound'],
      handle: (endpoints, params) => endpoints.get(params.tech, params.resource),
    }),
    operation({
      method: 'PUT',
      path: '/endpoints/{tech}/{resource}/sendMessage',
      nickname: 'sendMessageToEndpoint',
      summary: 'Send a text message to an endpoint.',
      owner: 'messages',
      params: { tech, resource: called, ...message },
      status: 202,
      errors: sendErrors,
      handle: (messages, { tech: technology, resource: name, ...params }) =>
        messages.sendMessageToEndpoint(technology, name, params),
    }),
    operation({
      method: 'POST',
      path: '/endpoints/{tech}/{resource}/refer',
      nickname: 'referToEndpoint',
      summary: 'Refer this endpoint to somewhere else.',
      owner: 'messages',
      params: { tech, resource: called, ...refer },
      status: 202,
      errors: [...sendErrors, 'referToRequired'],
      handle: (messages, { tech: technology, resource: name, ...params }) =>
        messages.referToEndpoint(technology, name, params),
    }),
  ],
};
