import type { VideoFormatName } from '../../lib/formats.ts';
import { SlotMap } from '../../lib/slot-map.ts';
import type { AudioCodec } from '../../sip/sdp/codecs.ts';
import { Cause } from '../../telephony/causes.ts';
import { type Driver, DriverError } from '../../telephony/driver.ts';
import type { Party } from '../../telephony/party.ts';
import type { BrowserDriver, BrowserNews } from '../../telephony/webrtc.ts';
import { isWebrtcLeg, WebrtcLeg, type WebrtcLegData, type WebrtcServices } from './webrtc-leg.ts';

const technology = 'WebRTC';

type WebrtcDriverOptions = WebrtcServices & {
  /** The first page of that owner came, or the last has gone: it can be called, or not. */
  reachable(owner: string, is: boolean): void;
};

type LegCodecs = { codecs: readonly AudioCodec[]; videoCodecs: readonly VideoFormatName[] };

type MadeLeg = {
  channelId: string;
  owner: string;
  near?: string | undefined;
  /** A leg of another process that is gone on with. */
  from?: WebrtcLegData | undefined;
};

/** Channels of browsers that call, and are called, over HTTP: `WebRTC/owner` calls every page of that owner. */
export function createWebrtcDriver(options: WebrtcDriverOptions): BrowserDriver & { driver: Driver } {
  const { ids } = options;
  const legs = new SlotMap<string, WebrtcLeg>();
  const pages = new Map<string, Set<(news: BrowserNews) => void>>();

  const tell = (owner: string, news: BrowserNews): boolean => {
    const all = pages.get(owner) ?? new Set();
    for (const told of [...all]) told(news);
    return all.size > 0;
  };

  /** Those of our formats that may be used, in the order of the request. @throws DriverError `format`. */
  const codecsFor = (formats: readonly string[] | undefined): LegCodecs => {
    const { codecs, video } = options;
    if (!formats) return { codecs, videoCodecs: video.codecs };
    const those = <Name extends string>(ours: readonly Name[]): Name[] =>
      formats.flatMap((format) => ours.filter((codec) => codec === format));
    const [audio, videoCodecs] = [those(codecs), those(video.codecs)];
    if (audio.length === 0) throw new DriverError('format', `browsers are offered ${codecs.join(', ')} only`);
    return { codecs: audio, videoCodecs };
  };

  const make = ({ channelId, owner, near, from }: MadeLeg, codecs: LegCodecs): WebrtcLeg => {
    const session = from?.session ?? ids.uuid();
    const leg = new WebrtcLeg({
      ...{ services: options, channelId, near, session, owner, ...codecs, from },
      call: (caller: Party) => tell(owner, { type: 'incoming', call: session, caller }),
      answered: () => void tell(owner, { type: 'answered', call: session }),
      ended: (cause) => {
        if (legs.delete(session)) tell(owner, { type: 'ended', call: session, cause });
      },
    });
    legs.set(session, leg);
    return leg;
  };

  const nameOf = (owner: string): string => `${technology}/${owner}-${ids.hex(8)}`;

  const own = (session: string, owner: string): WebrtcLeg | undefined => {
    const leg = legs.get(session);
    return leg?.owner === owner ? leg : undefined;
  };

  const driver: Driver = {
    technology,
    /** `WebRTC/owner`: the name of a token, or of a user. */
    open({ channelId, resource, formats, near }, report) {
      if (resource === '' || resource.includes('/')) throw new DriverError('resource', `'${resource}' is no name`);
      const leg = make({ channelId, owner: resource, near }, codecsFor(formats)).attach(report);
      return { name: nameOf(resource), endpoint: [technology, resource], leg };
    },
    resume(data, channelId, report) {
      if (!isWebrtcLeg(data)) throw new DriverError('data', 'this is no call of a browser');
      return make(
        { channelId, owner: data.owner, from: data },
        { codecs: data.codecs, videoCodecs: data.videoCodecs ?? [] },
      ).attach(report);
    },
  };

  return {
    technology,
    driver,
    get size() {
      return legs.size;
    },
    async prepare({ channelId, offer, owner, peer, formats }) {
      const leg = make({ channelId, owner }, codecsFor(formats));
      try {
        const answer = await leg.offered(offer, peer);
        return { ...answer, name: nameOf(owner), open: (report) => leg.attach(report), abandon: () => leg.release() };
      } catch (error) {
        leg.release();
        throw error;
      }
    },
    async take(call, { offer, owner, peer }) {
      const leg = own(call, owner);
      return leg?.isCalling ? leg.negotiate(offer, peer) : undefined;
    },
    async change({ session, owner, body, ifMatch }) {
      return own(session, owner)?.change(body, ifMatch);
    },
    end(session, owner) {
      const leg = own(session, owner);
      leg?.lose(leg.isCalling ? Cause.callRejected : Cause.normalClearing);
      return leg !== undefined;
    },
    listen(owner, told) {
      const all = pages.get(owner) ?? new Set();
      pages.set(owner, all.add(told));
      if (all.size === 1) options.reachable(owner, true);
      return () => {
        if (!all.delete(told) || all.size > 0) return;
        pages.delete(owner);
        options.reachable(owner, false);
      };
    },
  };
}
