import Type from 'typebox';
import { Mailbox } from '../../models/mailbox.ts';
import { operation, pathParam, queryParam, type Resource } from '../operation.ts';

const mailboxName = pathParam('Name of the mailbox.');

/** Mailboxes: counts of messages that wait. */
export const mailboxes: Resource = {
  name: 'mailboxes',
  description: 'Mailboxes: counts of messages that wait.',
  requiresModules: ['res_stasis_mailbox'],
  operations: [
    operation({
      method: 'GET',
      path: '/mailboxes',
      nickname: 'list',
      summary: 'List all mailboxes.',
      owner: 'mailboxes',
      returns: Type.Array(Mailbox),
      handle: (mailboxes) => mailboxes.list(),
    }),
    operation({
      method: 'GET',
      path: '/mailboxes/{mailboxName}',
      nickname: 'get',
      summary: 'Look at one mailbox.',
      owner: 'mailboxes',
      params: { mailboxName },
      returns: Mailbox,
      errors: ['mailboxNotFound'],
      handle: (mailboxes, params) => mailboxes.get(params.mailboxName),
    }),
    operation({
      method: 'PUT',
      path: '/mailboxes/{mailboxName}',
      nickname: 'update',
      summary: 'Set the counts of a mailbox; it is made when there is none.',
      owner: 'mailboxes',
      params: {
        mailboxName,
        oldMessages: queryParam('int', 'Messages already heard.', { required: true, min: 0 }),
        newMessages: queryParam('int', 'Messages not heard yet.', { required: true, min: 0 }),
      },
      errors: ['mailboxUpdateFailed', 'storageFailed'],
      handle: (mailboxes, { mailboxName: name, ...counts }) => mailboxes.update(name, counts),
    }),
    operation({
      method: 'DELETE',
      path: '/mailboxes/{mailboxName}',
      nickname: 'delete',
      summary: 'Forget a mailbox.',
      owner: 'mailboxes',
      params: { mailboxName },
      errors: ['mailboxToDeleteNotFound', 'storageFailed'],
      handle: (mailboxes, params) => mailboxes.delete(params.mailboxName),
    }),
  ],
};
