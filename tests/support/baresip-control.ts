import { once } from 'node:events';
import { connect } from 'node:net';

/** Asks something of baresip by its control connection: one command as a netstring of JSON. @returns what it answers. */
export async function tell(port: number, command: string, params?: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const text = JSON.stringify({ command, ...(params !== undefined && { params }) });
  socket.write(`${text.length}:${text},`);
  let heard = '';
  while (!heard.includes('"response":true')) heard += String((await once(socket, 'data'))[0]);
  socket.destroy();
  return heard;
}
