import { type IncomingMessage, ServerResponse } from 'node:http';
import type { TurnChanges } from '../lib/changes.ts';

/** Responses of a server that end when what they tell of is written. @param changes decides when that is */
export const waitingAnswer = ({ leave }: Pick<TurnChanges, 'leave'>): typeof ServerResponse =>
  class WaitingAnswer<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    // biome-ignore lint/suspicious/noExplicitAny: the overloads of Node
    override end(...given: any[]): this {
      leave(() => super.end(...given));
      return this;
    }
  };
