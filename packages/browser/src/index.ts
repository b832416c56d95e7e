export { Call, type CallState } from './call.ts';
export { type CallOptions, Phone, type PhoneOptions, type Supervision, type Target } from './phone.ts';
export { Refused } from './server.ts';
