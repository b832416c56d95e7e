/** Replaces hidden parts. */
const hidden = '***';

/**
 * A URL for display: without user name, password, and query values, which may be tokens. In an invalid URL all before the
 * last `@` is hidden: a password with `/`, `?` or `#` in it is not recognised otherwise. Other text is unchanged.
 */
export function shownUrl(text: string): string {
  const slashes = text.indexOf('://');
  if (slashes < 0) return text;
  const start = slashes + 3;
  const last = text.lastIndexOf('@');
  if (last > start && !URL.canParse(text)) return `${text.slice(0, start)}${hidden}${text.slice(last)}`;
  const question = text.indexOf('?', start);
  const end = question < 0 ? text.length : question;
  const slash = text.indexOf('/', start);
  const host = text.slice(start, slash < 0 ? end : Math.min(slash, end));
  const at = host.lastIndexOf('@');
  const place = at < 0 ? text.slice(start, end) : `${hidden}@${text.slice(start + at + 1, end)}`;
  return `${text.slice(0, start)}${place}${question < 0 ? '' : shownQuery(text.slice(question))}`;
}

/**
 * A text that should have been a URL, for display: without a log-in before `@`, and without query values. Users of SIP
 * addresses are shown, their passwords are not.
 */
export function shownText(text: string): string {
  const mark = text.indexOf('?');
  // A password may contain a question mark: `wss://me:a?b@host`.
  const isLogIn = mark > 0 && text.includes('@', mark) && text.slice(0, mark).includes(':');
  const question = isLogIn ? -1 : mark;
  const place = question < 0 ? text : text.slice(0, question);
  const query = question < 0 ? '' : shownQuery(text.slice(question));
  const at = place.lastIndexOf('@');
  if (at < 0) return place.includes(':') ? place + query : text;
  const scheme = /^[a-z][a-z0-9+.-]{0,20}:\/{0,3}/i.exec(place)?.[0] ?? '';
  const isNamed = /^(?:sips?|tel):$/i.test(scheme) && !place.slice(scheme.length, at).includes(':');
  return `${isNamed ? place : scheme + hidden + place.slice(at)}${query}`;
}

/** Says what is wrong with the base URL of a server, without its password; undefined for an HTTP URL. */
export const refuseServerUrl = (url: string): string | undefined =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? undefined
    : `'${shownText(url)}' is not an HTTP URL; expected one such as http://127.0.0.1:8088`;

const shownQuery = (query: string): string =>
  query
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      return equals < 0 ? pair : `${pair.slice(0, equals + 1)}${hidden}`;
    })
    .join('&');
