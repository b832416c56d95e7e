import { Document, isMap, isScalar, type Node, type Pair } from 'yaml';
import { check, type Problem } from '../../../src/config/check.ts';
import { checkRules } from '../../../src/config/rules.ts';
import { type Config, ConfigSchema } from '../../../src/config/schema.ts';
import { validate } from '../../../src/dialplan/parse.ts';
import { importExtensions } from './extensions.ts';
import { importFeatures } from './features.ts';
import { importInterface } from './interface.ts';
import { importMedia } from './media.ts';
import type { Part } from './part.ts';
import { importPjsip } from './pjsip.ts';
import { Report } from './report.ts';
import { type Files, readSections, type Section } from './source.ts';
import { wizardHints } from './wizard.ts';

/** Result of an import. */
export type Imported = {
  /** The configuration file, with comments. */
  yaml: string;
  /** Translated, approximated and dropped settings. */
  report: string;
  /** Whether any of the files was there. */
  found: boolean;
  /** Whether all files were read; where they were not, the YAML is not the whole configuration. */
  isComplete: boolean;
};

/** Files that are read. */
const read = [
  'pjsip',
  'pjsip_wizard',
  'acl',
  'extensions',
  'features',
  'ari',
  'http',
  'rtp',
  'musiconhold',
  'websocket_client',
  'asterisk',
] as const;

/** Files that are there at times, and what they mean. */
const unread: Readonly<Record<string, string>> = {
  'voicemail.conf': 'voicemail is an application (examples/voicemail.ts)',
  'queues.conf': 'queues are an application (examples/queue.ts)',
  'agents.conf': 'agents are an application (examples/queue.ts)',
  'confbridge.conf':
    'profiles, PINs and menus of ConfBridge: every caller that the dialplan admits can join; ask for a PIN with Read first',
  'res_parking.conf': 'there are no parking lots; let an application park calls in a holding bridge',
  'cdr.conf': 'call detail records are configured in `cdr`',
  'manager.conf': 'AMI is not supported; use the REST interface',
  'iax.conf': 'IAX2 is not supported',
  'sip.conf':
    'chan_sip is not supported; convert it to pjsip.conf with contrib/scripts/sip_to_pjsip/sip_to_pjsip.py of the Asterisk sources, then import again',
  'chan_dahdi.conf': 'telephony cards are not supported; use a SIP gateway',
  'extensions.ael': 'AEL is not supported; convert it to extensions.conf with `aelparse -w`',
  'extensions.lua': 'Lua is not supported; write an application',
  'func_odbc.conf': 'database functions are not supported; let an application query the database',
  'extconfig.conf': 'realtime configuration is not supported; create phones with PUT /asterisk/config/dynamic',
  'sorcery.conf': 'objects in databases are not supported; create phones with PUT /asterisk/config/dynamic',
};

/** Translates a directory of Asterisk's configuration. Its contents never cause an exception. */
export function importConfiguration(files: Files): Imported {
  const report = new Report();
  const sections = Object.fromEntries(
    read.map((name) => [
      name,
      readSections(files, `${name}.conf`, (place, message, isFile) =>
        isFile ? report.unread(place, message) : report.missing(place, message),
      ),
    ]),
  ) as Record<(typeof read)[number], Section[] | undefined>;
  for (const [file, what] of Object.entries(unread)) if (!('missing' in files.read(file))) report.missing(file, what);
  const of = (name: (typeof read)[number]): Section[] => sections[name] ?? [];
  const pjsip = importPjsip({ plain: of('pjsip'), wizards: of('pjsip_wizard'), lists: of('acl') }, report);
  const endpoints = (pjsip.sip?.['endpoints'] ?? {}) as Record<
    string,
    { context?: string; subscribe_context?: string }
  >;
  const contexts = Object.values(endpoints).flatMap(({ context = 'default', subscribe_context }) => [
    context,
    ...(subscribe_context === undefined ? [] : [subscribe_context]),
  ]);
  const extensions = [...of('extensions'), ...wizardHints(of('pjsip_wizard'), report)];
  const dialplan = importExtensions(extensions, [...new Set(contexts)], report);
  const parts: Part[] = [
    importInterface({ ari: of('ari'), http: of('http'), clients: of('websocket_client'), lists: of('acl') }, report),
    importMedia({ rtp: of('rtp'), music: of('musiconhold'), asterisk: of('asterisk') }, report),
    pjsip,
    importFeatures(of('features'), extensions.length > 0, report),
    dialplan,
  ];
  const config = combine(parts);
  for (const { path, message } of problemsOf(config))
    report.missing('the output', `${path.join('.')}: ${message}; correct it by hand`);
  const notes = Object.assign({}, ...parts.map((part) => part.notes)) as Record<string, string>;
  return {
    yaml: write(config, notes),
    report: report.toString(),
    found: Object.values(sections).some((each) => each !== undefined),
    isComplete: report.isComplete,
  };
}

/** The parts as one configuration; empty groups are dropped. */
function combine(parts: readonly Part[]): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const { notes: _notes, ...part } of parts)
    for (const [section, values] of Object.entries(part)) {
      const before = (config[section] ?? {}) as Record<string, unknown>;
      config[section] = section === 'tls' ? mergedTls(before, values) : { ...before, ...values };
    }
  for (const [section, values] of Object.entries(config))
    if (section !== 'dialplan' && Object.keys(values as object).length === 0) delete config[section];
  return config;
}

/** Certificates of the interface and of SIP, each once. */
function mergedTls(before: Record<string, unknown>, more: Record<string, unknown>): Record<string, unknown> {
  const certificates = [...((before['certificates'] ?? []) as object[]), ...((more['certificates'] ?? []) as object[])];
  const once = new Map(certificates.map((each) => [JSON.stringify(each), each]));
  return { ...before, ...more, certificates: [...once.values()] };
}

/** The problems that `check` would find, except for files. */
function problemsOf(config: Record<string, unknown>): Problem[] {
  const problems: Problem[] = [];
  const checked = check(ConfigSchema, config, problems) as Config;
  const broken = new Set(problems.map(({ path }) => path[0]));
  return [...problems, ...checkRules(checked, ConfigSchema, { checkDialplan: validate }, broken)];
}

/** Headings of the report. */
const headings: Readonly<Record<string, string>> = {
  http: 'The interface for applications: ari.conf and http.conf.',
  tls: 'Certificates.',
  applications: 'Programs that this server connects to: websocket_client.conf.',
  sip: 'Phones and lines: pjsip.conf.',
  media: 'Audio: rtp.conf.',
  sounds: 'Prompts and music on hold: asterisk.conf, musiconhold.conf.',
  external_media: 'Servers of audio: websocket_client.conf.',
  features: 'Feature codes that parties dial during calls: features.conf.',
  dialplan: 'extensions.conf. Unsupported steps that end calls became Hangup(FACILITY_NOT_IMPLEMENTED).',
};

const opening = ` Made by \`hookswitch import\`. It holds passwords: keep it from others (chmod 600).
 What is left out has its default; hookswitch.example.yaml shows everything. Try it: hookswitch check --config <file>`;

function write(config: Record<string, unknown>, notes: Readonly<Record<string, string>>): string {
  const document = new Document(config, { aliasDuplicateObjects: false });
  document.commentBefore = opening;
  /** The pairs of each map that was looked into, by key. */
  const pairs = new Map<unknown, Map<string, Pair>>();
  const above = (path: readonly string[], comment: string): void => {
    let node: unknown = document.contents;
    for (const [depth, key] of path.entries()) {
      if (!isMap(node)) return;
      const map = node;
      const byKey =
        pairs.get(map) ?? new Map(map.items.map((item) => [isScalar(item.key) ? String(item.key.value) : '', item]));
      pairs.set(map, byKey);
      const pair = byKey.get(key);
      if (!pair) return;
      if (depth === path.length - 1) {
        const named = pair.key as Node & { commentBefore?: string; spaceBefore?: boolean };
        named.commentBefore = ` ${comment}`;
        if (path.length === 1) named.spaceBefore = true;
      }
      node = pair.value;
    }
  };
  for (const [section, comment] of Object.entries(headings)) above([section], comment);
  for (const [path, comment] of Object.entries(notes)) above(splitPath(path), comment);
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** `sip.endpoints.<name>`: names may hold dots. */
const splitPath = (path: string): string[] => {
  const [first = '', second = '', ...rest] = path.split('.');
  return rest.length === 0 ? [first, second] : [first, second, rest.join('.')];
};
