/**
 * Features by keys, in Asterisk's words: blind transfer (`blindxfer`), hang-up (`disconnect`), starting and stopping a
 * recording (`automon`, `automixmon`), attended transfer (`atxfer`).
 */
export const features = ['blindxfer', 'disconnect', 'automon', 'automixmon', 'atxfer'] as const;

export type Feature = (typeof features)[number];

/** The keys of each; '' turns it off. */
export type FeatureCodes = Readonly<Record<Feature, string>>;

/** Features by keys during an attended transfer: complete it (`atxfercomplete`), or abort it (`atxferabort`). */
export const consultationFeatures = ['atxferabort', 'atxfercomplete'] as const;

type ConsultationFeature = (typeof consultationFeatures)[number];

/** The keys that stand for each; '' = none. */
export type ConsultationCodes = Readonly<Record<ConsultationFeature, string>>;
