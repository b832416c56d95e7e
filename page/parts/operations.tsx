import { useEffect, useRef, useState } from 'preact/hooks';
import type { AllowedOperation, AllowedOperations } from '../../src/models/allowed-operations.ts';
import { operationBehind } from '../../src/models/operation-names.ts';
import { type Action, actionOf, withFields } from '../core/actions.ts';
import { amongButtons, useFocusAtFirst } from '../core/focus.ts';
import { ask, may } from '../core/session.ts';
import { reasonOf } from './bits.tsx';

/** Why an operation may not be done. */
const reason = ({ message, reason: why }: AllowedOperation): string => why ?? message ?? '';

function FieldForm({ action, onDone, onAsk }: { action: Action; onDone(): void; onAsk(path: string): void }) {
  const [values, setValues] = useState<Record<string, string>>(
    Object.fromEntries(action.fields.map(({ name, value }) => [name, value])),
  );
  const first = useFocusAtFirst<HTMLInputElement>();
  const confirm = useFocusAtFirst<HTMLButtonElement>();
  const asksOnly = action.fields.length === 0;
  const submit = (event: Event) => {
    event.preventDefault();
    onAsk(withFields(action, values));
    onDone();
  };
  return (
    <form class="fields" onSubmit={submit} onKeyDown={(event) => event.key === 'Escape' && onDone()}>
      {asksOnly ? <p class="grow">{action.label}: are you sure? This cannot be undone.</p> : null}
      {action.fields.map(({ name, label }, index) => (
        <label key={name}>
          {label}
          <input
            ref={index === 0 ? first : null}
            value={values[name] ?? ''}
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      <button type="submit" class={action.grave ? 'grave small' : 'primary small'} ref={asksOnly ? confirm : null}>
        {asksOnly ? `${action.label} now` : action.label}
      </button>
      <button type="button" class="small" onClick={onDone}>
        Cancel
      </button>
    </form>
  );
}

/** Operations that the charts allow but the user's scope does not. */
function withinScope(kind: AllowedOperations['kind'], each: AllowedOperation): AllowedOperation {
  if (may(operationBehind(kind, each.operation))) return each;
  return { operation: each.operation, allowed: false, message: 'You are not allowed to do this.' };
}

type OperationsProps = {
  possible: AllowedOperations;
  /** Only what is now can be acted upon. */
  past: boolean;
};

/** An object's operations as buttons; refused ones are grey and show the reason. */
export function Operations({ possible, past }: OperationsProps) {
  const [open, setOpen] = useState<string>();
  const [told, setTold] = useState<{ text: string; bad: boolean }>();
  const state = JSON.stringify(possible.states);
  // A message about an earlier state is removed.
  useEffect(() => setTold((before) => (before?.bad ? undefined : before)), [state, past]);
  const known = possible.operations.flatMap((each) => {
    const action = actionOf(possible.kind, possible.id, each.operation);
    return action ? [{ ...withinScope(possible.kind, each), action }] : [];
  });
  const send = ({ label, method }: Action, path: string, idle?: string) => {
    setTold(undefined);
    ask(method, path).then(
      () => setTold({ text: idle ? `${label}: accepted, without effect: ${idle}` : `${label}: done`, bad: false }),
      (error: unknown) => setTold({ text: reasonOf(error), bad: true }),
    );
  };
  const press = (each: (typeof known)[number], button: HTMLButtonElement) => {
    opener.current = button;
    if (!each.allowed) setTold({ text: `${each.action.label}: ${reason(each)}`, bad: true });
    else if (past) setTold({ text: 'This is an earlier moment. Go back to now to act.', bad: true });
    else if (each.action.fields.length > 0 || each.action.grave)
      setOpen(open === each.operation ? undefined : each.operation);
    else send(each.action, each.action.path, each.without_effect);
  };
  /** The button that has opened the form gets the focus back. */
  const opener = useRef<HTMLButtonElement | null>(null);
  const close = () => {
    setOpen(undefined);
    opener.current?.focus();
  };
  const chosen = known.find(({ operation, allowed }) => operation === open && allowed);
  // Order: operations with effect, then without effect, then refused ones.
  const rankOf = ({ allowed, without_effect: idle }: AllowedOperation): number => (allowed ? (idle ? 1 : 0) : 2);
  const sorted = known.toSorted((one, other) => rankOf(one) - rankOf(other));
  const groups = (['operator', 'developer'] as const).map((who) => ({
    who,
    some: sorted.filter(({ action }) => action.who === who),
  }));
  return (
    <div class="operations">
      {groups.map(({ who, some }) =>
        some.length === 0 ? null : (
          <div key={who}>
            {who === 'developer' ? <h4>For developers</h4> : null}
            <div
              class="buttons"
              role="toolbar"
              aria-label={who === 'operator' ? 'Operations' : 'Operations for developers'}
              onKeyDown={amongButtons}
            >
              {some.map((each) => (
                <button
                  type="button"
                  key={each.operation}
                  class={`small ${each.action.grave ? 'grave' : ''} ${past && each.allowed ? 'was' : ''} ${each.without_effect ? 'idle' : ''}`}
                  aria-disabled={!each.allowed || past}
                  title={
                    each.allowed
                      ? each.without_effect && `allowed, without effect: ${each.without_effect}`
                      : reason(each)
                  }
                  onClick={(event) => press(each, event.currentTarget)}
                >
                  {each.action.label}
                </button>
              ))}
            </div>
          </div>
        ),
      )}
      {chosen ? (
        <FieldForm
          key={chosen.operation}
          action={chosen.action}
          onDone={close}
          onAsk={(path) => send(chosen.action, path, chosen.without_effect)}
        />
      ) : null}
      {past ? <p class="quiet">These operations were possible then. Outlined ones were allowed.</p> : null}
      <p class={told?.bad ? 'told bad' : 'told'} role="status">
        {told?.text}
      </p>
    </div>
  );
}
