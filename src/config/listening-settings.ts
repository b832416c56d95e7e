import { flag, group, whole } from './setting.ts';

/** The section `listening`. */
export const listening = group(
  {
    on: flag({
      default: false,
      description:
        'Lets users of the interface listen to calls on the page. The parties do not notice: check the law of your country.',
    }),
    read_only: flag({ default: false, description: 'Lets read-only users listen too.' }),
    most: whole(1, 1_000, {
      default: 4,
      unit: 'listeners',
      description: 'Listeners at the same time, for all calls together.',
    }),
  },
  "Listening to live calls. The log and the call's record name the listener.",
);
