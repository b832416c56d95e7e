import { flag, group, whole } from './setting.ts';

/** The section `listening`. */
export const listening = group(
  {
    on: flag({
      default: false,
      description:
        'Users of the interface may listen to calls on the page. Nobody who is listened to notices: mind the law of your country.',
    }),
    read_only: flag({ default: false, description: 'Users who may only look may listen, too.' }),
    most: whole(1, 1_000, {
      default: 4,
      unit: 'listeners',
      description: 'Users who may listen at once, to all calls together.',
    }),
  },
  'Listening to live calls. Who listens to what is logged.',
);
