import { Timers } from '../../sip/dialog/stack.ts';
import { parseUri } from '../../sip/message/uri.ts';
import type { ContactDetails } from '../../telephony/contacts.ts';
import { digestClient, fromAddress } from './identity.ts';
import type { Services } from './services.ts';

/** Asks contacts whether they are there. */
interface Qualifier {
  /**
   * Sends OPTIONS. Any final response counts: a phone that refuses is reachable.
   * @returns the round trip in microseconds. @throws (rejects) when none came within the contact's time.
   */
  qualify(contact: ContactDetails): Promise<number>;
  size(): number;
  /** Rejects what is still waiting. */
  close(): void;
}

export function createQualifier(services: Services): Qualifier {
  const { stack, agent, endpoints, bindings } = services;
  const timers = new Timers(stack, 'a qualification');
  const waiting = new Set<(error: Error) => void>();

  const qualify = (contact: ContactDetails) =>
    new Promise<number>((resolve, reject) => {
      const endpoint = endpoints.named(contact.endpoint);
      const binding = bindings.byId(contact.id);
      const uri = binding?.uri ?? parseUri(contact.uri);
      if (!endpoint || !uri) return reject(new Error(`the contact ${contact.id} is unknown`));
      const began = stack.clock.monotonic();
      const settle = (done: () => void) => {
        if (!waiting.delete(fail)) return;
        timers.clear(limit);
        done();
      };
      const fail = (error: Error) => settle(() => reject(error));
      const limit = timers.start(() => fail(new Error('no answer in time')), contact.qualifyTimeoutMs);
      waiting.add(fail);
      agent.request(
        {
          method: 'OPTIONS',
          uri,
          to: { uri, params: {} },
          from: (target) => fromAddress(services, endpoint, { name: '', number: endpoint.name }, target),
          target: binding?.target,
          routes: binding?.routes ?? [],
          headers: [['Accept', 'application/sdp']],
          digest: digestClient(services, endpoint),
        },
        {
          onFinal: () => settle(() => resolve(Math.max(1, Math.round((stack.clock.monotonic() - began) * 1000)))),
          onFailure: (status) => fail(new Error(status === 408 ? 'no answer' : 'the request could not be sent')),
        },
      );
    });

  return {
    qualify,
    size: () => waiting.size,
    close() {
      for (const fail of [...waiting]) fail(new Error('the driver is closed'));
      timers.clearAll();
    },
  };
}
