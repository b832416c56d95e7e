/** A place in the dialplan. Priorities count from 1. */
export type Position = {
  context: string;
  extension: string;
  priority: number;
  /** The step there has sent the channel through a subroutine already, and goes on behind that. */
  isBack?: true;
};

/** The place behind another one. */
export function behind({ context, extension, priority }: Position): Position {
  return { context, extension, priority: priority + 1 };
}
