import { Type } from 'typebox';
import { logLevels, logParts } from '../lib/log.ts';
import { choice, group, list, number, text, whole } from './setting.ts';

/** Settings for operators: logs, metrics and records. */

const partLevel = () =>
  choice(['same', ...logLevels], {
    default: 'same',
    description: 'Log level of this part. same: that of `log_level`.',
  });

type PartLevels = Record<(typeof logParts)[number], ReturnType<typeof partLevel>>;

/** `general.log_levels`: levels of single parts. */
export const partLevels = group(
  Object.fromEntries(logParts.map((part) => [part, partLevel()])) as PartLevels,
  'Log levels of parts, by the field `part` of their lines.',
);

/** The section `metrics`. */
export const metrics = group(
  {
    allowed: list(Type.String({ rule: 'network' }), {
      default: ['127.0.0.1', '::1'],
      commaList: true,
      description:
        'Addresses and networks that may read /metrics without credentials. Set [] behind a reverse proxy on this machine.',
    }),
  },
  'Prometheus metrics, GET /metrics.',
);

/** The settings of a file that is put aside when it is full. @param megabytes its size as usual. */
const putAside = (megabytes: number) => ({
  file_size: number(0.001, 1_000_000, {
    default: megabytes,
    unit: 'MB',
    description: 'Size at which the file is renamed to `<file>.1` and a new one starts.',
  }),
  files: whole(0, 1_000, {
    default: 10,
    unit: 'files',
    description: 'Renamed files that are kept. The oldest are deleted.',
  }),
});

/** The section `audit`. */
export const audit = group(
  {
    file: text({
      default: '',
      rule: 'file',
      description:
        'File that gets a JSON line for every command over the interface and every log-in. A relative path starts at the configuration file. Empty: none.',
    }),
    ...putAside(50),
  },
  'Audit log of the interface: who did what, from where, with which result. Secrets are never written. See docs/security.md.',
);

/** The section `cdr`. */
export const cdr = group(
  {
    file: text({
      default: '',
      rule: 'file',
      description:
        'File that gets a JSON line for each ended leg of a call. A relative path starts at the configuration file. Empty: none.',
    }),
    ...putAside(100),
    refused_calls: whole(0, 1_000_000, {
      default: 60,
      unit: 'records',
      description:
        'Records in a minute of inbound calls that were refused before they had a channel. Further ones are counted in `left_out` of the next record. 0: none.',
    }),
    variables: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description: 'Channel variables included in the records, with their last values.',
    }),
    webhook: group(
      {
        url: text({
          default: '',
          rule: 'httpUrl',
          description:
            'URL that records are posted to, as JSON. Over https its certificate is checked against tls.authorities. Empty: none.',
        }),
        headers: list(Type.String({ rule: 'header' }), {
          default: [],
          description: 'Additional headers, e.g. `Authorization: Bearer …`.',
        }),
        batch: whole(1, 10_000, {
          default: 100,
          unit: 'records',
          description: 'Records in one request. More than one are sent only after a wait.',
        }),
        timeout: number(0.1, 600, { default: 10, unit: 's', description: "Time limit for the server's response." }),
        retry: number(0.01, 3_600, {
          default: 1,
          unit: 's',
          description: 'Pause after a failure. It doubles with each further failure, less a random part.',
        }),
        longest_retry: number(0.01, 86_400, { default: 300, unit: 's', description: 'Longest such pause.' }),
        spool: number(0.01, 1_000_000, {
          default: 100,
          unit: 'MB',
          description:
            'Undelivered records on the disk (in the data directory, also across a restart). Further ones are lost and logged.',
        }),
      },
      'Receives each record at least once.',
    ),
  },
  'Call detail records: one for each ended leg of a call. See docs/call-detail-records.md.',
);

/** The section `stuck`. */
export const stuck = group(
  {
    ringing: number(0, 86_400, {
      default: 10,
      unit: 's',
      description:
        'Time after which a call counts as stuck that rings in an application which neither answers nor dials for it. 0: two minutes.',
    }),
    no_audio: number(0, 86_400, {
      default: 5,
      unit: 's',
      description:
        'Time after the answer without any packet of a far side that should send audio. Then the call counts as stuck, is logged and counted. 0: never.',
    }),
  },
  'When a call counts as stuck (`GET /hookswitch/stuck`, the page). Nothing else happens to it.',
);

/** The section `alarms`. */
export const alarms = group(
  {
    history: number(0, 168, {
      default: 24,
      unit: 'h',
      description:
        'Time that figures of each minute are kept (3 KB of memory for an hour). They survive a restart. 0: none; alarms that look at some minutes do not appear then.',
    }),
    lost_phones: number(0, 720, {
      default: 24,
      unit: 'h',
      description:
        'Time that there is an alarm of a phone or line that was lost: its registration expired, or it does not answer. 0: no alarm.',
    }),
    banned_addresses: whole(0, 100_000, {
      default: 3,
      unit: 'addresses',
      description: 'Addresses that are ignored because of wrong passwords, from which there is an alarm. 0: no alarm.',
    }),
    disk_free: number(0, 100, {
      default: 10,
      unit: '%',
      description: 'Part of the disk with the data directory that should be free. 0: no alarm.',
    }),
    certificate_days: number(0, 3_650, {
      default: 14,
      unit: 'days',
      description: 'Time before the end of a certificate of `tls.certificates` from which there is an alarm.',
    }),
    failed_calls: number(0, 100, {
      default: 30,
      unit: '%',
      description: 'Part of the calls of ten minutes that fail or are refused from which there is an alarm.',
    }),
  },
  'When the page and `GET /hookswitch/alarms` show an alarm, and how long the history of figures is.',
);
