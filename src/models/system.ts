import Type, { type Static } from 'typebox';
import { double, int, model, text } from './schema.ts';
import { Timestamp, timestampPattern } from './timestamp.ts';

export const BuildInfo = model('BuildInfo', 'How the running program was made.', {
  os: text('Operating system.'),
  kernel: text('Version of its kernel.'),
  options: text('Options the program was made with.'),
  machine: text('Processor architecture.'),
  date: text('When it was made.'),
  user: text('Creator.'),
});
export type BuildInfo = Static<typeof BuildInfo>;

const SystemInfo = model('SystemInfo', 'The running system.', {
  version: text('Version of the program.'),
  entity_id: text('Id of this system, the same as asterisk_id in events.'),
});

export const SetId = model('SetId', 'User of the process.', {
  user: text('User of the process.'),
  group: text('Group of the process.'),
});
export type SetId = Static<typeof SetId>;

const ConfigInfo = model('ConfigInfo', 'Configured values; unset limits are left out.', {
  name: text('Name of the system.'),
  default_language: text('Language of sounds where none is asked for.'),
  max_channels: Type.Optional(int('Most channels at the same time.')),
  max_open_files: Type.Optional(int('Most open files.')),
  max_load: Type.Optional(double('Load above which no calls are taken.')),
  setid: SetId,
});

const StatusInfo = model('StatusInfo', 'Since when the system runs.', {
  startup_time: Timestamp,
  last_reload_time: Timestamp,
});

/** The sections of {@link AsteriskInfo} by name. */
export const infoSections = ['build', 'system', 'config', 'status'] as const;
export type InfoSection = (typeof infoSections)[number];

/** All there is to know about the system; each section only when asked for. */
export const AsteriskInfo = model('AsteriskInfo', 'The system, in sections that can be asked for one by one.', {
  build: Type.Optional(BuildInfo),
  system: Type.Optional(SystemInfo),
  config: Type.Optional(ConfigInfo),
  status: Type.Optional(StatusInfo),
});
export type AsteriskInfo = Static<typeof AsteriskInfo>;

/** The answer to a ping. */
export const AsteriskPing = model('AsteriskPing', 'The answer to a ping.', {
  asterisk_id: text('Id of this system.'),
  ping: text('Always pong.'),
  // A plain string in Asterisk's description, not a Date.
  timestamp: Type.String({ pattern: timestampPattern, description: 'When it was answered.' }),
});
export type AsteriskPing = Static<typeof AsteriskPing>;

/** A part of the system that can be listed: a driver, a codec, a format, a dialplan application. */
export const Module = model('Module', 'A part of the system.', {
  name: text('Name of the module.'),
  description: text('Its purpose.'),
  use_count: int('How many things use it now.'),
  status: text('Running or Not Running.'),
  support_level: text('core, extended, deprecated or unknown.'),
});
export type Module = Static<typeof Module>;

/** Somewhere that log lines are written to. */
export const LogChannel = model('LogChannel', 'Somewhere that log lines go.', {
  channel: text('Path of the file; empty for the console.'),
  type: text('Console, File or Syslog.'),
  status: text('Enabled or Disabled.'),
  configuration: text('Levels it takes, in upper case, each followed by a space.'),
});
export type LogChannel = Static<typeof LogChannel>;

/** One attribute of an object kept by the dynamic configuration. */
export const ConfigTuple = model('ConfigTuple', 'One attribute of a configured object.', {
  attribute: text('Name of the attribute.'),
  value: text('Its value.'),
});
export type ConfigTuple = Static<typeof ConfigTuple>;
