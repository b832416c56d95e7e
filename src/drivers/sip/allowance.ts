import { addressMatcher } from '../../lib/addresses.ts';
import type { Protocol } from '../../sip/transport/kind.ts';
import type { Source } from '../../sip/transport/transport.ts';

/** Limits of an endpoint, which reduce the damage of a stolen password. An empty or missing list limits nothing. */
export type Allowance = {
  /** Addresses or networks that its requests outside calls come from. */
  sources?: readonly string[];
  /** The same for its registrations, besides. */
  registrationSources?: readonly string[];
  /** Transports that its requests may use. */
  protocols?: readonly Protocol[];
  /** Calls at the same time, in both directions. */
  calls?: number;
  /** Extensions and patterns that it may call. */
  extensions?: readonly string[];
};

/** Says why a request of an endpoint is not let in from where it came; undefined when it is. */
export type AdmitSource = (source: Pick<Source, 'address' | 'protocol'>, method: string) => string | undefined;

/** Reads an allowance once, for all requests. */
export function sourceAllowance({ sources, registrationSources, protocols }: Allowance = {}): AdmitSource {
  const within = (networks: readonly string[] = []) => {
    const matchers = networks.map(addressMatcher);
    return (address: string) => matchers.length === 0 || matchers.some((match) => match(address));
  };
  const anywhere = within(sources);
  const registers = within(registrationSources);
  return ({ address, protocol }, method) => {
    if (protocols && protocols.length > 0 && !protocols.includes(protocol)) return `it may not come over ${protocol}`;
    if (!anywhere(address)) return 'its address is not in allow.addresses';
    return method === 'REGISTER' && !registers(address) ? 'it may not register from there' : undefined;
  };
}
