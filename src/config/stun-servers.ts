import type { Config } from './schema.ts';

type Place = { readonly address: string; readonly port: number };

/** A TURN server, and how it is reached; left out: by UDP. */
type TurnPlace = Place & { readonly transport?: 'tcp' | 'tls' };

type Terms = {
  readonly waitMs: number;
  readonly stun?: Place;
  readonly turn?: TurnPlace & {
    readonly username: string;
    readonly password: string;
    readonly secret: string;
    readonly messageBytes: number;
    readonly unsentBytes: number;
    readonly permissions: number;
    readonly name?: string;
    readonly authorities?: readonly string[];
  };
};

const usualPorts = { stun: 3478, tls: 5349 };

/** What the certificate of a TURN server has to have: its name, '' for its address, and authorities in PEM, else those of Node. */
type Certified = { readonly name: string; readonly authorities: readonly string[] | undefined };

/** Servers that tell or lend addresses to calls of browsers; undefined without any. */
export function gatheringTerms(
  { gathering, candidates }: Pick<Config['media']['webrtc'], 'gathering' | 'candidates'>,
  { name, authorities }: Certified,
): Terms | undefined {
  const { stun, turn, turn_name: _, wait, message: messageBytes, unsent: unsentBytes, ...account } = gathering;
  const place = turnPlace(turn);
  if (stun === '' && turn === '') return undefined;
  return {
    waitMs: wait * 1000,
    ...(stun !== '' && { stun: placeOf(stun) }),
    ...(place && {
      turn: {
        ...place,
        ...account,
        messageBytes,
        unsentBytes,
        permissions: candidates,
        ...(name !== '' && { name }),
        ...(authorities && { authorities }),
      },
    }),
  };
}

/** `address`, `address:port` or `[address]:port`; the usual port is that of RFC 8489 18.6. */
function placeOf(text: string, usualPort = usualPorts.stun): Place {
  const [, bracketed, plain, port = usualPort] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d+))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: Number(port) };
}

/** What a URI of a TURN server says (RFC 7065 3.1): `turn:`, or `turns:` for TLS. An address alone is reached by UDP. */
const turnUri = /^(turns?):([^?]{1,100})(?:\?transport=(udp|tcp))?$/;

/** The address in a setting of a TURN server; undefined where it is of no form that we take, as DTLS is. */
export function turnAddress(text: string): string | undefined {
  const [, scheme, address, transport] = turnUri.exec(text) ?? [];
  if (scheme === undefined) return text;
  return scheme === 'turns' && transport === 'udp' ? undefined : address;
}

function turnPlace(text: string): TurnPlace | undefined {
  const address = turnAddress(text);
  if (address === undefined || address === '') return undefined;
  const [, scheme, , transport] = turnUri.exec(text) ?? [];
  if (scheme === 'turns') return { ...placeOf(address, usualPorts.tls), transport: 'tls' };
  return { ...placeOf(address), ...(transport === 'tcp' && { transport }) };
}
