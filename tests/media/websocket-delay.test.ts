import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { MediaEngine } from '../../src/media/engine.ts';
import { isAudioKind } from '../../src/media/external/audio-socket.ts';
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

  connect(_host: string, _port: number, listener: WireListener): Wire {
    return this.#open(listener, (message) => (isAudioKind(message[0]!) ? message : undefined));
  }

  openWebSocket(_target: unknown, listener: WireListener): Wire {
    return this.#open(listener, (message) => message);
  }

  #open(listener: WireListener, answerTo: (message: Uint8Array) => Uint8Array | undefined): Wire {
    this.#later(() => listener.opened({ address: '127.0.0.1', port: 1 }));
    return {
      send: (message) => {
        const answer = typeof message === 'string' ? undefined : answerTo(message.slice());
        if (answer) this.#later(() => listener.received(answer));
      },
      unsent: 0,
      pause: () => {},
      resume: () => {},
      end: () => {},
    };
  }
}

const webSocket: ExternalRequest = {
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

const audioSocket: ExternalRequest = {
  ...{ transport: 'audioSocket', codec: 'slin', direction: 'both' },
  ...{ host: 'server.example', port: 1, uuid: '6a1c3b1e-3f1a-4a59-8f0c-5a3c1f1b2c3d' },
};

/** How long after a click in the middle of silence a phone hears it again, ms. @param lateMs of the server, by what is sent. */
async function delays(request: ExternalRequest, phaseMs: number, seconds: number, lateMs: (message: number) => number) {
  const found: number[] = [];
  let later = (_fn: () => void): void => {};
  const wires = new EchoWires((fn) => later(fn));
  const { engine, clock, network, open, sent } = benchOf((options) => new MediaEngine(options), {}, rampLoader, wires);
  let messages = 0;
  let lastAt = 0;
  later = (fn) => {
    // A stream: nothing overtakes.
    lastAt = Math.max(lastAt, clock.now() + 1 + lateMs(messages++));
    clock.setTimeout(fn, lastAt - clock.now());
  };
  await open();
  const phone = new ToneFarSide(1, 400);
  let clickedAt = 0;
  phone.says = (sample) => {
    if (sample % 8000 !== 0) return 0;
    clickedAt = clock.now();
    return 8000;
  };
  engine.openExternal(50, request);
  engine.openMix(1, 'mixing');
  for (const session of [1, 50]) engine.applyToMix(1, { type: 'join', session, member });
  let packets = 0;
  for (let ms = 0; ms < 1000 * seconds; ms++) {
    // The connection is open then: what comes before is lost.
    if (ms >= 20 && clock.now() % 20 === phaseMs) network.deliver(10_000, phone.packet());
    clock.advance(1);
    for (const { payload } of sent()) {
      packets++;
      const loudest = Math.max(...payload.map((octet) => Math.abs(decode(octet))));
      if (loudest > 4000) found.push(clock.now() - clickedAt);
    }
  }
  engine.close();
  return { found, packets };
}

for (const [name, request] of Object.entries({ webSocket, audioSocket })) {
  test(`${name}: a phone hears itself by way of a server at most 3 ms later, whenever its packets come`, async () => {
    for (const phaseMs of [0, 3, 7, 11, 19]) {
      const { found } = await delays(request, phaseMs, 5, () => 0);
      assert.is(found.length, 5, found.join());
      assert.ok(Math.max(...found) <= 3, found.join());
    }
  });

  test(`${name}: audio that comes unevenly waits for ticks, until it has come evenly for ten seconds`, async () => {
    // From the third to the fifth second each second message comes 18 ms late.
    const isUneven = (message: number) => message > 150 && message < 250;
    const { found, packets } = await delays(request, 7, 20, (message) =>
      isUneven(message) && message % 2 === 0 ? 18 : 0,
    );
    assert.is(found.length, 20, found.join());
    assert.ok(Math.max(...found.slice(0, 2), ...found.slice(17)) <= 3, found.join());
    assert.ok(Math.min(...found.slice(6, 14)) > 3, found.join());
    assert.ok(Math.abs(packets - 998) <= 3, `${packets} packets`);
  });
}

test.run();
