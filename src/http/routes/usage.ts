import { Usage } from '../../models/usage.ts';
import { operation, type Resource } from '../operation.ts';

/** Usage: what the server holds. */
export const usage: Resource = {
  name: 'usage',
  description: 'Usage: objects in memory, for monitoring and for finding leaks.',
  operations: [
    operation({
      method: 'GET',
      path: '/usage',
      nickname: 'get',
      summary: 'Count the objects in memory.',
      notes:
        'Of a server without calls every count is what it was at the start, but for contacts, bindings and nonces.',
      owner: 'usage',
      returns: Usage,
      handle: (usage) => usage.get(),
    }),
  ],
};
