import type { DisturbanceKind } from './disturbances.ts';
import type { Duration } from './duration.ts';
import type { TestServer, TestServerOptions } from './server.ts';

/** Options of `paths`. */
export interface PathsOptions {
  /** Options of the server. */
  server?: TestServerOptions;
  /**
   * Starts the application: `(pbx) => pbx.run('node', ['my-application.js'])`. An application in this process may give
   * a function that ends it; an error that nobody catches counts as its end.
   */
  start(pbx: TestServer): unknown;
  /** A normal call, with its phones. It is run many times: it must not count on earlier calls, or on ids. */
  call(pbx: TestServer): Promise<unknown>;
  /** Called phones hang up when no caller is left. Default: false, the application ends the calls that it has made. */
  calledHangUp?: boolean;
  /** Most disturbed calls; if there are more, `seed` chooses. Default: 200. */
  most?: number;
  /** No disturbed call begins after this real time. Default: 2 minutes. */
  within?: Duration;
  /** Ends with that many findings. Default: 20. */
  mostFindings?: number;
  /** Decides what chance decides. Default: 1. */
  seed?: number;
  /** Runs one path alone, the `path` of a finding; or those whose name a regular expression matches. */
  only?: string | RegExp;
}

/** What is wrong with an application after a disturbance. */
export interface PathFinding {
  /**
   * - `ended`: the program has ended by itself.
   * - `unhandled`: a call stays as no normal call rests, and the application has done nothing.
   * - `stranded`: the same, although it has done something.
   * - `left`: something stays when the callers have gone.
   * - `disconnected`: it has not connected again.
   * - `nextCall`: the next normal call fails.
   * - `serverError`: the server has answered with a status of 500 or more: tell us.
   */
  kind: 'ended' | 'unhandled' | 'stranded' | 'left' | 'disconnected' | 'nextCall' | 'serverError';
  /** Reproduces it, as the option `only`: disturbance and moment. */
  path: string;
  /** What has happened, such as `alice (the caller) hangs up`. */
  disturbance: string;
  /** The same without who and what. */
  cause: DisturbanceKind;
  /** `after` an event, or `before` a command is carried out. */
  moment: string;
  /** Channels, bridges, playbacks and recordings that stayed, with their states. */
  stayed: string[];
  /** Types of events after the last command of the application. */
  unhandled: string[];
  /** Commands that were refused in this call, with the status. */
  refused: string[];
  /** The output of a program that ended, or what the next call expected. */
  details?: string;
  /** Disturbed calls of the same server before it. */
  afterCalls: number;
  /** Other moments in which the same disturbance does the same. */
  also: string[];
}

/** What `paths` has found. */
export interface PathReport {
  findings: PathFinding[];
  /** What did not come again on a new server: it needs earlier calls, or the machine was busy. */
  seenOnce: PathFinding[];
  /** Disturbed calls. */
  runs: number;
  /** Moments of the normal call that differ. */
  moments: number;
  /** Paths that the bounds left out. */
  leftOut: number;
  /** Paths whose moment did not come again: the application decides by more than the call. */
  missed: string[];
  /** All of it in words. */
  text: string;
}
