import { createHmac } from 'node:crypto';

/** TURN servers that share a secret with us (`use-auth-secret` of coturn). */
type TurnSettings = {
  readonly urls: readonly string[];
  /** Never told: it makes passwords. */
  readonly secret: string;
  /** How long a password is good, in s. */
  readonly lifetime: number;
};

/** An entry of `iceServers` (W3C WebRTC, RTCIceServer). */
export type IceServer = { urls: string[]; username?: string; credential?: string };

/**
 * Credentials that end by themselves: the name says when, and the password is its HMAC (draft-uberti-behave-turn-rest 2.2).
 * Without a secret the servers need none.
 * @param now ms since the Unix epoch.
 */
export function iceServers({ urls, secret, lifetime }: TurnSettings, name: string, now: number): IceServer[] {
  if (urls.length === 0) return [];
  if (secret === '') return [{ urls: [...urls] }];
  const username = `${Math.floor(now / 1000) + lifetime}:${name}`;
  return [{ urls: [...urls], username, credential: createHmac('sha1', secret).update(username).digest('base64') }];
}
