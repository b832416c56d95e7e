import Type from 'typebox';
import { AsteriskInfo, AsteriskPing, ConfigTuple, infoSections, LogChannel, Module } from '../../models/system.ts';
import { Variable } from '../../models/variable.ts';
import { bodyParam, operation, pathParam, queryParam, type Resource } from '../operation.ts';

/** Both names of the resource: Asterisk's and the specification's. */
const at = <const P extends string>(path: P) => [`/asterisk${path}`, `/system${path}`] as const;

const variable = queryParam('string', 'Name of the variable, or function with arguments.', { required: true });

const systemOperations = [
  operation({
    method: 'GET',
    path: at('/info'),
    nickname: 'getInfo',
    summary: 'Look at the system.',
    owner: 'system',
    params: { only: queryParam('list', 'Sections wanted; all when left out.', { allowed: infoSections }) },
    returns: AsteriskInfo,
    handle: (system, params) => system.info(params.only),
  }),
  operation({
    method: 'GET',
    path: at('/ping'),
    nickname: 'ping',
    summary: 'Ask whether the system is there.',
    owner: 'system',
    returns: AsteriskPing,
    handle: (system) => system.ping(),
  }),
  operation({
    method: 'GET',
    path: at('/variable'),
    nickname: 'getGlobalVar',
    summary: 'Read a global variable.',
    owner: 'system',
    params: { variable },
    returns: Variable,
    errors: ['variableNameRequired'],
    handle: (system, params) => system.getGlobalVar(params.variable),
  }),
  operation({
    method: 'POST',
    path: at('/variable'),
    nickname: 'setGlobalVar',
    summary: 'Set a global variable.',
    owner: 'system',
    params: { variable, value: queryParam('string', 'Its new value; removed when left out.', { hidden: true }) },
    errors: ['variableNameRequired', 'functionFailed'],
    handle: (system, params) => system.setGlobalVar(params.variable, params.value),
  }),
];

const moduleName = pathParam('Name of the module.');

const moduleOperations = [
  operation({
    method: 'GET',
    path: at('/modules'),
    nickname: 'listModules',
    summary: 'List the parts of the system.',
    owner: 'modules',
    returns: Type.Array(Module),
    handle: (modules) => modules.list(),
  }),
  operation({
    method: 'GET',
    path: at('/modules/{moduleName}'),
    nickname: 'getModule',
    summary: 'Look at one part of the system.',
    owner: 'modules',
    params: { moduleName },
    returns: Module,
    errors: ['moduleNotFound'],
    handle: (modules, params) => modules.get(params.moduleName),
  }),
  operation({
    method: 'POST',
    path: at('/modules/{moduleName}'),
    nickname: 'loadModule',
    summary: 'Load a part of the system.',
    owner: 'modules',
    params: { moduleName },
    errors: ['moduleAlreadyLoaded', 'moduleLoadFailed'],
    handle: (modules, params) => modules.load(params.moduleName),
  }),
  operation({
    method: 'DELETE',
    path: at('/modules/{moduleName}'),
    nickname: 'unloadModule',
    summary: 'Unload a part of the system.',
    owner: 'modules',
    params: { moduleName },
    errors: ['moduleNotRunning', 'moduleUnloadFailed'],
    handle: (modules, params) => modules.unload(params.moduleName),
  }),
  operation({
    method: 'PUT',
    path: at('/modules/{moduleName}'),
    nickname: 'reloadModule',
    summary: 'Reload a part of the system.',
    owner: 'modules',
    params: { moduleName },
    errors: ['moduleNotRunning', 'moduleNotFound', 'moduleReloadUnsupported'],
    handle: (modules, params) => modules.reload(params.moduleName),
  }),
];

const logChannelName = pathParam('Name of the log channel.');

const loggingOperations = [
  operation({
    method: 'GET',
    path: at('/logging'),
    nickname: 'listLogChannels',
    summary: 'List where log lines go.',
    owner: 'logChannels',
    returns: Type.Array(LogChannel),
    handle: (logChannels) => logChannels.list(),
  }),
  operation({
    method: 'POST',
    path: at('/logging/{logChannelName}'),
    nickname: 'addLog',
    summary: 'Write log lines to a file of this name, too.',
    owner: 'logChannels',
    params: {
      logChannelName,
      configuration: queryParam('string', 'Levels it takes, comma-separated.', { required: true }),
    },
    errors: ['logLevelsRequired', 'logLevelsInvalid', 'logChannelNameInvalid', 'logChannelExists', 'logChannelFailed'],
    handle: (logChannels, params) => logChannels.add(params.logChannelName, params.configuration),
  }),
  operation({
    method: 'DELETE',
    path: at('/logging/{logChannelName}'),
    nickname: 'deleteLog',
    summary: 'Stop writing to a log channel that a client made.',
    owner: 'logChannels',
    params: { logChannelName },
    errors: ['logChannelNotFound'],
    handle: (logChannels, params) => logChannels.delete(params.logChannelName),
  }),
  operation({
    method: 'PUT',
    path: at('/logging/{logChannelName}/rotate'),
    nickname: 'rotateLog',
    summary: 'Put the file of a log channel aside and begin a new one.',
    owner: 'logChannels',
    params: { logChannelName },
    errors: ['logChannelNotFound', 'logChannelFailed'],
    handle: (logChannels, params) => logChannels.rotate(params.logChannelName),
  }),
];

const object = {
  configClass: pathParam("The object's module, e.g. res_pjsip."),
  objectType: pathParam('Kind of the object, e.g. endpoint.'),
  id: pathParam('Id of the object.'),
} as const;
const objectPath = at('/config/dynamic/{configClass}/{objectType}/{id}');

const configOperations = [
  operation({
    method: 'GET',
    path: objectPath,
    nickname: 'getObject',
    summary: 'Look at a configured object.',
    owner: 'dynamicConfig',
    params: object,
    returns: Type.Array(ConfigTuple),
    errors: ['configClassNotFound', 'configTypeNotFound', 'configObjectNotFound'],
    handle: (config, { configClass, objectType, id }) => config.get(configClass, objectType, id),
  }),
  operation({
    method: 'PUT',
    path: objectPath,
    nickname: 'updateObject',
    summary: 'Make or change a configured object.',
    owner: 'dynamicConfig',
    params: { ...object, fields: bodyParam('Attributes: a list of objects with attribute and value.') },
    returns: Type.Array(ConfigTuple),
    errors: [
      'configClassNotFound',
      'configTypeNotFound',
      'configFieldsRequired',
      'configCreateInvalid',
      'configUpdateInvalid',
      'configUpdateForbidden',
      'storageFailed',
    ],
    handle: (config, { configClass, objectType, id, fields }) => config.update(configClass, objectType, id, fields),
  }),
  operation({
    method: 'DELETE',
    path: objectPath,
    nickname: 'deleteObject',
    summary: 'Remove a configured object.',
    owner: 'dynamicConfig',
    params: object,
    errors: [
      'configClassNotFound',
      'configTypeNotFound',
      'configObjectNotFound',
      'configDeleteForbidden',
      'storageFailed',
    ],
    handle: (config, { configClass, objectType, id }) => config.delete(configClass, objectType, id),
  }),
];

/** The system itself; Asterisk's name for it is kept, since clients find it by that. */
export const asterisk: Resource = {
  name: 'asterisk',
  description: 'The system itself.',
  operations: [...systemOperations, ...moduleOperations, ...loggingOperations, ...configOperations],
};
