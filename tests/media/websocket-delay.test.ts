import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { MediaEngine } from '../../src/media/engine.ts';
import type { Wire, WireListener, Wires } from '../../src/media/external/wires.ts';
import type { ExternalRequest } from '../../src/telephony/external.ts';
import { decodeUlaw as decode } from '../support/rtp-audio.ts';
import { member, ToneFarSide } from './phones.ts';
import { benchOf, rampLoader } from './support.ts';

/** A server that sends back what it hears, as late as it is told to. */
class EchoWires implements Wires {
  readonly #later: (fn: () => void) => void;

  constructor(later: (fn: () => void) => void) {
    this.#later = later;
  }

  connect(): Wire {
    throw new Error('there is no TCP here');
  }

  openWebSocket(_target: unknown, listener: WireListener): Wire {
    this.#later(() => listener.opened({ address: '127.0.0.1', port: 1 }));
    return {
      send: (message) => {
        if (typeof message !== 'string') this.#later(() => listener.received(message));
      },
      unsent: 0,
      pause: () => {},
      resume: () => {},
      end: () => {},
    };
  }
}

const request: ExternalRequest = {
  transport: 'webSocket',
  codec: 'ulaw',
  direction: 'both',
  url: 'ws://server.example/',
  headers: {},
  protocols: [],
  json: false,
  frameOctets: 160,
  start: { connectionId: 'c', channel: 'WebSocket/ai/0x1', channelId: 'ai', variables: {} },
};

test('a phone hears itself by way of a server at most 30 ms later, whenever its packets come', async () => {
  const delays: number[] = [];
  for (const phaseMs of [0, 3, 7, 11, 19]) {
    let later = (_fn: () => void): void => {};
    const wires = new EchoWires((fn) => later(fn));
    const { engine, clock, network, open, sent } = benchOf(
      (options) => new MediaEngine(options),
      {},
      rampLoader,
      wires,
    );
    later = (fn) => void clock.setTimeout(fn, 1);
    await open();
    const phone = new ToneFarSide(1, 400);
    // A click in each second, in the middle of silence.
    let clickedAt = 0;
    phone.says = (sample) => {
      if (sample % 8000 !== 0) return 0;
      clickedAt = clock.now();
      return 8000;
    };
    engine.openExternal(50, request);
    engine.openMix(1, 'mixing');
    for (const session of [1, 50]) engine.applyToMix(1, { type: 'join', session, member });
    for (let ms = 0; ms < 5000; ms++) {
      // The WebSocket is open then: what comes before is lost.
      if (ms >= 20 && clock.now() % 20 === phaseMs) network.deliver(10_000, phone.packet());
      clock.advance(1);
      for (const { payload } of sent()) {
        const loudest = Math.max(...payload.map((octet) => Math.abs(decode(octet))));
        if (loudest > 4000) delays.push(clock.now() - clickedAt);
      }
    }
    engine.close();
  }
  assert.is(delays.length, 25, delays.join());
  assert.ok(Math.max(...delays) <= 30, delays.join());
});

test.run();
