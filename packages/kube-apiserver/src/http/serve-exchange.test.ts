// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { inFlow, inTurns, Turns, type Work } from "@purlin/base";
import {
  type ApiResponse,
  type EventStream,
  type Payload,
  type StreamEvent,
  textPayload,
} from "../request/api-request.ts";
import type { Exchange, OutgoingHeaders } from "./exchange.ts";
import { type RequestLine, serveExchange } from "./serve-exchange.ts";

/** An exchange that records what is written to it. */
interface Recorded {
  readonly exchange: Exchange;
  readonly answers: { readonly code: number; readonly headers: OutgoingHeaders; readonly text: string }[];
  readonly written: string[];
  isEnded: boolean;
  leave(): void;
}

function recorded(respond: Exchange["respond"] = () => undefined): Recorded {
  const leaving: (() => void)[] = [];
  const known: Recorded = {
    answers: [],
    written: [],
    isEnded: false,
    leave: () => {
      for (const call of leaving) call();
    },
    exchange: {
      method: "GET",
      url: "/a/b?pretty=false",
      headers: {},
      certificate: undefined,
      hasBody: false,
      readBody: () => Promise.resolve(new Uint8Array()),
      onGone: (callback) => leaving.push(callback),
      respond: (code, headers, chunks) => {
        const taken = respond(code, headers, chunks);
        known.answers.push({ code, headers, text: Buffer.concat(chunks).toString() });
        return taken;
      },
      begin: () => ({
        write: (bytes) => {
          known.written.push(Buffer.from(bytes).toString());
          return true;
        },
        onDrain: () => {},
        abort: () => {},
        end: () => {
          known.isEnded = true;
        },
      }),
    },
  };
  return known;
}

type Reported = { readonly error: unknown; readonly request: RequestLine };

async function serve(known: Recorded, response: ApiResponse | Error): Promise<Reported[]> {
  const reported: Reported[] = [];
  await serveExchange(known.exchange, {
    tokens: [],
    handle: () => (response instanceof Error ? Promise.reject(response) : Promise.resolve(response)),
    onUnexpected: (error, request) => reported.push({ error, request }),
  });
  return reported;
}

const tooLong = new RangeError("Invalid string length");
const unwritable: Payload = {
  contentType: "application/json",
  chunks: () => {
    throw tooLong;
  },
  value: () => null,
};
const line = { method: "GET", path: "/a/b" };

test("a response that is too long to write is an error for its client only", async () => {
  const known = recorded();
  const reported = await serve(known, { kind: "complete", code: 200, payload: unwritable });
  assert.deepEqual(reported, [{ error: tooLong, request: line }]);
  const [answer] = known.answers;
  assert.equal(answer?.code, 500);
  const { kind, reason, message } = JSON.parse(answer?.text ?? "") as Record<string, string>;
  assert.deepEqual([kind, reason], ["Status", "InternalError"]);
  assert.doesNotMatch(message ?? "", /string length/, "what went wrong is for the log");
});

test("so is a handler that rejects although it must not", async () => {
  const known = recorded();
  const bug = new Error("a bug");
  assert.deepEqual(await serve(known, bug), [{ error: bug, request: line }]);
  assert.equal(known.answers[0]?.code, 500);
});

test("when nothing can be written, the error is reported", async () => {
  const closed = new Error("write after end");
  const known = recorded(() => {
    throw closed;
  });
  const reported = await serve(known, { kind: "complete", code: 200, payload: textPayload("x") });
  assert.deepEqual(
    reported.map(({ error }) => error),
    [closed, closed],
  );
});

/** A stream whose second event cannot be written. */
function breaking(): { response: ApiResponse; ready: () => void; isClosed: () => boolean } {
  let [isClosed, taken] = [false, 0];
  let ready = (): void => {};
  const event = (parts: () => Uint8Array[]): ReturnType<EventStream["take"]> => [{ parts, value: () => null }];
  const stream: EventStream = {
    take: () => {
      taken += 1;
      if (taken === 2) return [];
      return event(() => {
        if (taken > 2) throw tooLong;
        return [Buffer.from("first\n")];
      });
    },
    close: () => {
      isClosed = true;
    },
  };
  const open = (onReady: () => void): EventStream => {
    ready = onReady;
    return stream;
  };
  const response: ApiResponse = { kind: "stream", code: 200, contentType: "application/json", open };
  return { response, ready: () => ready(), isClosed: () => isClosed };
}

test("an event that cannot be written ends its own stream, not the store that published it", async () => {
  const known = recorded();
  const { response, ready, isClosed } = breaking();
  const reported = await serve(known, response);
  assert.deepEqual([known.written, known.isEnded, reported], [["first\n"], false, []]);
  assert.doesNotThrow(ready);
  assert.deepEqual([known.written, known.isEnded, isClosed()], [["first\n"], true, true]);
  assert.deepEqual(reported, [{ error: tooLong, request: line }]);
  assert.doesNotThrow(ready, "and later news find it ended");
  assert.equal(reported.length, 1);
  known.leave();
});

interface Slow extends Recorded {
  /** How many bytes each write had. */
  readonly sizes: number[];
  drain(): void;
}

/** An exchange with a client that is slow: after each write it says when it takes more. */
function slow(): Slow {
  const known = recorded();
  const sizes: number[] = [];
  let drained = (): void => {};
  const begin: Exchange["begin"] = () => ({
    write: (bytes) => {
      sizes.push(bytes.length);
      return false;
    },
    onDrain: (listener) => {
      drained = listener;
    },
    abort: () => {},
    end: () => {},
  });
  return { ...known, exchange: { ...known.exchange, begin }, sizes, drain: () => drained() };
}

const streaming = (take: EventStream["take"]): ApiResponse => ({
  kind: "stream",
  code: 200,
  contentType: "application/json",
  open: () => ({ take, close: () => {} }),
});

/** How many parts long tasks of the user of {@link recorded} do while something else goes on. */
async function partsMeanwhile(other: () => Promise<void> | undefined): Promise<number> {
  let [parts, isOver] = [0, false];
  function* work(): Work<void> {
    while (!isOver) {
      const start = performance.now();
      while (performance.now() - start < 10);
      parts += 1;
      yield;
    }
  }
  const tasks = inFlow({ level: "users", name: "user system:anonymous" }, () =>
    Promise.all(Array.from({ length: 30 }, () => inTurns(work()))),
  );
  const before = parts;
  await other();
  const during = parts - before;
  isOver = true;
  await tasks;
  return during;
}

test("what a stream does when its connection can take more is work of its user", async () => {
  const known = slow();
  let waited: Promise<void> | undefined;
  const taken = [[{ parts: () => [Buffer.from("x")], value: () => null }]];
  await serve(
    known,
    streaming(() => {
      if (taken.length === 0) waited = new Turns().next();
      return taken.pop() ?? [];
    }),
  );
  const parts = await partsMeanwhile(() => {
    known.drain();
    return waited;
  });
  assert.ok(parts >= 10, `waited for ${parts} other tasks of its user`);
  known.leave();
});

test("large events are made and written one after the other, as fast as the client takes them", async () => {
  const known = slow();
  let made = 0;
  const eventOf = (size: number): StreamEvent => ({
    parts: () => {
      made += 1;
      return [Buffer.alloc(size)];
    },
    value: () => null,
  });
  const taken = [[1000, 1000, 500_000, 500_000, 10].map(eventOf)];
  await serve(
    known,
    streaming(() => taken.pop() ?? []),
  );
  assert.deepEqual([known.sizes, made], [[502_000], 3]);
  known.drain();
  assert.deepEqual([known.sizes, made], [[502_000, 500_000], 4]);
  known.drain();
  assert.deepEqual([known.sizes, made], [[502_000, 500_000, 10], 5]);
  known.drain();
  assert.equal(known.sizes.length, 3);
  known.leave();
});
