/** Replaces hidden parts. */
const hidden = '***';

/** A URL for display: without user name, password, and query values, which may be tokens. Other text is unchanged. */
export function shownUrl(text: string): string {
  const slashes = text.indexOf('://');
  if (slashes < 0) return text;
  const start = slashes + 3;
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
  const question = text.indexOf('?');
  const place = question < 0 ? text : text.slice(0, question);
  const query = question < 0 ? '' : shownQuery(text.slice(question));
  const at = place.lastIndexOf('@');
  if (at < 0) return place.includes(':') ? place + query : text;
  const scheme = /^[a-z][a-z0-9+.-]{0,20}:\/{0,3}/i.exec(place)?.[0] ?? '';
  const isNamed = /^(?:sips?|tel):$/i.test(scheme) && !place.slice(scheme.length, at).includes(':');
  return `${isNamed ? place : scheme + hidden + place.slice(at)}${query}`;
}

const shownQuery = (query: string): string =>
  query
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      return equals < 0 ? pair : `${pair.slice(0, equals + 1)}${hidden}`;
    })
    .join('&');
