/** The cause of a step for people: `begins` for its first step, `after <delay>` for a timer, else the event's type. */
export function eventName(type: string): string {
  if (type === 'xstate.init') return 'begins';
  const [, delay] = /^xstate\.after\.([^.]+)/.exec(type) ?? [];
  return delay === undefined ? type : `after ${delay}`;
}
