import { LogInSession, Ticket } from '../../models/log-in-session.ts';
import { operation, type Resource } from '../operation.ts';

/** Sessions: log-ins of pages. */
export const sessions: Resource = {
  name: 'sessions',
  description: 'Sessions: log-ins of web pages, which shall not keep a password.',
  operations: [
    operation({
      method: 'POST',
      path: '/sessions',
      nickname: 'open',
      summary: 'Log in: get a token for the name and password that the request comes with.',
      notes: 'Every user may, also one who may only look. The token is good for `http.sessions.lifetime`.',
      owner: 'sessions',
      changes: 'nothing',
      everyone: true,
      returns: LogInSession,
      handle: (sessions, _params, requester) => sessions.open(requester),
    }),
    operation({
      method: 'DELETE',
      path: '/sessions',
      nickname: 'close',
      summary: "Log out: the request's token becomes invalid.",
      owner: 'sessions',
      changes: 'nothing',
      everyone: true,
      handle: (sessions, _params, requester) => sessions.close(requester),
    }),
    operation({
      method: 'POST',
      path: '/sessions/tickets',
      nickname: 'ticket',
      summary: 'Get a ticket. It opens one WebSocket (`?ticket=…`) as the same user.',
      notes:
        'For browsers, which send no header with a WebSocket. It is good once, for `http.sessions.ticket_lifetime`.',
      owner: 'sessions',
      changes: 'nothing',
      everyone: true,
      returns: Ticket,
      handle: (sessions, _params, requester) => sessions.ticket(requester),
    }),
  ],
};
