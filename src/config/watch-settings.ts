import { Type } from 'typebox';
import { logLevels, logParts } from '../lib/log.ts';
import { choice, group, list } from './setting.ts';

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
