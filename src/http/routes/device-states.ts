import Type from 'typebox';
import { DeviceState, deviceStateWords } from '../../models/device-state.ts';
import { operation, pathParam, queryParam, type Resource } from '../operation.ts';

const deviceName = pathParam('Name of the device.');

/** Device states: how busy devices are. */
export const deviceStates: Resource = {
  name: 'deviceStates',
  description: 'Device states: how busy devices are.',
  requiresModules: ['res_stasis_device_state'],
  operations: [
    operation({
      method: 'GET',
      path: '/deviceStates',
      nickname: 'list',
      summary: 'List the device states that clients keep.',
      owner: 'deviceStates',
      returns: Type.Array(DeviceState),
      handle: (deviceStates) => deviceStates.list(),
    }),
    operation({
      method: 'GET',
      path: '/deviceStates/{deviceName}',
      nickname: 'get',
      summary: 'Look at the state of any device.',
      owner: 'deviceStates',
      params: { deviceName },
      returns: DeviceState,
      handle: (deviceStates, params) => deviceStates.get(params.deviceName),
    }),
    operation({
      method: 'PUT',
      path: '/deviceStates/{deviceName}',
      nickname: 'update',
      summary: 'Set the state of a device that clients keep.',
      owner: 'deviceStates',
      params: {
        deviceName,
        deviceState: queryParam('string', 'Its new state.', {
          required: true,
          allowed: deviceStateWords.filter((word) => word !== 'UNKNOWN'),
        }),
      },
      errors: ['deviceUncontrolled', 'deviceNameMissing', 'deviceStateUnknown', 'storageFailed'],
      handle: (deviceStates, params) => deviceStates.update(params.deviceName, params.deviceState),
    }),
    operation({
      method: 'DELETE',
      path: '/deviceStates/{deviceName}',
      nickname: 'delete',
      summary: 'Forget the state of a device that clients keep.',
      owner: 'deviceStates',
      params: { deviceName },
      errors: ['deviceUncontrolled', 'deviceNameMissing', 'storageFailed'],
      handle: (deviceStates, params) => deviceStates.delete(params.deviceName),
    }),
  ],
};
