import Type from 'typebox';
import { Chart, ChartSummary } from '../../models/chart.ts';
import { fileOperation, operation, pathParam, type Resource } from '../operation.ts';

const chartName = pathParam('Name of the chart, as steps have it, e.g. `channel`.');

/** Charts: what the server's objects can be and do, as documents. */
export const charts: Resource = {
  name: 'charts',
  description: 'Charts: the states of every kind of object, and what is done in each.',
  operations: [
    operation({
      method: 'GET',
      path: '/charts',
      nickname: 'list',
      summary: 'List the charts.',
      owner: 'charts',
      returns: Type.Array(ChartSummary),
      handle: (charts) => charts.list(),
    }),
    operation({
      method: 'GET',
      path: '/charts/{chartName}',
      nickname: 'get',
      summary: 'A whole chart: states, transitions, and the result of each event in each state.',
      owner: 'charts',
      params: { chartName },
      returns: Chart,
      errors: ['chartNotFound'],
      handle: (charts, params) => charts.get(params.chartName),
    }),
    fileOperation({
      path: '/charts/{chartName}.svg',
      nickname: 'getSvg',
      summary: 'A chart as a drawing.',
      notes:
        'A state is the group with the id `state:<id>`, what leads from one to another that with `edge:<from>:<to>`.',
      owner: 'charts',
      params: { chartName },
      errors: ['chartNotFound', 'rangeNotSatisfiable'],
      handle: (charts, params) => charts.svg(params.chartName),
    }),
    fileOperation({
      path: '/charts/{chartName}.json',
      nickname: 'getJson',
      summary: 'A chart as the configuration of an xstate machine.',
      notes: 'Guards, actions and delays are names. Stately Studio and `createMachine` open it.',
      owner: 'charts',
      params: { chartName },
      errors: ['chartNotFound', 'rangeNotSatisfiable'],
      handle: (charts, params) => charts.json(params.chartName),
    }),
    fileOperation({
      path: '/charts/{chartName}.scxml',
      nickname: 'getScxml',
      summary: 'A chart as SCXML.',
      notes: 'Guards and effects are calls by name; facts are sent to the parent.',
      owner: 'charts',
      params: { chartName },
      errors: ['chartNotFound', 'rangeNotSatisfiable'],
      handle: (charts, params) => charts.scxml(params.chartName),
    }),
  ],
};
