#!/bin/sh
# Runs an Asterisk of Debian's `sid` beside this tree, for `npm run bench -- reference` and `tests/clients/asterisk.test.ts`.
#
#   bench/asterisk.sh /var/tmp/asterisk      (as root; needs `debootstrap`; the first time takes minutes and 700 MB)
#
# It installs a system of its own in that directory and prints the variables that name the server. Everything listens on
# 127.0.0.1. Modules for call records, voicemail and protocols that the comparison does not use stay unloaded: with all of
# them, Asterisk makes half to a third of the calls.
set -eu
root=${1:?the directory of the installation}
conf=$root/etc/asterisk-bench
modules=$root/usr/lib/x86_64-linux-gnu/asterisk/modules

if [ ! -x "$root/usr/sbin/asterisk" ]; then
  debootstrap --variant=minbase sid "$root"
  printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  chroot "$root" apt-get install -y --no-install-recommends asterisk
fi
# Without these names each SIP call waits for the resolver.
echo "127.0.0.1 localhost $(hostname) a.root-servers.net" > "$root/etc/hosts"

rm -rf "$conf"
cp -a "$root/etc/asterisk" "$conf"
mkdir -p "$root/run/asterisk-bench"
cat > "$conf/asterisk.conf" <<'EOF'
[directories]
astetcdir => /etc/asterisk-bench
astrundir => /run/asterisk-bench
EOF
{
  printf '[modules]\nautoload=yes\n'
  ls "$modules" | grep -E '^(cdr|cel|app_voicemail|app_queue|app_minivm|app_directory|app_followme|app_festival|app_alarm|app_adsi|app_jack|chan_(audiosocket|console|iax2|motif|unistim|dahdi|mgcp|skinny)|pbx_(ael|dundi|loopback|lua|realtime|spool)|res_(adsi|aeap|calendar|config|corosync|fax|geoloc|hep|ldap|odbc|phoneprov|pjsip_geoloc|prometheus|snmp|smdi|statsd|stir|tonedetect|xmpp))' |
    sed 's/^/noload => /'
} > "$conf/modules.conf"
cat > "$conf/http.conf" <<'EOF'
[general]
enabled=yes
bindaddr=127.0.0.1
bindport=18088
sessionlimit=1000
EOF
cat > "$conf/ari.conf" <<'EOF'
[general]
enabled=yes
[bench]
type=user
password=bench
EOF
cat > "$conf/pjsip.conf" <<'EOF'
[udp]
type=transport
protocol=udp
bind=127.0.0.1:15060
[bench]
type=endpoint
context=default
disallow=all
allow=ulaw
direct_media=no
[bench-id]
type=identify
endpoint=bench
match=127.0.0.1
EOF
cat > "$conf/extensions.conf" <<'EOF'
[default]
exten => echo,1,Answer()
 same => n,Echo()
exten => held,1,Answer()
 same => n,Wait(3600)
exten => _m.,1,Answer()
 same => n,Stasis(bench,${EXTEN})
EOF

mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
echo "export HOOKSWITCH_BENCH_AGAINST=http://127.0.0.1:18088/ari HOOKSWITCH_BENCH_CREDENTIALS=bench:bench"
echo "export HOOKSWITCH_BENCH_SIP=127.0.0.1:15060 HOOKSWITCH_BENCH_PID=$$"
exec chroot "$root" asterisk -f -C /etc/asterisk-bench/asterisk.conf
