// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  create,
  decode,
  encode,
  type Resource,
  ResponseMeta,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  State,
  Struct,
} from "@purlin/function-protocol";
import { newLogger } from "../logging/new-logger.ts";
import { resourceMessage } from "../resource/resource-message.ts";
import * as response from "../response.ts";
import { newRequest } from "../testing/new-request.ts";
import { CallError, type CallOrigin, createFunctionCall, type OnHandlerError } from "./function-call.ts";
import type { CallContext, RunFunction } from "./serve-options.ts";

interface Setup {
  readonly run: RunFunction;
  readonly onHandlerError?: OnHandlerError;
  readonly origin?: Partial<CallOrigin>;
}

function prepare({ run, onHandlerError = "fatal", origin = {} }: Setup) {
  const lines: string[] = [];
  const log = newLogger({ write: (line) => lines.push(line) });
  const settings = { log, ttl: 60_000, ttlDuration: { seconds: 60n, nanos: 0 }, onHandlerError };
  const call = createFunctionCall(run, settings);
  const from: CallOrigin = { protocol: "v1", deadline: () => undefined, onCancel: () => {}, ...origin };
  const send = async (req: RunFunctionRequest): Promise<RunFunctionResponse> =>
    decode(RunFunctionResponse, await call(encode(RunFunctionRequest, req), from));
  return { call, send, lines, from };
}

const boom = new Error("boom", { cause: new Error("because") });

const failures: Record<string, { reason: string; run: RunFunction; text: RegExp }> = {
  "C35 Throws": {
    reason: "a handler that throws",
    run: () => {
      throw boom;
    },
    text: /^boom: because$/,
  },
  "C35 Rejects": { reason: "a handler that rejects", run: () => Promise.reject(boom), text: /^boom: because$/ },
  ThrowsText: {
    reason: "anything can be thrown",
    run: () => {
      throw "just text";
    },
    text: /^just text$/,
  },
  NothingReturned: {
    reason: "JavaScript lets an author forget to return",
    run: (() => undefined) as unknown as RunFunction,
    text: /returned no response/,
  },
  NothingResolved: {
    reason: "also in an async handler",
    run: (async () => undefined) as unknown as RunFunction,
    text: /returned no response/,
  },
  NumberReturned: {
    reason: "a number is not an empty response",
    run: (() => 5) as unknown as RunFunction,
    text: /returned no response/,
  },
  ListReturned: {
    reason: "nor is a list",
    run: (() => []) as unknown as RunFunction,
    text: /returned no response/,
  },
  OtherObjectReturned: {
    reason: "nor is an object with nothing of a response",
    run: (async () => ({ statusCode: 200 })) as unknown as RunFunction,
    text: /returned no response/,
  },
  PlainObject: {
    reason: "an object in place of a Struct is reported with its field",
    run: (req) => {
      const rsp = response.to(req);
      rsp.desired?.resources.set("x", { resource: { kind: "A" } } as unknown as Resource);
      return rsp;
    },
    text: /^RunFunctionResponse\.desired: State\.resources: Resource\.resource: expected a Struct, as Struct\.from\(object\) makes it, not a value of type object$/,
  },
  RefusingStack: {
    reason: "an error whose stack cannot be read",
    run: () => {
      const refuse = (): never => {
        throw new Error("no");
      };
      throw Object.defineProperty(new Error("reported all the same"), "stack", { get: refuse });
    },
    text: /^reported all the same$/,
  },
  Unencodable: {
    reason: "a response that cannot be sent is the function's failure, not the transport's",
    run: (req) => {
      const rsp = response.to(req);
      rsp.results.push(create(Result, { message: "half a pair: \ud800" }));
      return rsp;
    },
    text: /^RunFunctionResponse\.results: .*surrogate/,
  },
  BrokenStruct: {
    reason: "a malformed object shows when the handler reads it",
    run: (req) => {
      void req.input?.value;
      return response.to(req);
    },
    text: /./,
  },
};

for (const [name, { reason, run, text }] of Object.entries(failures)) {
  test(`a failing handler becomes a FATAL result: ${name}`, async () => {
    const { send, lines } = prepare({ run });
    const req = newRequest({ tag: "tag-1", desired: { a: { kind: "A" } } });
    req.input = Struct.fromBytes(Uint8Array.of(0xff, 0xff));
    const rsp = await send(req);
    assert.equal(rsp.meta?.tag, "tag-1", reason);
    assert.equal(rsp.meta?.ttl?.seconds, 60n);
    assert.deepEqual([...(rsp.desired?.resources.keys() ?? [])], ["a"]);
    assert.equal(rsp.results.length, 1);
    assert.equal(rsp.results[0]?.severity, Severity.SEVERITY_FATAL);
    assert.match(rsp.results[0]?.message ?? "", text);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /"level":"error".*"tag":"tag-1"/);
  });

  test(`a failing handler fails the call when asked to: ${name}`, async () => {
    const { call, from } = prepare({ run, onHandlerError: "status" });
    const req = newRequest();
    req.input = Struct.fromBytes(Uint8Array.of(0xff, 0xff));
    await assert.rejects(
      async () => call(encode(RunFunctionRequest, req), from),
      (error: unknown) => error instanceof CallError && error.status === "UNKNOWN" && text.test(error.message),
    );
  });
}

const unreadable: Record<string, { bytes: string; text: RegExp }> = {
  Garbage: { bytes: "ffffffff", text: /^cannot read the request: / },
  Truncated: { bytes: "0a05", text: /^cannot read the request: RunFunctionRequest\.meta/ },
  "C18 NotUtf8": { bytes: "0a040a02fffe", text: /^cannot read the request: .*RequestMeta\.tag/ },
};

for (const [name, { bytes, text }] of Object.entries(unreadable)) {
  test(`a request that cannot be read fails the call: ${name}`, async () => {
    const { call, from } = prepare({ run: (req) => response.to(req) });
    await assert.rejects(
      async () => call(Buffer.from(bytes, "hex"), from),
      (error: unknown) => error instanceof CallError && error.status === "INTERNAL" && text.test(error.message),
    );
  });
}

test("no Struct is decoded but by the handler: broken ones pass through a function that does not look", async () => {
  const broken = Struct.fromBytes(Uint8Array.of(0xff, 0xff, 0x01));
  const req = create(RunFunctionRequest, {
    observed: create(State, { composite: resourceMessage(broken) }),
    desired: create(State, { resources: new Map([["a", resourceMessage(broken)]]) }),
    context: broken,
  });
  const { send } = prepare({ run: (one, ctx) => ctx.to(one) });
  const rsp = await send(req);
  assert.deepEqual(Buffer.from(rsp.desired?.resources.get("a")?.resource?.bytes ?? []), Buffer.from(broken.bytes));
  assert.deepEqual(Buffer.from(rsp.context?.bytes ?? []), Buffer.from(broken.bytes));
});

test("a handler that makes no promise is answered without one", () => {
  const { call, from } = prepare({ run: (req, ctx) => ctx.to(req) });
  assert.ok(call(encode(RunFunctionRequest, newRequest()), from) instanceof Buffer);
});

test("a thenable of another library is awaited", async () => {
  const run = ((req: RunFunctionRequest) => ({
    // biome-ignore lint/suspicious/noThenProperty: the point of this test.
    then: (done: (rsp: RunFunctionResponse) => unknown) => void done(response.to(req)),
  })) as unknown as RunFunction;
  assert.equal((await prepare({ run }).send(newRequest({ tag: "t" }))).meta?.tag, "t");
});

test("a missing tag is put in, in a copy; another one is left and complained about", async () => {
  const shared = create(RunFunctionResponse);
  const forgetful = prepare({ run: () => shared });
  assert.equal((await forgetful.send(newRequest({ tag: "one" }))).meta?.tag, "one");
  assert.equal((await forgetful.send(newRequest({ tag: "two" }))).meta?.tag, "two");
  assert.equal(shared.meta, undefined, "a response the handler keeps is not changed");
  assert.deepEqual(forgetful.lines, []);

  const kept = prepare({
    run: () => create(RunFunctionResponse, { meta: create(ResponseMeta, { ttl: { seconds: 5n, nanos: 0 } }) }),
  });
  const fixed = await kept.send(newRequest({ tag: "one" }));
  assert.deepEqual([fixed.meta?.tag, fixed.meta?.ttl?.seconds], ["one", 5n]);

  const wrong = prepare({ run: () => create(RunFunctionResponse, { meta: create(ResponseMeta, { tag: "mine" }) }) });
  assert.equal((await wrong.send(newRequest({ tag: "one" }))).meta?.tag, "mine");
  assert.match(wrong.lines[0] ?? "", /"tag":"one","answered":"mine"/);
});

test("the context of a call: protocol, deadline, TTL, logger with the tag", async () => {
  const deadline = new Date(5);
  let seen: CallContext | undefined;
  const { send, lines } = prepare({
    run: (req, ctx) => {
      seen = ctx;
      ctx.log.info("hello", { a: 1 });
      return ctx.to(req);
    },
    origin: { protocol: "v1beta1", deadline: () => deadline },
  });
  const rsp = await send(newRequest({ tag: "t" }));
  assert.deepEqual([seen?.protocol, seen?.deadline, seen?.ttl], ["v1beta1", deadline, 60_000]);
  assert.equal(rsp.meta?.ttl?.seconds, 60n);
  assert.match(lines[0] ?? "", /"msg":"hello","tag":"t","a":1/);
});

test("log lines of a call name its composite resource", async () => {
  const { send, lines } = prepare({
    run: (req, ctx) => {
      ctx.log.info("hello");
      return ctx.to(req);
    },
  });
  const xr = { apiVersion: "example.org/v1", kind: "App", metadata: { name: "shop", namespace: "team" } };
  await send(newRequest({ tag: "t", xr }));
  assert.match(lines[0] ?? "", /"msg":"hello","tag":"t","xr":"App\/shop","namespace":"team"\}/);
});

test("the signal is made when asked for, aborts when the caller gives up, and not once the call is answered", async () => {
  const listeners: (() => void)[] = [];
  const signals: AbortSignal[] = [];
  const { send } = prepare({
    run: (req, ctx) => {
      if (req.input !== undefined) signals.push(ctx.signal, ctx.signal);
      if (req.input?.value["cancel"] === true) for (const listener of listeners.splice(0)) listener();
      return ctx.to(req);
    },
    origin: { onCancel: (listener) => listeners.push(listener) },
  });
  await send(newRequest());
  assert.equal(listeners.length, 0, "no listener unless the signal is used");
  await send(newRequest({ input: { cancel: true } }));
  assert.equal(signals[0], signals[1]);
  assert.equal(signals[0]?.aborted, true);
  assert.equal((signals[0]?.reason as Error | undefined)?.name, "AbortError");
  await send(newRequest({ input: {} }));
  for (const listener of listeners) listener();
  assert.equal(signals[2]?.aborted, false, "the transport closes an answered call in the same way");
});
