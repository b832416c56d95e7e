import type { EndpointConfig, EndpointSecret } from './config.ts';
import { modeOfDigits } from './digit-modes.ts';
import { type Attribute, type CallerIds, type SipObject, type SipObjectKind, sipObjectTypes } from './objects.ts';

const yesOrNo = (on: boolean): string => (on ? 'yes' : 'no');

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
        max_video_streams: String(rest.maxVideoStreams),
        max_video_bandwidth: String((rest.maxVideoBitrate ?? 0) / 1000),
        callerid: rest.callerId ? callerIds.format(rest.callerId) : '',
        language: rest.language ?? '',
        accountcode: rest.accountCode ?? '',
        subscribe_context: rest.subscribeContext ?? '',
        tenantid: rest.tenantId ?? '',
        dtmf_mode: modeOfDigits[rest.digits],
        rewrite_contact: rest.symmetric ? 'yes' : 'no',
        trust_id_inbound: yesOrNo(rest.trustIdentity),
        trust_id_outbound: yesOrNo(rest.identity.restricted),
        send_pai: yesOrNo(rest.identity.pai),
        send_rpid: yesOrNo(rest.identity.rpid),
        send_diversion: yesOrNo(rest.identity.diversion),
        send_history_info: yesOrNo(rest.identity.historyInfo),
        send_connected_line: yesOrNo(rest.sendConnectedLine),
        redirect_method: rest.redirects,
        allow_transfer: yesOrNo(rest.allowTransfer),
        '100rel': rest.reliable,
        timers: rest.timers,
        timers_sess_expires: String(rest.sessionSeconds),
        timers_min_se: String(rest.shortestSessionSeconds),
        from_user: rest.fromUser ?? '',
        from_domain: rest.fromDomain ?? '',
        outbound_proxy: rest.outboundProxy ?? '',
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
          client_uri: registration.client ?? '',
          contact_user: registration.contactUser ?? '',
          expiration: String(registration.expirationSeconds),
          retry_interval: String(registration.retryMs / 1000),
          forbidden_retry_interval: String(registration.rejectedRetryMs / 1000),
        },
      });
    objects.aor.push({
      id: name,
      values: {
        ...initialOf('aor'),
        contact: place.contacts.join(','),
        max_contacts: String(place.maxContacts),
        minimum_expiration: String(place.minimumExpirationSeconds),
        maximum_expiration: String(place.maximumExpirationSeconds),
        default_expiration: String(place.defaultExpirationSeconds),
        qualify_frequency: String(place.qualifyFrequencyMs / 1000),
        qualify_timeout: String(place.qualifyTimeoutMs / 1000),
      },
    });
    if (auth) objects.auth.push(authObject(name, auth));
    if (outboundAuth) objects.auth.push(authObject(`${name}-outbound`, outboundAuth));
  }
  return objects;
}
