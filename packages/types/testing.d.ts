// Written by `npm run types`: the report of the package's API. Do not edit.
import type { AnyEvent } from './client.js';
import type { Events } from './client.js';
/** An object of the server, with the states of its chart. */
export type ObjectState = {
    /** Its id: of a channel, bridge, playback, recording … */
    object: string;
    /** Its chart, as `GET /hookswitch/charts` names it. */
    chart: string;
    /** Paths of the states it is in, outermost first, such as `up` or `there.mute.mutedIn`. */
    states: string[];
};
/** What kinds of disturbances there are. */
export type DisturbanceKind = 'caller hangs up' | 'callee hangs up' | 'busy' | 'declined' | 'answered' | 'never answered' | 'digit' | 'hold' | 'transfer' | 'playback fails' | 'recording fails' | 'move fails' | 'bridge destroyed' | 'WebSocket cut' | 'media thread lost' | 'media fails' | 'server restarted';
/** A span of time: `500ms`, `30s`, `5m`, `1h`, or a number of ms. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h'}` | number;
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
/**
 * Runs a normal call many times, and disturbs each run at another moment by something that the charts allow from
 * outside there: a party hangs up, is busy or never answers; a playback, a recording or a move fails; digits, hold, a transfer; a
 * bridge, the WebSocket or the media thread is lost; the server restarts. Then it looks whether the application has survived.
 * @throws what the first normal call throws, which nothing disturbs; TypeError for an unknown `only`.
 */
export declare function paths(options: PathsOptions): Promise<PathReport>;
/** What a phone does when it is called. */
export type Behaviour = {
    /**
     * `ring` (default): it rings until `answer()` or `hangup()`. `answer`, `busy`, `reject`: at once, or `after` a time.
     * `silent`: it takes the call and does nothing, until `ring()`, `progress()`, `answer()` or `hangup()`.
     */
    when?: 'ring' | 'answer' | 'busy' | 'reject' | 'silent';
    after?: Duration;
    /** What the caller hears before the answer. */
    earlyMedia?: Sound;
    /** Hangs up so long after the answer. */
    hangsUpAfter?: Duration;
};
/** How long to wait, in simulated time; 10 s when left out. */
export type Wait = {
    within?: Duration;
};
/** A telephone on the simulated network, in the hands of a test. It is in one call at a time. */
export declare class Phone {
    #private;
    readonly name: string;
    /** Whether a call of it is up. */
    get inCall(): boolean;
    /** What it does when it is called. */
    does(behaviour: Behaviour): this;
    /** Calls an extension, without waiting for the answer. */
    dial(extension: string): Promise<void>;
    /** Calls an extension and waits for the answer. @throws ExpectationError when it is refused, or not answered. */
    call(extension: string, { within: most }?: Wait): Promise<void>;
    /** Waits until somebody calls. */
    rings({ within: most }?: Wait): Promise<void>;
    /** Tells the caller that it rings (180), where `does` has it silent. Waits for a call first. */
    ring(wait?: Wait): Promise<void>;
    /** Opens early media (183), and says something in it. Waits for a call first. */
    progress(sound?: Sound, wait?: Wait): Promise<void>;
    /** Answers the call that rings; waits for one first. */
    answer(wait?: Wait): Promise<void>;
    /** Hangs up, or refuses the call that rings. */
    hangup(cause?: number): Promise<void>;
    /** Waits until the other side has ended the call. With `cause` (Q.850) it must be that. */
    hungUp({ cause, ...wait }?: Wait & {
        cause?: number;
    }): Promise<void>;
    /** Presses digits (`0-9*#A-D`), one after the other. */
    press(digits: string): Promise<void>;
    /** Says a sound, or a text by the function `say` of the server's options; waits until it is said. */
    says(what: Sound | string): Promise<void>;
    /**
     * Waits until it hears a prompt (by its name, such as `hello-world` or `recording:message`), a tone, silence, or
     * samples. What was heard before an earlier `hears` counts no more. With `begins` the first half second is enough.
     * @throws ExpectationError with what was heard instead; SoundError if there is no such prompt.
     */
    hears(what: Sound | string, { within: most, begins }?: Wait & {
        begins?: boolean;
    }): Promise<void>;
    /** Puts the other side on hold. */
    hold(): Promise<void>;
    unhold(): Promise<void>;
    /** Transfers the other side to an extension (SIP REFER). */
    transfer(extension: string): Promise<void>;
    /** What it has heard in this call or the last one, in words. */
    get heard(): string;
    /** Unplugs it: from here on it sends and answers nothing. */
    close(): Promise<void>;
}
/** An event or a command of a recorded call, without what differs from run to run: ids are numbered by kind. */
type Line = {
    /** When, in ms since the call began. */
    atMs: number;
    /** What it is about: lines of one object have one order in every run. */
    object: string;
    text: string;
};
/** Options of {@link replay}. */
export interface ReplayOptions {
    /** Starts the application, such as `(pbx) => pbx.run('node', ['app.js'])`. */
    start?(pbx: TestServer): Promise<unknown>;
    /**
     * URL of a WebSocket server that the application listens on, instead of `start`: the server connects to it, with the
     * applications of the call and a user of all rights.
     */
    connectTo?: string;
    /** As {@link TestServerOptions.config}: applied over what the bundle says. */
    config?: Record<string, unknown>;
    seed?: number;
}
/** How a call went when it was played again. */
export interface ReplayReport {
    /** Whether the application got and asked the same. */
    same: boolean;
    /** The first difference: what was recorded, and what came instead; undefined = nothing. */
    difference?: {
        atMs: number;
        object: string;
        recorded: string | undefined;
        now: string | undefined;
    };
    /** Events and commands as recorded, and now. */
    recorded: readonly Line[];
    now: readonly Line[];
    /** Parts of the recorded call that could not be played again, in words. */
    missing: readonly string[];
    /** All of it as text. */
    text: string;
}
/**
 * Plays the far sides of a recorded call again, at their times, against an application and this version of the server.
 * Prompts that are not there are silence of the recorded length; what callers said is not in a bundle.
 * @param text the bundle, as `hookswitch bundle` prints it. @throws TypeError if it is none.
 */
export declare function replay(text: string, options: ReplayOptions): Promise<ReplayReport>;
/** Options of {@link startTestServer}. */
export interface TestServerOptions {
    /** The application that gets all calls; a `dialplan` replaces that. Default: `hello`. */
    app?: string;
    /** The dialplan, as in the configuration file: context, extension, steps. */
    dialplan?: Record<string, Record<string, unknown>>;
    /** Names of the phones. Default: alice, bob, carol, dave. */
    phones?: readonly string[];
    /** More settings of endpoints by the names of their phones, such as `{ alice: { context: 'inside' } }`. */
    endpoints?: Readonly<Record<string, Record<string, unknown>>>;
    /** More settings, as in the configuration file. `http`, transports and endpoints are the test server's own. */
    config?: Record<string, unknown>;
    /** Decides what chance decides: the same seed, the same run. Default: 1. */
    seed?: number;
    /** How long programs must be silent to count as quiet, in ms of real time. Default: 3. */
    quietMs?: number;
    /** Makes speech of a text, for `phone.says('…')`: 16 bits at 8 kHz. */
    say?: (text: string) => Promise<Int16Array> | Int16Array;
}
/** The user of programs under test. */
declare const username = "hookswitch";
/** An event as a test sees it: for no application in particular, so without name and number. */
export type TestEvent = Omit<AnyEvent, 'application' | 'asterisk_id' | 'seq'> & {
    type: AnyEvent['type'];
};
/** Faults that a test can make. They follow from the seed. */
export interface Faults {
    /** Loses packets from and to a phone, from 0 (none) to 1 (all). */
    loss(phone: Phone, share: number): void;
    /** Delays packets from and to a phone; `jitter` is the largest random addition. */
    latency(phone: Phone, delay: Duration, jitter?: Duration): void;
    /** Cuts a phone off the network, or lets it back. */
    partition(phone: Phone, on?: boolean): void;
    /**
     * Ends the media threads, as a fault in them would. Calls go on in new threads. If it happens `times` = 4 times within a
     * minute, the server gives up: calls end with cause 41.
     */
    killMediaThread(times?: number): Promise<void>;
    /** Fills the disk for recordings, or makes room: they fail as on a full disk. */
    diskFull(on?: boolean): void;
    /** Cuts the WebSockets of an application. @throws ExpectationError if it has none. */
    dropWebSocket(app: string): Promise<void>;
    /** Stops the server and starts it again with its calls; programs find it at the same address. */
    restart(): Promise<void>;
    /** Ends the server without a goodbye and starts it again; its calls are lost. */
    kill(): Promise<void>;
}
/** A whole server for a test: simulated telephones, network and time; a real interface on 127.0.0.1. */
export declare class TestServer {
    #private;
    readonly username = "hookswitch";
    readonly password = "test";
    /** Every event so far, in order, also those that no application gets. */
    readonly events: TestEvent[];
    readonly faults: Faults;
    readonly clock: {
        now(): number;
        advance(duration: Duration): Promise<void>;
    };
    /** URL of the interface, without `/ari`. */
    get url(): string;
    /** What programs read to find the server. */
    get env(): Record<string, string>;
    /** What the server logged, as JSON lines. */
    get log(): readonly string[];
    /** A phone by its name. Before it is first asked for, it is not plugged in. @throws TypeError for an unknown name. */
    phone(name: string): Phone;
    /** Runs a program with {@link env}, and waits until an application of it is connected. It ends with the server. */
    run(command: string, args?: readonly string[], env?: Record<string, string>): Promise<void>;
    /** Waits until an application has connected that the test has not started with {@link run}; up to a minute of real time. */
    connected(): Promise<void>;
    /** Waits until the programs under test have nothing more to do. Time stands still. */
    settle(): Promise<void>;
    /**
     * Waits for an event, also one that has come already.
     * @throws ExpectationError with the types of those that came instead.
     */
    event<T extends keyof Events>(type: T, accepts?: (event: Events[T]) => boolean, { within: most }?: Wait): Promise<Events[T]>;
    /** The ids and states of channels that there are now. */
    channels(): Promise<{
        id: string;
        name: string;
        state: string;
    }[]>;
    /** The objects that there are, such as channels, playbacks and contacts, with the states of their charts. */
    objects(): ObjectState[];
    /**
     * Waits until an object is in a state of its chart, such as `inState('playback', 'paused')`.
     * @throws ExpectationError with the states that objects of the chart were in instead; TypeError for a name that no
     * chart has.
     */
    inState(chart: string, state: string, { object, within: most }?: Wait & {
        object?: string;
    }): Promise<void>;
    /** Waits until no call is left. @throws ExpectationError with the channels that stay. */
    idle({ within: most }?: Wait): Promise<void>;
    /** Ends programs, phones and server. */
    close(): Promise<void>;
}
/** Starts a server for a test. Close it at the end. */
export declare function startTestServer(options?: TestServerOptions): Promise<TestServer>;
/** Something to hear or to say: made by {@link tone}, {@link silence}, {@link wav} and {@link samples}. */
export type Sound = {
    kind: 'tone';
    hertz: number;
    ms: number;
} | {
    kind: 'silence';
    ms: number;
} | {
    kind: 'samples';
    samples: Int16Array;
    distance: number;
    name: string;
};
/** A tone of one frequency. `hears` waits until it has sounded that long. */
export declare const tone: (hertz: number, duration?: Duration) => Sound;
/** Silence of that length. */
export declare const silence: (duration: Duration) => Sound;
/** A WAV file. `distance` is how much of it may differ: 0 nothing, 1 everything. */
export declare const wav: (path: string, { distance }?: {
    distance?: number | undefined;
}) => Sound;
/** Linear samples of 16 bits at 8 kHz. */
export declare const samples: (audio: Int16Array, { distance, name }?: {
    distance?: number;
    name?: string;
}) => Sound;
/** A failed expectation. */
export declare class ExpectationError extends Error {
    readonly name = "ExpectationError";
}
declare const within: (duration: Duration) => string;
export {};
