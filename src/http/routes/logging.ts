import { Logging } from '../../models/logging.ts';
import { bodyParam, operation, queryParam, type Resource } from '../operation.ts';

/** Logging: what is written to the log. */
export const logging: Resource = {
  name: 'logging',
  description: 'Logging: which lines are written, of all parts of the server and of single ones.',
  operations: [
    operation({
      method: 'GET',
      path: '/logging',
      nickname: 'get',
      summary: 'Tell which lines are written.',
      owner: 'logLevels',
      returns: Logging,
      handle: (levels) => levels.get(),
    }),
    operation({
      method: 'PUT',
      path: '/logging',
      nickname: 'set',
      summary: 'Change the log levels, until the configuration is read again.',
      notes: 'Levels that are left out stay. Lines of `trace` contain SIP messages, without passwords.',
      owner: 'logLevels',
      params: {
        level: queryParam('string', 'The least serious kind of line that is written.', {
          allowed: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
        }),
        parts: bodyParam('Levels of parts, `{"sip":"trace"}`; parts that it does not name have none of their own.'),
      },
      errors: ['logLevelUnknown', 'logPartUnknown', 'logPartsInvalid'],
      returns: Logging,
      handle: (levels, request) => levels.set(request),
    }),
  ],
};
