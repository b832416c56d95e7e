import { buildRequest } from '../../src/sip/message/build.ts';
import type { SipRequest, SipResponse } from '../../src/sip/message/message.ts';
import { createPhone } from '../drivers/sip/support.ts';
import type { TestServer } from './server.ts';

/** A phone that subscribes without a password, and what it is told. */
export async function watcherOf(server: TestServer) {
  const phone = server.closing(await createPhone());
  const notified: SipRequest[] = [];
  phone.transactions.onRequest((transaction) => {
    notified.push(transaction.request);
    transaction.reply(200);
    phone.facts.changed();
  });
  const port = Number(server.sip().split(':').at(-1));
  const subscribe = (extension: string, event: string) =>
    new Promise<SipResponse>((resolve, reject) => {
      const message = buildRequest({
        method: 'SUBSCRIBE',
        uri: `sip:${extension}@127.0.0.1:${port}`,
        from: '<sip:lobby@127.0.0.1>;tag=1',
        to: `<sip:${extension}@127.0.0.1>`,
        callId: `${extension}-${event}`,
        cseq: 1,
        contact: `<${phone.uri}>`,
        headers: [['Event', event]],
      });
      const target = { protocol: 'udp', address: '127.0.0.1', port } as const;
      phone.transactions.request(message, target, { onFinal: resolve, onTimeout: reject, onTransportError: reject });
    });
  /** What the last of so many messages about an extension says. */
  const told = async (extension: string, count: number) => {
    const about = () => notified.filter(({ callId }) => callId.startsWith(extension));
    await phone.facts.until(() => about().length >= count, `${count} messages about ${extension}`);
    const last = about()[count - 1]!;
    const state = last.header('Subscription-State')!.replace(/\d+/, 'n');
    const shown = /<state>(\w+)/.exec(last.bodyText) ?? /<note>([\w ]+)/.exec(last.bodyText);
    return `${shown?.[1]} ${state}`;
  };
  return { subscribe, told };
}
