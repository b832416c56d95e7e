/**
 * What a party of a call can ask for by pressing keys, by the field's words: to put the other one through to an extension
 * (`blindxfer`), to end the call (`disconnect`), to have it recorded and no longer (`automon`, `automixmon`).
 */
export const features = ['blindxfer', 'disconnect', 'automon', 'automixmon'] as const;

export type Feature = (typeof features)[number];

/** The keys that stand for each; '' = none, so that nobody can ask for it. */
export type FeatureCodes = Readonly<Record<Feature, string>>;
