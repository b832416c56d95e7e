/**
 * What a party of a call can ask for by pressing keys, by Asterisk's words: to put the other one through to an extension
 * (`blindxfer`), to end the call (`disconnect`), to have it recorded and no longer (`automon`, `automixmon`),
 * to talk to an extension before the other one is put through to it (`atxfer`).
 */
export const features = ['blindxfer', 'disconnect', 'automon', 'automixmon', 'atxfer'] as const;

export type Feature = (typeof features)[number];

/** The keys that stand for each; '' = none, so that nobody can ask for it. */
export type FeatureCodes = Readonly<Record<Feature, string>>;

/**
 * What it can ask for by keys while it calls or talks to whom the other one may be put through: that it is
 * (`atxfercomplete`), or that it is not (`atxferabort`).
 */
export const consultationFeatures = ['atxferabort', 'atxfercomplete'] as const;

export type ConsultationFeature = (typeof consultationFeatures)[number];

/** The keys that stand for each; '' = none. */
export type ConsultationCodes = Readonly<Record<ConsultationFeature, string>>;
