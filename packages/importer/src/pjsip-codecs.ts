import { formatNames, isVideoFormat, videoFormatNames } from '../../../src/lib/formats.ts';
import type { Report } from './report.ts';
import type { Values } from './source.ts';

/** Codecs that there are. */
const codecs: ReadonlySet<string> = new Set([...formatNames, ...videoFormatNames]);
/** Asterisk's other names of them. */
const otherNames: Readonly<Record<string, string>> = { pcmu: 'ulaw', pcma: 'alaw', slin8: 'slin', slinear: 'slin' };
/** Meaning of `all`; video codecs must be named. */
const usual = ['ulaw', 'alaw', 'g722', 'opus'];

/** The codecs that `allow` and `disallow` name, item by item: `allow=!all,ulaw` disallows all, then allows ulaw. */
function choicesOf(each: Values): { names: readonly string[]; isAllowed: boolean }[] {
  return each.entries.flatMap(({ key, value }) => {
    const isAllow = key.toLowerCase() === 'allow';
    if (!isAllow && key.toLowerCase() !== 'disallow') return [];
    const items = value.toLowerCase().split(/[,&|]/);
    return items.flatMap((word) => {
      const item = word.trim();
      if (item === '') return [];
      const isAllowed = isAllow !== item.startsWith('!');
      const given = item.replace(/^!/, '').replace(/:\d+$/, '');
      const name = (Object.hasOwn(otherNames, given) ? otherNames[given] : undefined) ?? given;
      const all = [...usual, ...(isAllowed ? [] : videoFormatNames)];
      return [{ names: name === 'all' ? all : [name], isAllowed }];
    });
  });
}

/** Audio and video codecs after `allow` and `disallow` of an endpoint, and its number of video streams. */
export function codecsOf(each: Values, report: Report): Record<string, unknown> {
  let chosen: string[] = [];
  const unknown = new Set<string>();
  for (const { names, isAllowed } of choicesOf(each)) {
    chosen = chosen.filter((codec) => !names.includes(codec));
    if (!isAllowed) continue;
    chosen.push(...names.filter((codec) => codecs.has(codec)));
    for (const codec of names) if (!codecs.has(codec)) unknown.add(codec);
  }
  for (const codec of unknown) report.missing(each.place, `codec ${codec} is not supported and is dropped`);
  const video = chosen.filter(isVideoFormat);
  const audio = chosen.filter((codec) => !isVideoFormat(codec));
  if (audio.length === 0)
    report.approximated(each.place, 'none of its audio codecs is supported; ulaw and alaw are offered');
  const streams = each.number('max_video_streams', 1, 32) ?? 1;
  return {
    codecs: audio.length > 0 ? audio : ['ulaw', 'alaw'],
    ...(video.length > 0 && { video_codecs: video, ...(streams > 1 && { max_video_streams: streams }) }),
  };
}
