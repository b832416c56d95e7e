import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLinkAudio } from '../../../src/drivers/external/link-audio.ts';
import type { MediaPlane, MediaReport, RtpFlow } from '../../../src/telephony/media.ts';

const audio = suite('audio between two nodes');

const key = (letter: string): string => Buffer.alloc(30, letter).toString('base64');

/** A node whose ports are bound to an address. */
function createNode(bound: string, told = '') {
  const flows: RtpFlow[] = [];
  const reports: ((report: MediaReport) => void)[] = [];
  const media = {
    openRtp: async (_id: string, report: (report: MediaReport) => void) => {
      reports.push(report);
      return {
        local: { address: bound, port: 4_000 },
        configure: (flow: RtpFlow) => void flows.push(flow),
        statistics: async () => ({ rxcount: 7 }),
        close() {},
      };
    },
  } as unknown as MediaPlane;
  const open = createLinkAudio({
    ...{ media, address: told, localAddress: (peer) => `towards ${peer}` },
    ids: { hex: (digits) => '6b'.repeat(digits / 2) },
  });
  return { open, flows, reports };
}

audio('it is encrypted with a key of each side, and events keep the clock of the codec', async () => {
  const { open, flows } = createNode('10.0.0.1');
  const opened = await open('l1', { secure: true }, () => {});
  assert.equal(opened.place, { address: '10.0.0.1', port: 4_000, key: key('k') });
  opened.start({ address: '10.0.0.2', port: 5_000, key: key('o') }, 'slin16');
  const suiteName = 'AES_CM_128_HMAC_SHA1_80';
  assert.equal(flows, [
    {
      ...{ remote: { address: '10.0.0.2', port: 5_000 }, fixedRemote: true, codec: 'slin16', payloadType: 96 },
      ...{ telephoneEvent: 101, telephoneEventRate: 16_000, ptimeMs: 20, send: true, receive: true },
      srtp: { local: { suite: suiteName, key: key('k') }, remote: { suite: suiteName, key: key('o') } },
    },
  ]);
  assert.is(await opened.received(), 7);
});

audio('it tells an address that the other node reaches', async () => {
  const places = async (bound: string, told?: string, near?: string) =>
    (await createNode(bound, told).open('l1', { near, secure: false }, () => {})).place;
  assert.equal(await places('0.0.0.0'), { address: 'towards 0.0.0.0', port: 4_000 });
  assert.equal(await places('0.0.0.0', '', '10.0.0.2'), { address: 'towards 10.0.0.2', port: 4_000 });
  assert.equal(await places('10.0.0.1', '192.0.2.1'), { address: '192.0.2.1', port: 4_000 });
});

audio('what the other node says wrong is refused, and nothing is sent', async () => {
  const { open, flows } = createNode('10.0.0.1');
  const place = { address: '10.0.0.2', port: 5_000 };
  const secure = await open('l1', { secure: true }, () => {});
  const plain = await open('l2', { secure: false }, () => {});
  assert.throws(() => secure.start(place, 'ulaw'), /one node encrypts/);
  assert.throws(() => plain.start({ ...place, key: key('o') }, 'ulaw'), /one node encrypts/);
  assert.throws(() => secure.start({ ...place, key: 'c2hvcnQ=' }, 'ulaw'), /another length/);
  assert.throws(() => plain.start({ ...place, address: 'name.example' }, 'ulaw'), /is no address/);
  assert.equal(flows, []);
});

audio('a fault of the media plane is told; a pause of the other node is none', async () => {
  const { open, reports } = createNode('10.0.0.1');
  let lost = 0;
  await open('l1', { secure: false }, () => lost++);
  reports[0]!({ type: 'media.timedOut' });
  assert.is(lost, 0);
  reports[0]!({ type: 'media.lost', reason: 'a fault' });
  assert.is(lost, 1);
});

audio.run();
