/** Scenarios of the media benchmark besides echo: how legs are joined, and what they hear. */

/** What a phone hears: its own packets, its neighbour's, or a mix without recognisable packets. */
export type Hearing = 'own' | 'neighbour' | 'mix';

export type Scenario = {
  name: string;
  /** The called extension: `echo`, or `m<number>`, which is in the application `bench`. */
  extension: 'echo' | 'numbered';
  hearing: Hearing;
  /** Legs in a bridge; left out: none. */
  members?: number;
  /** Each bridge is recorded as well. */
  recorded?: boolean;
  /** Each leg is bridged with a server that sends back what it hears (external media over RTP). */
  external?: boolean;
};

export const scenarios: readonly Scenario[] = [
  { name: 'echo', extension: 'echo', hearing: 'own' },
  { name: 'pairs', extension: 'numbered', hearing: 'neighbour', members: 2 },
  { name: 'conference3', extension: 'numbered', hearing: 'mix', members: 3 },
  { name: 'conference10', extension: 'numbered', hearing: 'mix', members: 10 },
  { name: 'conference100', extension: 'numbered', hearing: 'mix', members: 100 },
  { name: 'recordings', extension: 'numbered', hearing: 'mix', members: 2, recorded: true },
  { name: 'external', extension: 'numbered', hearing: 'own', external: true },
];

/** The scenarios named, or all. @throws Error naming one that there is not. */
export function scenariosOf(names: readonly string[]): readonly Scenario[] {
  return names.map((name) => {
    const found = scenarios.find((scenario) => scenario.name === name);
    if (!found) throw new Error(`there is no scenario ${name}, only ${scenarios.map((each) => each.name).join(', ')}`);
    return found;
  });
}
