import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { freePort } from '../support/free-port.ts';
import { Phone } from '../support/phone.ts';
import { onServer } from '../support/server.ts';

/** Signed identities of callers (RFC 8224) on their way through a whole server. */
const identityTokens = suite('signed identities');

const signed =
  'eyJhbGciOiJFUzI1NiIsInBwdCI6InNoYWtlbiJ9.eyJhdHRlc3QiOiJBIn0.c2ln;info=<https://c.example/a>;ppt="shaken"';
const other = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln;info=<https://c.example/b>';

identityTokens(
  'they go on untouched with a call that an application or the dialplan places for its caller',
  async () => {
    const bobsPort = await freePort();
    const endpoints = {
      anonymous: { match: ['127.0.0.1'], pass_identity: true },
      bob: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] }, pass_identity: true },
      plain: { aor: { contacts: [`sip:bob@127.0.0.1:${bobsPort}`] } },
    };
    const dialplan = {
      default: {
        desk: ['Stasis(desk)'],
        dial: ['Dial(PJSIP/bob)'],
        plain: ['Dial(PJSIP/plain)'],
        local: ['Dial(Local/dial@default)'],
      },
    };
    await onServer({ dialplan, endpoints }, async (server) => {
      const app = await server.app('desk');
      const alice = server.closing(await Phone.open('4711', server.sip()));
      const bob = server.closing(await Phone.open('bob', server.sip(), bobsPort));
      bob.refuses = '486 Busy Here';
      const identities = async (): Promise<string[]> => {
        await bob.until(() => bob.invites.length > 0, 'a call to bob');
        return bob.invites.splice(0).flatMap((invite) => invite.all('Identity'));
      };
      for (const [extension, expected] of [
        ['dial', [signed, other]],
        ['local', [signed, other]],
        ['plain', []],
      ] as const) {
        const refused = alice.call(extension, [`Identity: ${signed}`, `Identity: ${other}`]).catch(() => {});
        assert.equal(await identities(), expected, extension);
        await refused;
      }

      const entered = app.waitFor('StasisStart');
      const calling = alice.call('desk', [`Identity: ${signed}`, `Identity: ${other}`]).catch(() => {});
      const { id } = (await entered).channel;
      const place = (more: string, variables = {}) =>
        app.ok('POST', `/channels?endpoint=PJSIP/bob&app=desk${more}`, { variables });
      await place(`&originator=${id}`);
      assert.equal(await identities(), [signed, other]);
      // A call that belongs to no caller has no identity but what the application gives it.
      await place('');
      assert.equal(await identities(), []);
      const { value } = await app.ok<{ value: string }>(
        'GET',
        `/channels/${id}/variable?variable=${encodeURIComponent('PJSIP_HEADER(read,Identity,2)')}`,
      );
      await place('', { 'PJSIP_HEADER(add,Identity)': value });
      assert.equal(await identities(), [other]);
      await app.ok('DELETE', `/channels/${id}`);
      await calling;
    });
  },
);

identityTokens.run();
