import type { Alarm } from '../../src/models/alarm.ts';
import type { Call } from '../../src/models/call.ts';
import { endsOf } from '../core/calls.ts';
import { to } from '../core/route.ts';
import { duration, plural } from '../core/words.ts';
import { Panel, Pill } from './bits.tsx';

/** Where more is seen about an alarm, and what the link says. */
function placeOf({ kind, object = '' }: Alarm): { href: string; name: string } | undefined {
  switch (kind) {
    case 'phones':
      return object === '' ? { href: to('phones'), name: 'Phones' } : { href: to('phones', object), name: object };
    case 'attack':
      return { href: to('server'), name: 'Wrong passwords' };
    case 'registration':
      return { href: to('phones', object), name: object };
    case 'application':
      return { href: to('applications', object), name: object };
    case 'one_way_audio':
    case 'stuck':
      return { href: `${to('calls')}?state=stuck`, name: 'Stuck calls' };
    case 'failed_calls':
    case 'sip_unanswered':
      return { href: `${to('calls')}?state=failed`, name: 'Failed calls' };
    case 'media_late':
    case 'event_loop_late':
    case 'lost_records':
    case 'state_store':
      return { href: to('server'), name: 'Server' };
    default:
      return undefined;
  }
}

/** Calls of an alarm that are linked by name. */
const mostLinks = 3;

function Row({ alarm, calls, now }: { alarm: Alarm; calls: ReadonlyMap<string, Call>; now: number }) {
  const { severity, text, advice, since, calls: ids } = alarm;
  const place = placeOf(alarm);
  const nameOf = (id: string): string => {
    const call = calls.get(id);
    if (!call) return id;
    const { from, to: other } = endsOf(call);
    return `${from} → ${other}`;
  };
  return (
    <li class={`alarm ${severity}`}>
      <div class="row">
        <Pill state={severity} tone={severity === 'critical' ? 'bad' : 'lit'} />
        <b>{text}</b>
        <span class="grow" />
        {since === undefined ? null : <span class="quiet">for {duration(now - since)}</span>}
      </div>
      <p class="quiet">{advice}</p>
      {place || ids.length > 0 ? (
        <p class="links">
          {place ? <a href={place.href}>{place.name}</a> : null}
          {ids.slice(0, mostLinks).map((id) => (
            <a key={id} href={to('calls', id)}>
              {nameOf(id)}
            </a>
          ))}
        </p>
      ) : null}
    </li>
  );
}

/** What an operator should look at now. `problem`: why that is not known. */
export function Alarms({
  alarms,
  problem,
  calls,
  now,
}: {
  alarms: readonly Alarm[] | undefined;
  problem: string | undefined;
  calls: ReadonlyMap<string, Call>;
  now: number;
}) {
  const critical = alarms?.filter(({ severity }) => severity === 'critical').length ?? 0;
  const title = alarms === undefined || alarms.length === 0 ? 'Alarms' : plural(alarms.length, 'alarm');
  return (
    <Panel title={title} class={`alarms ${critical > 0 ? 'bad' : ''}`}>
      {problem === undefined ? null : <p class="bad">The alarms are not known: {problem}</p>}
      {alarms?.length === 0 ? <p class="well">No alarms in the scope of your user.</p> : null}
      <ul class="items">
        {alarms?.map((alarm) => (
          <Row key={`${alarm.kind} ${alarm.object ?? ''} ${alarm.severity}`} {...{ alarm, calls, now }} />
        ))}
      </ul>
    </Panel>
  );
}
