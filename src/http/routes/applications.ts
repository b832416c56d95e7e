import Type from 'typebox';
import { Application } from '../../models/application.ts';
import { bodyParam, operation, pathParam, queryParam, type Resource } from '../operation.ts';

const applicationName = pathParam('Name of the application.', 'application');
const eventSource = queryParam(
  'list',
  'Event sources: channel:id, bridge:id, endpoint:technology/resource or deviceState:name. Without an id: all.',
  { required: true, names: 'eventSource' },
);

/** Applications: the clients of this interface and what they listen to. */
export const applications: Resource = {
  name: 'applications',
  description: 'Applications: the clients of this interface and what they listen to.',
  operations: [
    operation({
      method: 'GET',
      path: '/applications',
      nickname: 'list',
      summary: 'List all applications.',
      owner: 'applications',
      returns: Type.Array(Application),
      handle: (applications) => applications.list(),
    }),
    operation({
      method: 'GET',
      path: '/applications/{applicationName}',
      nickname: 'get',
      summary: 'Look at one application.',
      owner: 'applications',
      params: { applicationName },
      returns: Application,
      errors: ['applicationNotFound'],
      handle: (applications, params) => applications.get(params.applicationName),
    }),
    operation({
      method: 'POST',
      path: '/applications/{applicationName}/subscription',
      nickname: 'subscribe',
      summary: 'Listen to something; counted, once per call.',
      owner: 'applications',
      params: { applicationName, eventSource },
      returns: Application,
      errors: ['eventSourceRequired', 'applicationNotFound', 'eventSourceSchemeInvalid', 'eventSourceNotFound'],
      handle: (applications, params) => applications.subscribe(params.applicationName, params.eventSource),
    }),
    operation({
      method: 'DELETE',
      path: '/applications/{applicationName}/subscription',
      nickname: 'unsubscribe',
      summary: 'Take one subscription back.',
      owner: 'applications',
      params: { applicationName, eventSource },
      returns: Application,
      errors: [
        'eventSourceRequired',
        'applicationNotFound',
        'eventSourceSchemeInvalid',
        'eventSourceNotFound',
        'eventSourceNotSubscribed',
      ],
      handle: (applications, params) => applications.unsubscribe(params.applicationName, params.eventSource),
    }),
    operation({
      method: 'PUT',
      path: '/applications/{applicationName}/eventFilter',
      nickname: 'filter',
      summary: 'Say which event types the application gets.',
      notes:
        'The body has lists `allowed` and `disallowed` of objects with a `type`. A type gets through when it is not disallowed and either nothing or just this is allowed. A list that is left out stays; no body clears both.',
      owner: 'applications',
      params: { applicationName, filter: bodyParam('The lists.', { whole: true }) },
      returns: Application,
      errors: ['applicationNotFound', 'eventFilterInvalid'],
      handle: (applications, params) => applications.filter(params.applicationName, params.filter),
    }),
  ],
};
