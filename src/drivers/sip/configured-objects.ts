import {
  aorAttributes,
  endpointAttributes,
  fieldsToAsterisk,
  identityAttributes,
  registrationAttributes,
} from '../../models/endpoint-attributes.ts';
import type { EndpointConfig, EndpointSecret } from './config.ts';
import { type Attribute, type CallerIds, type SipObject, type SipObjectKind, sipObjectTypes } from './objects.ts';

const initialOf = (kind: SipObjectKind): Record<string, string> =>
  Object.fromEntries(
    Object.entries(sipObjectTypes[kind].attributes as Readonly<Record<string, Attribute>>).flatMap(
      ([name, { initial, changes }]) => (changes ? [] : [[name, initial]]),
    ),
  );

const authObject = (id: string, auth: { username: string; realm?: string } & EndpointSecret): SipObject => ({
  id,
  values: {
    ...initialOf('auth'),
    auth_type: 'ha1' in auth ? 'md5' : 'userpass',
    username: auth.username,
    realm: auth.realm ?? '',
    ...('ha1' in auth ? { md5_cred: auth.ha1 } : { password: auth.password }),
  },
});

/** Endpoints of the configuration file as objects, named as they are; outbound credentials as `<name>-outbound`. */
export function objectsOf(
  endpoints: readonly EndpointConfig[],
  callerIds: CallerIds,
): Record<SipObjectKind, SipObject[]> {
  const objects: Record<SipObjectKind, SipObject[]> = {
    ...{ endpoint: [], aor: [], auth: [], identify: [], registration: [] },
  };
  for (const { name, auth, outboundAuth, aor: place, ...rest } of endpoints) {
    objects.endpoint.push({
      id: name,
      values: {
        ...initialOf('endpoint'),
        context: rest.context,
        auth: auth ? name : '',
        outbound_auth: outboundAuth ? `${name}-outbound` : '',
        aors: name,
        allow: [...rest.codecs, ...rest.videoCodecs].join(','),
        ...fieldsToAsterisk(endpointAttributes, rest),
        ...fieldsToAsterisk(identityAttributes, rest.identity),
        callerid: rest.callerId ? callerIds.format(rest.callerId) : '',
        set_var: Object.entries(rest.variables ?? {})
          .map(([variable, value]) => `${variable}=${value}`)
          .join(';'),
      },
    });
    if (rest.match.length > 0)
      objects.identify.push({
        id: name,
        values: { ...initialOf('identify'), endpoint: name, match: rest.match.join(',') },
      });
    for (const [index, registration] of (rest.registrations ?? []).entries())
      objects.registration.push({
        id: index === 0 ? name : `${name}-${index + 1}`,
        values: {
          ...initialOf('registration'),
          endpoint: name,
          outbound_auth: outboundAuth ? `${name}-outbound` : '',
          server_uri: registration.server,
          ...fieldsToAsterisk(registrationAttributes, registration),
        },
      });
    objects.aor.push({
      id: name,
      values: {
        ...initialOf('aor'),
        contact: place.contacts.join(','),
        ...fieldsToAsterisk(aorAttributes, place),
      },
    });
    if (auth) objects.auth.push(authObject(name, auth));
    if (outboundAuth) objects.auth.push(authObject(`${name}-outbound`, outboundAuth));
  }
  return objects;
}
