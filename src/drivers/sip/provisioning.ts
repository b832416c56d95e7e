import type { Logger } from '../../lib/log.ts';
import type { EndpointConfig } from './config.ts';
import {
  type CallerIds,
  credentialsOf,
  endpointOf,
  type FindObject,
  namesIn,
  type SipObject,
  type SipObjectKind,
} from './objects.ts';

/** The objects that clients make. */
export type ProvisionedObjects = {
  find: FindObject;
  /** The objects of a kind that clients made. */
  made(kind: SipObjectKind): readonly SipObject[];
};

type ProvisioningOptions = {
  callerIds: CallerIds;
  driver: {
    setEndpoint(endpoint: EndpointConfig): void;
    removeEndpoint(name: string): void;
    endpoints(): readonly EndpointConfig[];
  };
  /** Told before the driver has an endpoint that is new, and after one is gone. */
  added(name: string): void;
  removed(name: string): void;
  log: Logger;
};

/** Brings objects that clients make to the driver. */
interface Provisioning {
  /** Loads the objects, and creates the endpoints kept over a restart. Before that there are none. */
  start(objects: ProvisionedObjects): void;
  /**
   * The configuration file has changed. A client's endpoint whose user name is now in the file is removed and reported.
   * One whose user name is free again is added.
   */
  review(): void;
  /** An object was created, changed or removed: its endpoints follow; calls continue unchanged. */
  changed(kind: string, id: string): void;
  /**
   * Why an object is refused: two endpoints would share a user name, which identifies callers. Undefined if it is
   * allowed.
   */
  refuses(kind: string, object: SipObject): string | undefined;
}

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
const includes = (ids: readonly string[], id: string): boolean => ids.some((each) => same(each, id));

export function createProvisioning(options: ProvisioningOptions): Provisioning {
  const { callerIds, driver, added, removed, log } = options;

  let objects: ProvisionedObjects = { find: () => undefined, made: () => [] };
  const find: FindObject = (kind, id) => objects.find(kind, id);
  const made = (): readonly SipObject[] => objects.made('endpoint');

  const isKnown = (name: string): boolean => driver.endpoints().some((each) => same(each.name, name));

  const set = (endpoint: SipObject): void => {
    if (!isKnown(endpoint.id)) added(endpoint.id);
    const [identifies, registrations] = [objects.made('identify'), objects.made('registration')];
    driver.setEndpoint(endpointOf(endpoint, find, callerIds, { identifies, registrations }));
  };

  const remove = (name: string): void => {
    driver.removeEndpoint(name);
    removed(name);
  };

  /** Endpoints of clients that name an object. */
  const naming = (kind: string, id: string): SipObject[] =>
    made().filter((endpoint) =>
      kind === 'aor'
        ? includes(namesIn(endpoint, 'aors'), id)
        : includes([...namesIn(endpoint, 'auth'), ...namesIn(endpoint, 'outbound_auth')], id),
    );

  const refuses: Provisioning['refuses'] = (kind, object) => {
    if (kind === 'aor') return undefined;
    if (kind === 'identify' || kind === 'registration') {
      const endpoint = find('endpoint', object.values['endpoint'] ?? '');
      const isOurs = endpoint === undefined || made().some(({ id }) => same(id, endpoint.id));
      if (!isOurs) return `the endpoint ${endpoint.id} stands in the configuration file`;
      const credentials = kind === 'registration' ? (object.values['outbound_auth'] ?? '') : '';
      return credentials !== '' && endpoint && !includes(namesIn(endpoint, 'outbound_auth'), credentials)
        ? `outbound_auth is not that of the endpoint ${endpoint.id}, whose password is shown to the registrar`
        : undefined;
    }
    const withObject: FindObject = (wanted, id) => (wanted === kind && same(id, object.id) ? object : find(wanted, id));
    const affected =
      kind === 'endpoint' ? [object] : made().filter((each) => includes(namesIn(each, 'auth'), object.id));
    const claims = affected.flatMap((each) => {
      const username = credentialsOf(namesIn(each, 'auth'), withObject)?.username;
      return username === undefined ? [] : [{ name: each.id, username }];
    });
    const others = driver.endpoints().flatMap(({ name, auth }) => {
      const isAffected = affected.some(({ id }) => same(id, name));
      return auth && !isAffected ? [{ name, username: auth.username }] : [];
    });
    for (const [index, { username }] of claims.entries()) {
      const rival = [...claims.slice(0, index), ...others].find((other) => other.username === username);
      if (rival) return `the user name ${username} is already used by ${rival.name}`;
    }
    return undefined;
  };

  const review = (): void => {
    for (const endpoint of made()) {
      const known = isKnown(endpoint.id);
      const problem = refuses('endpoint', endpoint);
      if (problem === undefined && !known) set(endpoint);
      if (problem === undefined) continue;
      log.warn({ endpoint: endpoint.id, problem }, 'an endpoint that was created at run time is no longer valid');
      if (known) remove(endpoint.id);
    }
  };

  return {
    start(provisioned) {
      objects = provisioned;
      review();
    },
    review,

    changed(kind, id) {
      if (kind === 'identify' || kind === 'registration') {
        // Endpoints that it named before are unknown: all are updated.
        for (const endpoint of made()) if (isKnown(endpoint.id)) set(endpoint);
        return;
      }
      if (kind !== 'endpoint') {
        for (const endpoint of naming(kind, id)) set(endpoint);
        return;
      }
      const endpoint = find('endpoint', id);
      if (endpoint) set(endpoint);
      else remove(id);
    },

    refuses,
  };
}
