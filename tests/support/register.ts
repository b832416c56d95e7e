import { systemClock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { createDigestClient, type DigestClient } from '../../src/sip/auth/client.ts';
import { buildRequest } from '../../src/sip/message/build.ts';
import type { SipResponse } from '../../src/sip/message/message.ts';
import type { TransactionLayer } from '../../src/sip/transaction/transaction.ts';

const ids = createIds(systemClock);

/** Registers over UDP as a phone does, with a digest when it is asked for one: the status of the last answer. */
export async function registerPhone(
  phone: { transactions: TransactionLayer; port: number },
  server: { port: number },
  { user, username = user, password }: { user: string; username?: string; password: string },
): Promise<number> {
  const uri = `sip:127.0.0.1:${server.port}`;
  const aor = `<sip:${user}@127.0.0.1>`;
  const callId = ids.uuid();
  const send = (cseq: number, digest: DigestClient) =>
    new Promise<SipResponse>((resolve, reject) => {
      const headers = [['Contact', `<sip:${user}@127.0.0.1:${phone.port}>`]] as const;
      const from = `${aor};tag=1`;
      const request = buildRequest({ method: 'REGISTER', uri, from, to: aor, callId, cseq, headers });
      for (const { name, value } of digest.authorize('REGISTER', uri)) request.append(name, value);
      const target = { protocol: 'udp', address: '127.0.0.1', port: server.port } as const;
      phone.transactions.request(request, target, { onFinal: resolve, onTimeout: reject, onTransportError: reject });
    });
  const digest = createDigestClient([{ username, password }], ids);
  const challenge = await send(1, digest);
  if (challenge.status !== 401) return challenge.status;
  const values = challenge.headerLines('WWW-Authenticate');
  digest.challenged(values.map((value) => ({ from: 'WWW-Authenticate', value })));
  return (await send(2, digest)).status;
}
