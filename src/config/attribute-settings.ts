import type { TSchema } from 'typebox';
import type { EndpointAttribute, EndpointAttributes } from '../models/endpoint-attributes.ts';
import { choice, flag, number, text, whole } from './setting.ts';

type SettingOf<A> = A extends { kind: 'text' }
  ? ReturnType<typeof text>
  : A extends { kind: 'flag' }
    ? ReturnType<typeof flag>
    : A extends { kind: 'choice'; values: readonly [...infer V extends string[]] }
      ? ReturnType<typeof choice<V>>
      : ReturnType<typeof number>;

function settingOf({ description, ...attribute }: EndpointAttribute): TSchema {
  switch (attribute.kind) {
    case 'text':
      return text({ default: attribute.default, description });
    case 'flag':
      return flag({ default: attribute.default, description });
    case 'choice':
      return choice(attribute.values, { default: attribute.default, description });
    default: {
      const make = attribute.kind === 'whole' ? whole : number;
      return make(attribute.least, attribute.most, { default: attribute.default, unit: attribute.unit, description });
    }
  }
}

/** The settings of a table of attributes. */
export const settingsOf = <T extends EndpointAttributes>(table: T) =>
  Object.fromEntries(Object.entries(table).map(([name, attribute]) => [name, settingOf(attribute)])) as {
    [K in keyof T]: SettingOf<T[K]>;
  };
