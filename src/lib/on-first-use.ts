/** Makes a value when it is first asked for, and keeps it. What most processes never need takes no time at their start. */
export function onFirstUse<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
