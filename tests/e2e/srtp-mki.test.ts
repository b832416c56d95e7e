import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { CertificateFiles } from '../support/certificates.ts';
import { Caller, ownCertificates } from '../support/hostile.ts';
import { onServer } from '../support/server.ts';

const files = new CertificateFiles();
test.after(() => files.close());

test('a phone whose SRTP packets name their key hears itself, in packets that name ours', async () => {
  const endpoints = { anonymous: { match: ['127.0.0.1'], media_encryption: 'required' } };
  const dialplan = { default: { '600': ['Answer', 'Echo'] } };
  await onServer({ endpoints, dialplan, tls: ownCertificates(files) }, async (server) => {
    const caller = await Caller.call(server, 7);
    assert.is(caller.theirs.mki, '07');
    await caller.hearsItself();
    await caller.hangup(server);
  });
});

test.run();
