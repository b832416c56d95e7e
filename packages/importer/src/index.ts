export { directoryFiles } from './directory.ts';
export { importConfiguration } from './import.ts';
