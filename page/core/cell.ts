import { useEffect, useState } from 'preact/hooks';

/** A value that components follow. */
export type Cell<T> = {
  get(): T;
  set(value: T): void;
  /** @returns a function that ends it. */
  follow(listener: () => void): () => void;
};

/** Makes one. */
export function cell<T>(first: T): Cell<T> {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The value of a cell; the component is drawn anew when it changes. */
export function useCell<T>(followed: Cell<T>): T {
  const [value, setValue] = useState(followed.get());
  useEffect(() => {
    setValue(followed.get());
    return followed.follow(() => setValue(followed.get()));
  }, [followed]);
  return value;
}
