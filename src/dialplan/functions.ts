import type { DialplanChannel } from './host.ts';

/** What reading a function gave. `unknown`: no such function; `failed`: its arguments make no sense or it cannot be read. */
export type FunctionRead = { ok: true; value: string } | FunctionFailure;
/** What writing a function gave. `unknown`: no such function; `failed`: it cannot be written so. */
export type FunctionWrite = { ok: true } | FunctionFailure;
export type FunctionFailure = { ok: false; reason: 'unknown' | 'failed'; message: string };

/** Whether a variable name asks for a function: it ends with `)`. */
export declare function isFunction(name: string): boolean;

/** Reads a function such as `CALLERID(num)`. `${…}` inside is not replaced. Never throws. */
export declare function readFunction(channel: DialplanChannel, expression: string): FunctionRead;

/** Writes a function such as `CHANNEL(language)`. Never throws. */
export declare function writeFunction(channel: DialplanChannel, expression: string, value: string): FunctionWrite;
