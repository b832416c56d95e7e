import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Part } from './part.ts';
import type { Report } from './report.ts';
import { type Section, Values } from './source.ts';
import { tellUnused } from './unused.ts';

/** `rtp.conf`, `musiconhold.conf` and `asterisk.conf`: audio, music and prompts. */

type MediaFiles = Record<'rtp' | 'music' | 'asterisk', readonly Section[]>;

/** Default directory of sounds. */
const standardData = '/var/lib/asterisk';

/** Translates these files. */
export function importMedia({ rtp, music, asterisk }: MediaFiles, report: Report): Part {
  const values = (sections: readonly Section[], name: string, file: string): Values =>
    new Values(sections.find((section) => section.name === name) ?? { name, place: file, entries: [] });
  const options = values(asterisk, 'options', 'asterisk.conf');
  const directories = values(asterisk, 'directories', 'asterisk.conf');
  const audio = values(rtp, 'general', 'rtp.conf');
  const data = directories.text('astdatadir') || directories.text('astvarlibdir') || standardData;
  return {
    general: {
      ...(options.text('systemname') ? { system_name: options.text('systemname') } : {}),
      ...(options.text('entityid') ? { entity_id: options.text('entityid') } : {}),
    },
    media: rtpOf(audio, report),
    ...stunOf(audio, report),
    sounds: {
      directories: [join(data, 'sounds'), 'builtin'],
      ...musicOf(music, data, report),
      ...(options.text('defaultlanguage') ? { default_language: options.text('defaultlanguage') } : {}),
    },
    notes: { 'sounds.directories': "Asterisk's prompts. Copy the directory, or remove the line." },
  };
}

function rtpOf(rtp: Values, report: Report): Record<string, unknown> {
  const [first, last] = [rtp.number('rtpstart', 1_024, 65_534), rtp.number('rtpend', 1_025, 65_535)];
  for (const key of ['turnaddr', 'turnusername', 'turnpassword'])
    if (rtp.text(key) !== '') report.missing(rtp.place, `${key} is dropped: TURN is not supported`);
  for (const key of ['stun_blacklist', 'stun_deny', 'ice_deny', 'ice_blacklist'])
    if (rtp.text(key) !== '') report.missing(rtp.place, `${key} is dropped: ICE is not supported`);
  tellUnused('rtp', [rtp], report);
  if (rtp.flag('strictrtp') === false)
    report.approximated(
      rtp.place,
      'strictrtp=no: audio is accepted from one address only, which is learned within media.nat_search',
    );
  if (first === undefined || last === undefined || last <= first) {
    if (rtp.entries.length > 0) report.approximated(rtp.place, 'RTP ports: the default of 10000 to 20000 is used');
    return {};
  }
  report.took('range of RTP ports');
  return { rtp_ports: [first, last] };
}

/** `host`, `host:port`, `[address]:port`. */
const isHost = (text: string): boolean => /^(?:\[[0-9a-f:]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(text);

/** The STUN server, for signalling and audio. */
function stunOf(rtp: Values, report: Report): { sip?: { stun_server: string } } {
  const server = rtp.text('stunaddr');
  if (server === '') return {};
  if (!isHost(server)) {
    report.missing(rtp.place, `stunaddr ${server} is not <host>:<port> and is dropped`);
    return {};
  }
  report.took('STUN servers, as sip.stun_server, unless an external address is set');
  return { sip: { stun_server: server } };
}

/** Directories of classes: here they are sub-directories of `sounds.music`. */
function musicOf(music: readonly Section[], data: string, report: Report): { music?: string[] } {
  const places = new Set<string>();
  for (const section of music) {
    if (section.name === 'general') continue;
    const values = new Values(section);
    const mode = values.text('mode').toLowerCase();
    const given = values.text('directory');
    if (mode !== 'files' || given === '') {
      report.missing(
        section.place,
        `music of the mode ${mode || '(none)'}: only files are supported; put them into a directory`,
      );
      continue;
    }
    const directory = isAbsolute(given) ? given : join(data, given);
    if (basename(directory) === section.name) {
      places.add(dirname(directory));
      report.took('classes of music');
    } else
      report.approximated(
        section.place,
        `the class ${section.name} is the directory of that name in one of sounds.music: link it, ln -s ${directory} <directory>/${section.name}`,
      );
  }
  return places.size > 0 ? { music: [...places, 'builtin'] } : {};
}
