import { Type } from 'typebox';
import { choice, flag, group, list, number, text, whole } from './setting.ts';

/** The settings of a node of a cluster. */
export const cluster = group(
  {
    nats: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description: 'NATS servers, e.g. nats://10.0.0.5:4222. Empty: this server is on its own.',
    }),
    name: text({
      default: '',
      pattern: '^(?:[a-z][a-z0-9-]{0,31})?$',
      description:
        'Name of this node: a letter, then letters, digits and hyphens. No other node may have it. The ids of its objects begin with it.',
    }),
    cluster: text({
      default: 'hookswitch',
      pattern: '^[A-Za-z0-9_-]{1,32}$',
      description: 'Name of the cluster. All subjects and the bucket of NATS begin with it.',
    }),
    user: text({ default: '', description: 'User for NATS. Empty: none.' }),
    password: text({ default: '', description: 'Password for NATS.' }),
    ca: text({
      default: '',
      rule: 'file',
      description: 'File with the authority of the certificates of NATS. It turns on TLS.',
    }),
    certificate: text({ default: '', rule: 'file', description: 'File with the certificate that NATS is shown.' }),
    key: text({ default: '', rule: 'file', description: 'File with its private key.' }),
    request_timeout: number(0.05, 60, {
      default: 5,
      unit: 's',
      description: 'How long another node may take to answer. Then the client gets 503 with the name of the node.',
    }),
    heartbeat: number(0.05, 60, {
      default: 1,
      unit: 's',
      description: 'How often this node tells the others its state.',
    }),
    suspect_after: number(0.1, 300, {
      default: 3,
      unit: 's',
      description: 'Silence of a node after which it is suspected to be lost.',
    }),
    away_after: number(0.1, 3_600, {
      default: 10,
      unit: 's',
      description: 'Silence of a node after which it is away. Requests for its objects are refused at once then.',
    }),
    register_after: number(0, 300, {
      default: 5,
      unit: 's',
      description:
        'How long a node that starts waits at most to know the others. Then it registers with the providers itself.',
    }),
    retry: number(0.05, 60, { default: 1, unit: 's', description: 'Pause before NATS is tried again.' }),
    requests: whole(1, 1_000_000, {
      default: 1_000,
      unit: 'requests',
      description:
        'Requests under way to other nodes, as many from other nodes, and as many ids that wait for one. More get 503.',
    }),
    octets: whole(1, 65_536, {
      default: 64,
      unit: 'MB',
      description: 'Size of the answers that are gathered from other nodes at the same time. More get 503.',
    }),
    piece: whole(1, 65_536, {
      default: 512,
      unit: 'kB',
      description: 'Size of one piece of an answer. It must be below `max_payload` of NATS, with room for the headers.',
    }),
    streams: whole(1, 100_000, {
      default: 100,
      unit: 'answers',
      description:
        'Answers of several pieces, such as recordings, that other nodes read at the same time. More get 503.',
    }),
    unsent: whole(1, 65_536, {
      default: 16,
      unit: 'MB',
      description: 'Size of the events that NATS has not confirmed yet. More are dropped and counted.',
    }),
    resume_within: number(0, 86_400, {
      default: 60,
      unit: 's',
      description:
        'How long the node of an application whose connection has closed goes on to number the events of all nodes for it, so that it can resume at any node.',
    }),
    moved_events: whole(1, 65_536, {
      default: 16,
      unit: 'MB',
      description:
        'Size of the events that wait while applications connect to another node. More are lost, which resume tells.',
    }),
    ids: whole(1, 10_000_000, {
      default: 100_000,
      unit: 'ids',
      description: 'Objects of this node whose ids clients have chosen. More get 409.',
    }),
    replicate: flag({
      default: false,
      description:
        'Keeps the state of this node at NATS, so that another node can go on with its calls. It needs state_store.on.',
    }),
    replica_interval: number(0.01, 10, {
      default: 0.05,
      unit: 's',
      description:
        'How often changes of the state are written to NATS. A node that is killed loses those of this time.',
    }),
    replica_unsent: whole(1, 65_536, {
      default: 16,
      unit: 'MB',
      description:
        'Size of the changes that wait for NATS. Beyond this they are dropped and the whole state is written.',
    }),
    replica_size: whole(1, 1_048_576, {
      default: 256,
      unit: 'MB',
      description:
        'Size of the states of all nodes that NATS keeps in memory. A node whose state has no room there tries again: until then its calls cannot go on elsewhere.',
    }),
    replicas: whole(1, 5, {
      default: 1,
      unit: 'servers',
      description: 'How many servers of a NATS cluster keep each state.',
    }),
    take_over_after: number(0.2, 3_600, {
      default: 2,
      unit: 's',
      description:
        'Silence of a node whose process is gone, after which another node with cluster.replicate goes on with its calls. It must be longer than cluster.retry, and than a restart by the supervisor takes.',
    }),
    take_over_silent_after: number(0, 86_400, {
      default: 30,
      unit: 's',
      description:
        'The same for a node that NATS still has a connection of: its machine is lost, or the network is cut. 0: never.',
    }),
    isolated_after: number(0, 86_400, {
      default: 10,
      unit: 's',
      description:
        'Time without NATS after which a node with cluster.replicate takes no new calls, until NATS is back: they would be lost when another node goes on with its calls. Live calls continue. 0: it goes on taking calls.',
    }),
    stand_ins: whole(0, 100, {
      default: 2,
      unit: 'nodes',
      description: 'Lost nodes whose calls this node goes on with at the same time. 0: none.',
    }),
    states: whole(1, 10_000_000, {
      default: 100_000,
      unit: 'states',
      description:
        'Endpoints that are registered or in calls, registrations at providers, mailboxes, global variables, tokens, log-ins, and device states of clients, of each node. Others see no more of them.',
    }),
    recording_copies: whole(1, 1_048_576, {
      default: 256,
      unit: 'MB',
      description:
        'Size of the copies of recordings of other nodes that this one plays. Those that were not played for the longest time make room.',
    }),
    bridge_links: whole(1, 1_000_000, {
      default: 1_000,
      unit: 'links',
      description:
        'Links of this node that join members of bridges at other nodes: one for each bridge and other node. More get 503.',
    }),
    bridge_rejoin: number(0, 3600, {
      default: 60,
      unit: 's',
      description:
        'Time for which a node is asked for the members of a bridge again, after their link was lost: it may start again, or another node may take over its calls. 0: members that are lost do not come again.',
    }),
    bridge_format: choice(['ulaw', 'alaw', 'g722', 'slin', 'slin16', 'opus'], {
      default: 'slin16',
      description: 'Codec of the audio between the nodes of a bridge. slin16 takes 0.3 Mbit/s for each link, ulaw 0.1.',
    }),
    bridge_encryption: flag({
      default: true,
      description: 'Encrypts the audio between the nodes of a bridge (SRTP). The keys go through NATS.',
    }),
    bridge_address: text({
      default: '',
      description: 'Address at which other nodes reach the audio of this one. Empty: that of its RTP ports.',
    }),
    nodes: whole(1, 10_000, { default: 100, unit: 'nodes', description: 'Nodes that are known. Others are ignored.' }),
  },
  'This server as a node of a cluster: docs/guides/cluster.md.',
);
