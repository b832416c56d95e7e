import type { Config } from './schema.ts';

type Place = { readonly address: string; readonly port: number };

type Terms = {
  readonly waitMs: number;
  readonly stun?: Place;
  readonly turn?: Place & { readonly username: string; readonly password: string; readonly secret: string };
};

/** Servers that tell or lend addresses to calls of browsers; undefined without any. */
export function gatheringTerms({
  stun,
  turn,
  wait,
  ...account
}: Config['media']['webrtc']['gathering']): Terms | undefined {
  if (stun === '' && turn === '') return undefined;
  return {
    waitMs: wait * 1000,
    ...(stun !== '' && { stun: placeOf(stun) }),
    ...(turn !== '' && { turn: { ...placeOf(turn), ...account } }),
  };
}

/** `address`, `address:port` or `[address]:port`; the usual port is that of RFC 8489 18.6. */
function placeOf(text: string): Place {
  const [, bracketed, plain, port = '3478'] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d+))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: Number(port) };
}
