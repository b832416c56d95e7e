/** Preloaded into a media thread: makes it hang, run out of memory or fail, when the channel of that name says so. */
const { BroadcastChannel } = require('node:worker_threads');

const channel = new BroadcastChannel(process.env.SABOTEUR);
channel.onmessage = ({ data }) => {
  channel.postMessage('begun');
  if (data === 'error') throw new Error('as the test asked for');
  const kept = [];
  for (;;) if (data === 'memory') kept.push(new Array(1000).fill(0).map(Math.random));
};
channel.unref();
