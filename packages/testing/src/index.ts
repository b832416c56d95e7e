export type { ObjectState } from './charts.ts';
export type { Duration } from './duration.ts';
export type { PathFinding, PathReport, PathsOptions } from './path-findings.ts';
export { paths } from './paths.ts';
export type { Behaviour, Phone, Wait } from './phone.ts';
export { type ReplayOptions, type ReplayReport, replay } from './replay.ts';
export { type Faults, startTestServer, type TestEvent, type TestServer, type TestServerOptions } from './server.ts';
export { type Sound, samples, silence, tone, wav } from './sounds.ts';
export { ExpectationError } from './world.ts';
