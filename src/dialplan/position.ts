/** A place in the dialplan. Priorities count from 1. */
export type Position = {
  context: string;
  extension: string;
  priority: number;
  /** The step there has sent the channel through a subroutine already, and goes on behind that. */
  isBack?: true;
};
