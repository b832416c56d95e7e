import Type, { type Static } from 'typebox';
import { ChartDeadline } from './contact.ts';
import { model, text } from './schema.ts';

const registrationStatuses = ['Unregistered', 'Registered', 'Rejected', 'Standby'] as const;
export type RegistrationStatus = (typeof registrationStatuses)[number];

const registration = {
  server: text('The registrar.'),
  client: text('The registered address of record.'),
  status: Type.Enum([...registrationStatuses], {
    description: 'Whether the registrar knows where we are. `Standby`: another node of the cluster holds it.',
  }),
  reason: Type.Optional(text('Why it does not, as of the last try.')),
  node: Type.Optional(text('Node of the cluster that holds it; left out where none is known to.')),
};

/** Whether a provider knows where we are. */
export const Registration = model('Registration', 'A registration of ours at a provider.', registration);
export type Registration = Static<typeof Registration>;

/** A registration as the server keeps it: whose it is, and where in its chart it is. */
export const RegistrationView = model(
  'RegistrationView',
  'A registration of ours at a provider, and how it is doing.',
  {
    endpoint: text('Endpoint that it belongs to, as `technology/resource`.'),
    ...registration,
    state: text('Its state, as its chart names it: `backingOff`.'),
    deadlines: Type.Array(ChartDeadline, {
      description: 'What its chart is sent at a time, unless it changes before.',
    }),
  },
);
export type RegistrationView = Static<typeof RegistrationView>;
