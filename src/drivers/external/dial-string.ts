import { formatNames } from '../../lib/formats.ts';
import { DriverError } from '../../telephony/driver.ts';
import type { Codec } from '../../telephony/media.ts';

const codecs: ReadonlySet<string> = new Set<Codec>(formatNames);

/** The format of a name. @throws DriverError `format`. */
export function readCodec(format: string): Codec {
  const name = format.toLowerCase();
  if (!codecs.has(name)) throw new DriverError('format', `there is no format '${format}'`);
  return name as Codec;
}

/** `host:port`, an IPv6 address in brackets. @throws DriverError `resource`. */
export function readServer(server: string): { host: string; port: number } {
  const found = /^(?:\[([0-9a-f:.]+)\]|([^[\]:/\s]+)):(\d{1,5})$/i.exec(server);
  const port = Number(found?.[3]);
  const host = found?.[1] ?? found?.[2];
  if (!host || port < 1 || port > 0xffff) throw new DriverError('resource', `'${server}' is not <host>:<port>`);
  return { host, port };
}

/** A UUID in its usual form (RFC 9562 section 4), in small letters. @throws DriverError `resource`. */
export function readUuid(uuid: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid))
    throw new DriverError('resource', `'${uuid}' is not a UUID`);
  return uuid.toLowerCase();
}

/**
 * The parts of a resource and its options: single letters after the last slash, with or without a value in brackets
 * (`c(slin)n`).
 */
export function readOptions(options: string): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  for (const [, letter = '', value = ''] of options.matchAll(/([a-z])(?:\(([^()]*)\))?/gi)) read.set(letter, value);
  return read;
}
