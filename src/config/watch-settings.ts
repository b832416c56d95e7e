import { Type } from 'typebox';
import { logLevels, logParts } from '../lib/log.ts';
import { choice, group, list, number, text, whole } from './setting.ts';

/** Settings for those who run the server: what it tells them, and where. */

const partLevel = () =>
  choice(['same', ...logLevels], {
    default: 'same',
    description: 'The level of this part; same: that of `log_level`.',
  });

type PartLevels = Record<(typeof logParts)[number], ReturnType<typeof partLevel>>;

/** `general.log_levels`: levels of single parts. */
export const partLevels = group(
  Object.fromEntries(logParts.map((part) => [part, partLevel()])) as PartLevels,
  'Levels of single parts, by the field `part` of their lines.',
);

/** The section `metrics`. */
export const metrics = group(
  {
    allowed: list(Type.String({ rule: 'network' }), {
      default: ['127.0.0.1', '::1'],
      commaList: true,
      description:
        'Addresses and networks that may read /metrics without credentials; [] for none, as behind a reverse proxy on this machine.',
    }),
  },
  'What Prometheus may read.',
);

/** The settings of a file that is put aside when it is full. @param megabytes its size as usual. */
const putAside = (megabytes: number) => ({
  file_size: number(0.001, 1_000_000, {
    default: megabytes,
    unit: 'MB',
    description: 'Size at which the file is put aside as `<file>.1` and a new one is begun.',
  }),
  files: whole(0, 1_000, {
    default: 10,
    unit: 'files',
    description: 'How many that were put aside are kept; the oldest go.',
  }),
});

/** The section `audit`. */
export const audit = group(
  {
    file: text({
      default: '',
      rule: 'file',
      description:
        'File that gets a line of JSON for every command over the interface and every log-in; relative to the configuration file. Empty: none.',
    }),
    ...putAside(50),
  },
  'Who did what over the interface.',
);

/** The section `cdr`. */
export const cdr = group(
  {
    file: text({
      default: '',
      rule: 'file',
      description:
        'File that gets a line of JSON for each leg of a call that has ended; relative to the configuration file. Empty: none.',
    }),
    ...putAside(100),
    variables: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description: 'Channel variables that stand in the records, as they were at the end.',
    }),
    webhook: group(
      {
        url: text({
          default: '',
          rule: 'httpUrl',
          description:
            'Where records are posted to, as JSON; over https its certificate is checked against tls.authorities. Empty: nowhere.',
        }),
        headers: list(Type.String({ rule: 'header' }), {
          default: [],
          description: 'Headers sent along, e.g. `Authorization: Bearer …`.',
        }),
        batch: whole(1, 10_000, {
          default: 100,
          unit: 'records',
          description: 'Records of one post, at most; more than one only while it is busy or away.',
        }),
        timeout: number(0.1, 600, { default: 10, unit: 's', description: 'How long it may take to answer.' }),
        retry: number(0.01, 3_600, {
          default: 1,
          unit: 's',
          description: 'How long to wait after a failure; twice as long after each further one, less a part by chance.',
        }),
        longest_retry: number(0.01, 86_400, { default: 300, unit: 's', description: 'The longest such wait.' }),
        spool: number(0.01, 1_000_000, {
          default: 100,
          unit: 'MB',
          description:
            'What may wait on the disk for it (in the data directory, over a restart); what is more is lost, and told.',
        }),
      },
      'Who is told of each record, at least once.',
    ),
  },
  'Call detail records: one for each leg of a call, when it has ended.',
);

/** The section `stuck`. */
export const stuck = group(
  {
    ringing: number(0, 86_400, {
      default: 10,
      unit: 's',
      description:
        'How long a call may ring in an application that does not answer it and calls nobody for it, before it counts as stuck. 0: as long as elsewhere, two minutes.',
    }),
    no_audio: number(0, 86_400, {
      default: 5,
      unit: 's',
      description:
        'How long after the answer no packet may have come from a far side that is to send audio, before the call counts as stuck, is logged and counted. 0: never.',
    }),
  },
  'When a call counts as stuck: it is shown and told, and nothing else happens to it.',
);
