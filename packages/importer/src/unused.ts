import type { Report } from './report.ts';
import type { Values } from './source.ts';

/** Dropped settings: each is reported, unless its loss is harmless. */

type Kind = {
  /** The object with the settings, for the report. */
  of: string;
  /** Settings that may be left out without a word. One that ends in `*` stands for all that begin like this. */
  quiet: string;
};

const kinds = {
  endpoint: {
    of: 'endpoints',
    quiet: `type disallow allow ice_support rtcp_mux use_ptime bundle device_state_busy_at aggregate_mwi sub_min_expiry
    identify_by transport rewrite_contact force_rport tone_zone user_eq_phone inband_progress connected_line_method
    language srtp_tag_32 force_avp media_encryption_optimistic asymmetric_rtp_codec refer_blind_progress contact_user
    callerid_tag preferred_codec_only incoming_call_offer_pref outgoing_call_offer_pref follow_early_media_fork
    accept_multiple_sdp_answers bind_rtp_to_media_address media_address media_use_received_transport g726_non_standard
    message_context rpid_immediate webrtc use_avpf media_encryption stir_shaken security_negotiation allow_overlap
    allow_unauthenticated_options rtp_symmetric rtp_ipv6 rtp_engine rtp_keepalive send_aoc max_audio_streams
    max_video_streams direct_media* disable_direct_media* tos_* cos_* t38_* sdp_* moh_* dtls_* suppress_* notify_early*
    fax_detect* codec_prefs_* mwi_* @*`,
  },
  aor: {
    of: 'AORs',
    quiet: `type remove_existing remove_unavailable support_path authenticate_qualify max_contacts contact qualify_*
    minimum_expiration maximum_expiration default_expiration @*`,
  },
  auth: {
    of: 'auth objects',
    quiet: 'type auth_type nonce_lifetime supported_algorithms_* username password md5_cred password_digest @*',
  },
  identify: { of: 'identify objects', quiet: 'type srv_lookups endpoint match @*' },
  registration: {
    of: 'registrations',
    quiet: `type transport line endpoint support_path support_outbound auth_rejection_permanent max_retries
    max_random_initial_delay fatal_retry_interval @*`,
  },
  transport: {
    of: 'SIP transports',
    quiet: `type tos cos allow_reload async_operations symmetric_transport websocket_write_timeout tcp_keepalive_* domain
    external_signaling_address external_media_address priv_key_file cert_file ca_list_file ca_list_path
    require_client_cert verify_client local_net bind @*`,
  },
  global: {
    of: '[global] of pjsip.conf',
    quiet: `type debug max_initial_qualify_time keep_alive_interval contact_expiration_check_interval mwi_*
    unidentified_request_* taskprocessor_* disable_multi_domain ignore_uri_user_options norefersub use_callerid_contact
    allow_sending_180_after_183 send_contact_status_on_update_registration @*`,
  },
  system: {
    of: '[system] of pjsip.conf',
    quiet: `type timer_b compact_headers threadpool_* disable_tcp_switch disable_rport follow_early_media_fork
    accept_multiple_sdp_answers @*`,
  },
  user: { of: 'users of the HTTP interface', quiet: 'type' },
  ari: { of: 'ari.conf', quiet: 'enabled websocket_write_timeout' },
  http: {
    of: 'http.conf',
    quiet: `servername bindaddr bindport enablestatic enable_status redirect sessionlimit session_limit session_inactivity
    session_keep_alive prefix tlsbindaddr tlscertfile tlsprivatekey tlscadir`,
  },
  client: {
    of: 'WebSockets',
    quiet: 'type uri connection_type connection_timeout reconnect_* tls_enabled verify_server_*',
  },
  rtp: {
    of: 'rtp.conf',
    quiet: `rtcpinterval dtmftimeout rtpchecksums probation icesupport strictrtp stunaddr learning_min_sequential
    stun_software_attribute`,
  },
} satisfies Record<string, Kind>;

/** Objects that were looked through: many endpoints may share one. */
const told = new WeakSet<Values>();

/** Reports settings that were never read, once per object. */
export function tellUnused(kind: keyof typeof kinds, objects: readonly Values[], report: Report): void {
  const words = kinds[kind].quiet.split(/\s+/);
  const names = new Set(words);
  const beginnings = words.flatMap((word) => (word.endsWith('*') ? [word.slice(0, -1)] : []));
  for (const each of objects) {
    if (told.has(each)) continue;
    told.add(each);
    for (const { key, place } of each.unused()) {
      const name = key.toLowerCase();
      if (!names.has(name) && !beginnings.some((beginning) => name.startsWith(beginning)))
        report.missing(place, `${key} of ${kinds[kind].of} is not supported and is dropped`);
    }
  }
}
