/** A part of the configuration that comes out, by section; `notes` are comments above settings, by path with dots. */
export type Part = {
  general?: Record<string, unknown>;
  http?: Record<string, unknown>;
  tls?: Record<string, unknown>;
  applications?: Record<string, unknown>;
  sip?: Record<string, unknown>;
  media?: Record<string, unknown>;
  sounds?: Record<string, unknown>;
  external_media?: Record<string, unknown>;
  features?: Record<string, unknown>;
  dialplan?: Record<string, unknown>;
  notes: Record<string, string>;
};

/** `0.0.0.0:5060`, `[::]:5060` or an address alone. */
export function bindOf(text: string): { address: string; port: number | undefined } {
  const [, bracketed, plain = '', port] =
    /^(?:\[([^\]]*)\]|([^:]*|[0-9a-fA-F:]*))(?::(\d{1,5}))?$/.exec(text.trim()) ?? [];
  const address = bracketed ?? plain;
  const number = port === undefined ? undefined : Number(port);
  return {
    address: address === '' ? '0.0.0.0' : address,
    port: number !== undefined && number <= 65_535 ? number : undefined,
  };
}
