import Type, { type Static } from 'typebox';
import { model, text } from './schema.ts';

const registrationStatuses = ['Unregistered', 'Registered', 'Rejected'] as const;
export type RegistrationStatus = (typeof registrationStatuses)[number];

/** Whether a provider knows where we are. */
export const Registration = model('Registration', 'A registration of ours at a provider.', {
  server: text('The registrar.'),
  client: text('The registered address of record.'),
  status: Type.Enum([...registrationStatuses], { description: 'Whether the registrar knows where we are.' }),
  reason: Type.Optional(text('Why it does not, as of the last try.')),
});
export type Registration = Static<typeof Registration>;
