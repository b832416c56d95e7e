import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { directoryFiles } from '../../packages/importer/src/directory.ts';
import { type Imported, importConfiguration } from '../../packages/importer/src/import.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import { validate } from '../../src/dialplan/parse.ts';

/** Configurations of Asterisk in the shapes that people bring along. */

/** Reads files of a configuration, by name, out of a directory that is there for as long as it takes. */
export function imported(files: Readonly<Record<string, string>>): Imported {
  return withDirectory((directory) => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), text);
    }
    return importConfiguration(directoryFiles(directory));
  });
}

/** What `check` makes of a configuration file. @throws ConfigError. */
export function checked(yaml: string): Config {
  return withDirectory((directory) => {
    const file = join(directory, 'hookswitch.yaml');
    writeFileSync(file, yaml);
    return loadConfig({ file, env: {}, checkDialplan: validate, secret: () => 'made up' });
  });
}

export function withDirectory<T>(use: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-import-'));
  try {
    return use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Lines of a report under a title, without their indent. */
export const linesUnder = (report: string, title: string): string[] =>
  (report.split(`${title}:\n`)[1] ?? '')
    .split('\n\n')[0]!
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const numbers = Array.from({ length: 40 }, (_, index) => String(101 + index));

/** A company: 40 phones by templates, a door without a password, voicemail, a queue, a menu. */
export const company = {
  'pjsip.conf': `
[global]
type=global
user_agent=Company
[udp]
type=transport
protocol=udp
bind=0.0.0.0:5060 ; everywhere
local_net=192.168.0.0/16
external_media_address=203.0.113.5
external_signaling_address=203.0.113.5
[phone](!)
type=endpoint
context=internal
disallow=all
allow=ulaw,alaw
allow=g729
direct_media=no
rtp_symmetric=yes
force_rport=yes
rewrite_contact=yes
[auth](!)
type=auth
auth_type=userpass
[aor](!)
type=aor
max_contacts=2
#include phones/*.conf
#tryinclude nothing.conf
;-- Phones of browsers
are yet to come --;
[browser](phone)
webrtc=yes
[office](phone)
deny=0.0.0.0/0.0.0.0
permit=10.0.0.0/8
[lobby](phone)
identify_by=ip
context=internal
allow += alaw
[lobby-address]
type=identify
endpoint=lobby
match=127.0.0.1,10.2.0.0/255.255.0.0
match=lobby.example.org
`,
  'phones/desks.conf': numbers
    .map(
      (number) => `[${number}](phone)
auth=${number}
aors=${number}
callerid="Phone ${number}" <${number}>
mailboxes=${number}@default
set_var=OFFICE=Berlin
[${number}](auth)
username=${number}
password=pw${number}
[${number}](aor)
`,
    )
    .join(''),
  'extensions.conf': `
[general]
static=yes
[globals]
RINGTIME=20
OPERATOR=PJSIP/101
COUNT=0
[ring]
exten => s,1,NoOp(ring \${ARG1})
 same => n,Dial(\${ARG1},\${RINGTIME},tTrL(60000))
 same => n,Return(\${DIALSTATUS})
[internal]
include => services
exten => _1XX,1,Gosub(ring,s,1(PJSIP/\${EXTEN}))
 same => n,GotoIf($["\${GOSUB_RETVAL}" = "BUSY"]?busy:unavail)
 same => n(unavail),VoiceMail(\${EXTEN}@default,u)
 same => n,Hangup()
 same => n(busy),VoiceMail(\${EXTEN}@default,b)
exten => 100,hint,PJSIP/100&DAHDI/1&Custom:night,CustomPresence:night
exten => 0,1,Dial(\${OPERATOR})
exten => 700,1,Answer()
exten => 700,n,Queue(support,t,,,60)
exten => 701,1,Authenticate(1234)
 same => n,Dial(PJSIP/102)
exten => 702,1,Set(GLOBAL(COUNT)=1)
 same => n,Set(CONFBRIDGE(user,quiet)=\${COUNT})
 same => n,GotoIf($["\${DB(closed/now)}" = "1"]?nowhere,1,1)
 same => 5,Congestion()
exten => 703,1,Goto(nowhere,1,1)
exten => 704/101,1,Answer()
exten => _9.,1,Dial(SIP/carrier/\${EXTEN:1}&DAHDI/g1/\${EXTEN:1},60)
[services]
include => internal
include => night,18:00-8:00,*,*,*
include => gone
switch => Realtime/@
exten => *97,1,VoiceMailMain(\${CALLERID(num)}@default)
exten => 600,1,Goto(menu,s,1)
[menu]
exten => s,1,Answer()
 same => n(again),Background(demo-menu)
 same => n,WaitExten(5)
exten => 1,1,Goto(internal,101,1)
exten => i,1,Playback(invalid)
 same => n,Goto(s,again)
exten => t,1,Hangup()
`,
  'rtp.conf': '[general]\nrtpstart=12000\nrtpend=12999\nicesupport=no\n',
  'voicemail.conf': '[default]\n101 => 1234,Alice\n',
  'queues.conf': '[support]\nmember => PJSIP/101\n',
  'musiconhold.conf':
    '[default]\nmode=files\ndirectory=moh\n[jazz]\nmode=files\ndirectory=/srv/music/jazz\n[radio]\nmode=custom\n',
};

/** A line at a provider, made by the wizard, which registers there. @param port of SIP of the provider. */
export const carrier = (port: number) => ({
  'pjsip.conf': '[udp]\ntype=transport\nprotocol=udp\nbind=127.0.0.1\n',
  'pjsip_wizard.conf': `
[line](!)
type=wizard
endpoint/disallow=all
endpoint/allow=alaw,ulaw
[carrier](line)
remote_hosts=127.0.0.1:${port}
sends_auth=yes
sends_registrations=yes
outbound_auth/username=4930123456
outbound_auth/password=secret
endpoint/context=from-carrier
endpoint/from_user=4930123456
registration/retry_interval=30
`,
  'extensions.conf': `
[from-carrier]
exten => _X.,1,Set(CALLERID(num)=\${FILTER(0-9+,\${CALLERID(num)})})
 same => n,Stasis(reception,\${EXTEN},"\${CALLERID(num)}")
`,
});

/** A server whose calls are all an application's. */
export const applicationsOnly = {
  'http.conf': '[general]\nenabled=yes\nbindaddr=127.0.0.1\nbindport=9088\nprefix=asterisk\n',
  'ari.conf': `
[general]
enabled=yes
pretty=yes
allowed_origins=https://desk.example.org
[user](!)
type=user
[desk](user)
password=desk-secret
[wall](user)
read_only=yes
password=wall-secret
[old](user)
password_format=crypt
password=$6$abc
[robot]
type=outbound_websocket
websocket_client_id=robot
apps=robot,robot2
subscribe_all=yes
local_ari_user=desk
[safe]
type=outbound_websocket
websocket_client_id=safe
apps=safe
local_ari_user=desk
[cipher]
type=outbound_websocket
websocket_client_id=cipher
apps=cipher
local_ari_user=desk
`,
  'websocket_client.conf': `
[robot]
type=websocket_client
uri=ws://127.0.0.1:9000/ari
protocols=ari
connection_type=persistent
connection_timeout=2000
reconnect_interval=1000
reconnect_attempts=7
[safe]
type=websocket_client
uri=wss://robots.example.org/ari
tls_enabled=yes
[cipher]
type=websocket_client
uri=ws://10.0.0.9/ari
tls_enabled=yes
[voice]
type=websocket_client
uri=wss://ai.example.org/media
`,
  'pjsip.conf':
    '[udp]\ntype=transport\nprotocol=udp\nbind=127.0.0.1:5070\n[gate]\ntype=endpoint\ncontext=in\nallow=!all,ulaw\n[gate]\ntype=identify\nendpoint=gate\nmatch=127.0.0.1\n',
  'extensions.conf': '[in]\nexten => _X.,1,Stasis(desk,${EXTEN})\n',
};

/**
 * A line at a provider as most have it: an object for each thing, which registers there; calls ring a phone, whose user is
 * asked first, as a phone at home might be a mailbox.
 * @param at ports of SIP of the provider and of the phone.
 */
export const line = (at: { provider: number; phone: number }) => ({
  'pjsip.conf': `
[simpletrans]
type=transport
protocol=udp
bind=127.0.0.1
[line](!)
type=endpoint
transport=simpletrans
disallow=all
allow=alaw,ulaw
[provider](line)
context=from-line
outbound_auth=provider
aors=provider
from_user=49301
from_domain=127.0.0.1
send_pai=yes
[provider]
type=auth
auth_type=userpass
username=49301
password=secret
[provider]
type=aor
contact=sip:127.0.0.1:${at.provider}
[provider]
type=identify
endpoint=provider
match=127.0.0.1/32
[provider-registration]
type=registration
transport=simpletrans
outbound_auth=provider
server_uri=sip:127.0.0.1:${at.provider}
client_uri=sip:49301@127.0.0.1:${at.provider}
contact_user=49301
retry_interval=30
expiration=600
line=yes
endpoint=provider
[home](line)
context=internal
aors=home
[home]
type=aor
contact=sip:home@127.0.0.1:${at.phone}
`,
  'rtp.conf': '[general]\nrtpstart=10000\nrtpend=20000\nstunaddr=stun.example.org:3478\n',
  'extensions.conf': `
[from-line]
exten => 49301,1,Verbose(1,call from \${CALLERID(num)})
 same => n,Dial(PJSIP/home,30,tkU(ask^\${CALLERID(num)})L(3600000:60000)g)
 same => n,Goto(closed,s,1)
[ask]
exten => s,1,Read(KEY,,1,,1,10)
 same => n,GotoIf($["\${KEY}" = "1"]?taken)
 same => n,Set(GOSUB_RESULT=CONTINUE)
 same => n(taken),Return()
[closed]
exten => s,1,Stasis(mailbox,\${DIALSTATUS})
 same => n,Hangup()
[internal]
exten => _0X.,1,Set(TIMEOUT(absolute)=3600)
 same => n,Dial(PJSIP/\${EXTEN:1}@provider,60,TS(3600))
`,
});
