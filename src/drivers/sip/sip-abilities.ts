import { isVideoFormat } from '../../lib/formats.ts';
import { asteriskWords, endpointAttributes, fromAsterisk, toAsterisk } from '../../models/endpoint-attributes.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import { isAudioCodec } from '../../sip/sdp/codecs.ts';
import type { SipAbilities } from '../../telephony/driver.ts';
import type { LegCore } from './leg-core.ts';
import { namesThatBegin } from './request-headers.ts';

/** Words for how digits travel that applications may set. */
const modes = new Set(Object.keys(asteriskWords(endpointAttributes.digits)));

/** Additional abilities of SIP calls. */
export function sipAbilities(
  core: Pick<LegCore, 'digits' | 'change' | 'refresh' | 'video'>,
  {
    headers,
    answer,
  }: {
    /** Headers of the request that made the call, or that will. */
    headers(): HeaderLines;
    /** Those of the answer to it, when it is ours. */
    answer(): HeaderLines | undefined;
  },
): SipAbilities {
  return {
    headerNames: (beginning) => namesThatBegin(headers(), beginning),
    responseHeader: (name, index) =>
      answer()?.filter(([each]) => each.toLowerCase() === name.toLowerCase())[index - 1]?.[1],
    responseHeaderNames: (beginning) => namesThatBegin(answer() ?? [], beginning),
    get digitMode() {
      return toAsterisk(endpointAttributes.digits, core.digits);
    },
    setDigitMode(mode) {
      if (!modes.has(mode)) return false;
      core.change({ digits: fromAsterisk(endpointAttributes.digits, mode) });
      return true;
    },
    setFormats(formats) {
      if (formats.length === 0 || !formats.every(isAudioCodec)) return false;
      core.change({ codecs: formats });
      return true;
    },
    setVideoFormats(formats) {
      if (!core.video || formats.length === 0 || !formats.every(isVideoFormat)) return false;
      core.change({ videoCodecs: formats });
      return true;
    },
    refresh: (method) => core.refresh(method),
  };
}
