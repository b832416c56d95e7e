/**
 * Declares an effect of a chart by name and parameters. The chart only names it; `actors/` binds the real one with
 * `machine.provide`, once, at start-up. Running a chart whose effect was never bound throws and names the effect.
 */
export const effect =
  <P = undefined>(name: string) =>
  (_args: unknown, _params: P): void => {
    throw new Error(`effect '${name}' was not provided`);
  };
