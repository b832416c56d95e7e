import Type, { type Static } from 'typebox';
import { Registration } from './registration.ts';
import { model, text, texts } from './schema.ts';

export const endpointStates = ['unknown', 'offline', 'online'] as const;
export type EndpointState = (typeof endpointStates)[number];

/** Something that can be called: a phone, a trunk. */
export const Endpoint = model('Endpoint', 'Something that can be called, e.g. a phone.', {
  technology: text('Technology it is reached by, e.g. PJSIP.'),
  resource: text('Name within the technology.'),
  state: Type.Optional(Type.Enum([...endpointStates], { description: 'Whether a call would reach it.' })),
  channel_ids: texts('Ids of its channels.'),
  registrations: Type.Optional(
    Type.Array(Registration, { description: 'Our registrations at its provider; left out where there are none.' }),
  ),
});
export type Endpoint = Static<typeof Endpoint>;
