import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { loadConfig } from '../../src/config/load.ts';
import { hashPassword } from '../../src/config/password-hash.ts';
import { validate } from '../../src/dialplan/parse.ts';
import { startServer } from '../../src/main.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { startBaresipProgram } from '../support/baresip.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { need } from '../support/need.ts';
import { untilAsked, untilFound } from '../support/waiting.ts';

/** The configuration of docs/security.md, as it stands there but for addresses, ports, files and the password's hash. */
const internet = suite('ten lines that put it on the internet');

const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
const shown = /## On the Internet in ten lines\s+```yaml\n(.*?)```/s.exec(page)?.[1] ?? '';

/** One change of the text, which has to be there. */
const changed = (text: string, [from, to]: readonly [string, string]): string => {
  assert.ok(text.includes(from), `docs/security.md does not show ${from}`);
  return text.replaceAll(from, to);
};

need('baresip').test(
  internet,
  'a phone registers and is called by a program, in secret; nobody else gets in',
  async (baresip) => {
    const directory = mkdtempSync(join(tmpdir(), 'hookswitch-internet-'));
    const files = new CertificateFiles();
    const authority = new Authority();
    const ca = files.authority(authority);
    const pair = files.pair('own', authority.sign('127.0.0.1'));
    const audit = join(directory, 'audit.jsonl');
    const text = (
      [
        ['bind: 0.0.0.0', 'bind: 127.0.0.1, port: 0'],
        ['scrypt$…', hashPassword('a word')],
        ['/var/log/hookswitch/audit.jsonl', audit],
        ['/etc/hookswitch/fullchain.pem', pair.certificate],
        ['/etc/hookswitch/privkey.pem', pair.key],
        ['external_address: 203.0.113.5 ', "external_address: ''"],
        ['rtp_address: 0.0.0.0', 'rtp_address: 127.0.0.1'],
        ['[10000, 20000]', '[0, 0]'],
      ] as const
    ).reduce(changed, shown);
    assert.is(shown.trimEnd().split('\n').length, 11, 'ten lines, and the one that says what they are for');
    const file = join(directory, 'hookswitch.yaml');
    writeFileSync(file, text);
    const config = loadConfig({ file, env: {}, checkDialplan: validate });
    const server = await startServer({
      ...config,
      general: { ...config.general, data_directory: directory, log_level: 'silent' },
    });
    const closing: { close(): unknown }[] = [];
    try {
      const { http, sip } = server.addresses;
      assert.match(http, /^https:/);
      assert.equal(Object.keys(sip).sort(), ['tls', 'wss']);
      const ask = (method: string, path: string, credentials = 'desk:a word') =>
        new Promise<{ status: number; body: string }>((resolve, reject) => {
          const asked = request(
            `${http}${path}`,
            { method, ca: authority.own.certificate, auth: credentials },
            (answer) => {
              let body = '';
              answer.setEncoding('utf8').on('data', (chunk: string) => {
                body += chunk;
              });
              answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
            },
          );
          asked.on('error', reject);
          asked.end();
        });
      const events: AriEvent[] = [];
      const socket = new WebSocket(`${http.replace('https', 'wss')}/events?app=desk&subscribeAll=true`, {
        ca: authority.own.certificate,
        auth: 'desk:a word',
      });
      closing.push({ close: () => socket.terminate() });
      const waiting = new Set<() => void>();
      socket.on('message', (data) => {
        events.push(JSON.parse(String(data)) as AriEvent);
        for (const look of [...waiting]) look();
      });
      const heard = (matches: (event: AriEvent) => boolean) =>
        untilFound(
          waiting,
          () => events.find(matches),
          () => JSON.stringify(events),
        );
      await new Promise((resolve) => socket.once('open', resolve));

      const account = (password: string) =>
        `<sip:alice@${sip.tls};transport=tls>;auth_user=k3x9-alice;auth_pass="${password}";regint=600;answermode=auto;mediaenc=srtp-mand`;
      const phone = await startBaresipProgram(baresip, {
        account: account('long, and nobody guesses it'),
        settings: [`sip_cafile ${ca}`],
        modules: ['srtp.so'],
      });
      closing.push(phone);
      await heard((event) => event.type === 'ContactStatusChange');
      const { status, body } = await ask('POST', '/channels?endpoint=PJSIP/alice&app=desk');
      assert.is(status, 200);
      const { id } = JSON.parse(body) as { id: string };
      await heard((event) => event.type === 'StasisStart' && event.channel.id === id);
      assert.is((await ask('POST', `/channels/${id}/play?media=sound:hello-world`)).status, 201);
      await heard((event) => event.type === 'PlaybackFinished');
      const came = async () =>
        (JSON.parse((await ask('GET', `/channels/${id}/rtp_statistics`)).body) as { rxcount: number }).rxcount > 10;
      await untilAsked(came, () => 'the phone says nothing');
      await ask('DELETE', `/channels/${id}`);
      await heard((event) => event.type === 'ChannelDestroyed' && event.channel.id === id);

      assert.equal(
        await Promise.all([
          ask('GET', '/channels', 'desk:another word').then((answer) => answer.status),
          ask('GET', '/channels', 'hookswitch:a word').then((answer) => answer.status),
          ask('POST', '/channels?endpoint=PJSIP/alice&app=other').then((answer) => answer.status),
        ]),
        [401, 401, 403],
      );
      const lines = readFileSync(audit, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { operation?: string });
      assert.ok(lines.some(({ operation }) => operation?.includes('originate')));
    } finally {
      for (const each of closing) await each.close();
      await server.close();
      files.close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
);

internet.run();
