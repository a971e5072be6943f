// SPDX-License-Identifier: Apache-2.0
// What a hostile function answers. The name of a composite resource says which of these it gets.
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import {
  Condition,
  create,
  Duration,
  encode,
  type JsonObject,
  MatchLabels,
  Requirements,
  Resource,
  ResourceSelector,
  ResponseMeta,
  Result,
  type RunFunctionRequest,
  RunFunctionResponse,
  SchemaSelector,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { WireAnswer } from "./answering-function.ts";

/** One attack, and its expected outcome. */
export interface Attack {
  readonly answer: (request: RunFunctionRequest) => WireAnswer;
  /** What the condition Synced says; undefined when the answer is honest enough to be used. */
  readonly refused?: RegExp;
}

const some = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const limit = (name: string): RegExp =>
  new RegExp(
    `^cannot compose resources: cannot run Composition pipeline step "hostile": cannot run Function "fn": rpc error: code = ResourceExhausted desc = .*\\(limit ${name}=\\d+\\): correct the function, or raise the limit with --function-limit`,
  );

/** The wire form, made once: making some of these takes seconds. */
function once(make: () => Partial<RunFunctionResponse>): Attack["answer"] {
  let message: Buffer | undefined;
  return () => {
    message ??= encode(RunFunctionResponse, create(RunFunctionResponse, make()));
    return { message };
  };
}

/** Bytes as they are. */
const raw = (make: () => Uint8Array): Attack["answer"] => {
  let message: Uint8Array | undefined;
  return () => {
    message ??= make();
    return { message };
  };
};

const map = (name: string, data: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
});
const resource = (object: JsonObject): Resource => create(Resource, { resource: Struct.from(object), ready: 1 });
const desired = (resources: Iterable<readonly [string, Resource]>): Partial<RunFunctionResponse> => ({
  desired: create(State, { resources: new Map(resources) }),
});
const status = (value: JsonObject): Partial<RunFunctionResponse> => ({
  desired: create(State, {
    composite: create(Resource, { resource: Struct.from({ status: { any: value } }), ready: 1 }),
  }),
});
const selector = (name: string): ResourceSelector =>
  create(ResourceSelector, {
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: "default",
    match: { case: "matchName", value: name },
  });
const requires = (count: number, prefix = "r"): Partial<RunFunctionResponse> => ({
  requirements: create(Requirements, {
    resources: new Map(some(count, (i) => [`${prefix}${i}`, selector(`none-${i}`)])),
  }),
});
const long = (megabytes: number): string => "x".repeat(megabytes * 2 ** 20);

/** Bytes as a field of another message. */
function field(number: number, bytes: Uint8Array): Buffer {
  const head = [number * 8 + 2];
  for (let rest = bytes.length; ; rest >>>= 7) {
    head.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
    if (rest < 0x80) return Buffer.concat([Buffer.from(head), bytes]);
  }
}

/** A Struct inside a Struct, again and again. Written by hand: no encoder goes so deep. */
function deep(levels: number): Buffer {
  let bytes: Buffer = Buffer.alloc(0);
  for (let level = 0; level < levels; level++)
    bytes = field(1, Buffer.concat([field(1, Buffer.from("a")), field(2, field(5, bytes))]));
  return bytes;
}

const flood = (hex: string, bytes: number): Buffer => Buffer.alloc(bytes, Buffer.from(hex, "hex"));

export const attacks: Readonly<Record<string, Attack>> = {
  // Counts.
  "resources-600000": {
    answer: once(() => desired(some(600_000, (i) => [`r${i}`, create(Resource)]))),
    refused: limit("resources"),
  },
  "requirements-20000": { answer: once(() => requires(20_000)), refused: limit("requirements") },
  "extra-requirements-20000": {
    answer: once(() => ({
      requirements: create(Requirements, {
        extraResources: new Map(some(20_000, (i) => [`r${i}`, selector(`x${i}`)])),
      }),
    })),
    refused: limit("requirements"),
  },
  "schemas-20000": {
    answer: once(() => ({
      requirements: create(Requirements, {
        schemas: new Map(
          some(20_000, (i) => [`s${i}`, create(SchemaSelector, { apiVersion: `g${i}.x/v1`, kind: "K" })]),
        ),
      }),
    })),
    refused: limit("requirements"),
  },
  "results-500000": {
    answer: once(() => ({ results: some(500_000, (i) => create(Result, { severity: 3, message: `m${i}` })) })),
    refused: limit("results"),
  },
  "conditions-300000": {
    answer: once(() => ({
      conditions: some(300_000, (i) => create(Condition, { type: `T${i}`, status: 2, reason: "R" })),
    })),
    refused: limit("conditions"),
  },
  "connection-details-200000": {
    answer: once(() =>
      desired([
        ["a", create(Resource, { connectionDetails: new Map(some(200_000, (i) => [`k${i}`, Buffer.from("v")])) })],
      ]),
    ),
    refused: /more than 1000 connection details of one resource/,
  },
  "labels-100000": {
    answer: once(() => {
      const value = create(MatchLabels, { labels: new Map(some(100_000, (i) => [`l${i}`, "v"])) });
      const wanted = create(ResourceSelector, {
        apiVersion: "v1",
        kind: "ConfigMap",
        match: { case: "matchLabels", value },
      });
      return { requirements: create(Requirements, { resources: new Map([["a", wanted]]) }) };
    }),
    refused: /more than 1000 labels in one selector/,
  },
  // Sizes.
  "status-30-mb": { answer: once(() => status({ text: long(30) })), refused: limit("objectBytes") },
  "resource-30-mb": {
    answer: once(() => desired([["a", resource(map("a", { text: long(30) }))]])),
    refused: limit("objectBytes"),
  },
  "context-60-mb": {
    answer: once(() => ({ context: Struct.from({ text: long(60) }) })),
    refused: limit("objectBytes"),
  },
  "output-30-mb": { answer: once(() => ({ output: Struct.from({ text: long(30) }) })), refused: limit("objectBytes") },
  "details-30-mb": {
    answer: once(() =>
      desired([["a", create(Resource, { connectionDetails: new Map([["a", Buffer.alloc(30 * 2 ** 20)]]) })]]),
    ),
    refused: limit("objectBytes"),
  },
  "status-2000000-values": {
    answer: once(() => status({ list: some(2_000_000, () => null) })),
    refused: limit("objectValues"),
  },
  "resource-300000-members": {
    answer: once(() => desired([["a", resource(map("a", Object.fromEntries(some(300_000, (i) => [`k${i}`, "v"]))))]])),
    refused: limit("objectValues"),
  },
  "answer-70-mb": { answer: once(() => ({ context: Struct.from({ text: long(70) }) })), refused: limit("answerBytes") },
  "gzip-bomb": {
    answer: () => ({ message: gzipSync(Buffer.alloc(256 * 2 ** 20)), encoding: "gzip" }),
    refused: limit("answerBytes"),
  },
  "status-5-mb": {
    answer: once(() => status({ text: long(5) })),
    refused: /^cannot compose resources: cannot apply composite resource status: .*(too large|limit)/i,
  },
  // Wire.
  "unknown-fields": { answer: raw(() => flood("980605", 60_000_000)), refused: /has more than \d+ fields/ },
  "empty-results": { answer: raw(() => flood("1a00", 60_000_000)), refused: limit("results") },
  "context-in-parts": { answer: raw(() => flood("2200", 60_000_000)), refused: /has more than \d+ fields/ },
  "states-in-parts": { answer: raw(() => flood("12020a00", 60_000_000)), refused: /has more than \d+ fields/ },
  "keys-in-one-entry": {
    answer: raw(() => field(2, field(2, flood("0a00", 60_000_000)))),
    refused: /has more than \d+ fields/,
  },
  "struct-of-unknown-fields": {
    answer: raw(() => field(4, flood("1800", 8_000_000))),
    refused: limit("objectValues"),
  },
  "deep-struct": { answer: raw(() => field(4, deep(20_000))), refused: /nested too deeply in context/ },
  "not-utf8": {
    answer: raw(() => field(2, field(2, field(1, Buffer.from([0xff, 0xfe]))))),
    refused: /not valid UTF-8/,
  },
  "half-a-field": { answer: raw(() => Buffer.from([0x12, 0x7f])), refused: /ends in the middle of a field/ },
  // Names.
  "name-with-newline": {
    answer: once(() => desired([["a\nSynced: True", resource(map("n"))]])),
    refused: /the name of a desired resource in the function's answer contains a control character: "a\\nSynced: True"/,
  },
  "name-with-escape": {
    answer: once(() => desired([["\u001b[2J\u001b]0;owned\u0007", resource(map("n"))]])),
    refused: /contains a control character: "\\u001b\[2J\\u001b\]0;owned\\u0007"/,
  },
  "name-of-a-megabyte": { answer: once(() => desired([[long(1), resource(map("n"))]])), refused: limit("nameLength") },
  "condition-type-of-a-megabyte": {
    answer: once(() => ({ conditions: [create(Condition, { type: long(1), status: 2, reason: "R" })] })),
    refused: limit("nameLength"),
  },
  "condition-reason-with-newline": {
    answer: once(() => ({ conditions: [create(Condition, { type: "T", status: 2, reason: "R\nX" })] })),
    refused: /the reason of a condition in the function's answer contains a control character/,
  },
  "same-object-5000-times": {
    answer: once(() => desired(some(5_000, (i) => [`r${i}`, resource(map("same"))]))),
    refused: /composed resources "r0" and "r1" are the same object/,
  },
  "no-kind": {
    answer: once(() => desired([["a", create(Resource)]])),
    refused: /cannot unmarshal desired composed resource "a"/,
  },
  "no-name": { answer: once(() => desired([["", resource(map("n"))]])), refused: /without a name/ },
  // Requirements.
  "always-more": {
    answer: (request) => ({
      message: encode(
        RunFunctionResponse,
        create(RunFunctionResponse, requires(10 + request.requiredResources.size * 2, "x")),
      ),
    }),
    refused: /requirements didn't stabilize after the maximum number of iterations \(5\)/,
  },
  "selects-too-many": {
    answer: once(() => ({
      requirements: create(Requirements, {
        resources: new Map([["all", create(ResourceSelector, { apiVersion: "v1", kind: "ConfigMap" })]]),
      }),
    })),
    refused:
      /the selector selects more than 100 objects \(limit selectedObjects=100\): select fewer by labels, name or namespace/,
  },
  "unserved-kinds": {
    answer: once(() => ({
      requirements: create(Requirements, {
        resources: new Map(
          some(4_000, (i) => [`r${i}`, create(ResourceSelector, { apiVersion: `g${i}.x/v1`, kind: "K" })]),
        ),
      }),
    })),
    refused: /no matches for kind "K" in version "g0\.x\/v1"/,
  },
  "kind-with-a-path": {
    answer: once(() => ({
      requirements: create(Requirements, {
        resources: new Map([["a", create(ResourceSelector, { apiVersion: "v1?x=/..#", kind: "K" })]]),
      }),
    })),
    refused: /fetching resources for a: no matches for kind "K" in version/,
  },
  // Texts.
  "fatal-of-30-mb": {
    answer: once(() => ({ results: [create(Result, { severity: 1, message: long(30) })] })),
    refused: /^cannot compose resources: pipeline step "hostile" returned a fatal result: x+…$/,
  },
  "conditions-of-32-mb": {
    answer: once(() => ({
      conditions: some(1_000, (i) =>
        create(Condition, { type: `T${i}`, status: 2, reason: "R", message: "x".repeat(40_000) }),
      ),
    })),
    refused: limit("objectBytes"),
  },
  "grpc-message-with-escapes": {
    answer: () => ({
      message: new Uint8Array(0),
      trailers: { "grpc-status": "13", "grpc-message": "no%0Aerror: forged%1B[2J%07%00%C2%9B31m" },
    }),
    refused: /desc = no error: forged\\u001b\[2J\\u0007\\u0000\\u009b31m$/,
  },
  "huge-trailers": {
    answer: () => ({
      message: new Uint8Array(0),
      trailers: {
        "grpc-status": "13",
        "grpc-message": "y".repeat(60_000),
        ...Object.fromEntries(some(200, (i) => [`x-${i}`, "z".repeat(2_000)])),
      },
    }),
    refused: /cannot run Function "fn": rpc error: code = /,
  },
  "huge-headers": {
    answer: () => ({
      message: new Uint8Array(0),
      headers: Object.fromEntries(some(200, (i) => [`x-${i}`, "z".repeat(2_000)])),
    }),
    refused: /cannot run Function "fn": rpc error: code = /,
  },
  // As large as it may be, and used.
  "honest-requirements-5000": { answer: once(() => requires(5_000)) },
  "honest-results-10000": {
    answer: once(() => ({
      results: some(10_000, (i) => create(Result, { severity: 2, message: `m${i} ${"x".repeat(500)}` })),
    })),
  },
  "honest-conditions-1000": {
    answer: once(() => ({
      conditions: some(1_000, (i) => create(Condition, { type: `T${i}`, status: 2, reason: "R" })),
    })),
  },
  "honest-resources-500": {
    answer: once(() => desired(some(500, (i) => [`r${i}`, resource(map(`honest-${i}`, { i: String(i) }))]))),
  },
  "honest-status-50000-values": {
    answer: once(() => status({ list: some(1_000, (i) => ({ i, values: some(48, () => 1) })) })),
  },
  "long-message": {
    answer: once(() => ({
      conditions: [create(Condition, { type: "Long", status: 2, reason: "R", message: long(10) })],
    })),
  },
  "odd-values": {
    answer: raw(() => {
      const number = (value: number): Buffer => {
        const bytes = Buffer.alloc(9, 0x11);
        bytes.writeDoubleLE(value, 1);
        return bytes;
      };
      const member = (name: string, value: Buffer): Buffer =>
        field(1, Buffer.concat([field(1, Buffer.from(name)), field(2, value)]));
      const odd = [
        member("nan", number(Number.NaN)),
        member("inf", number(Number.POSITIVE_INFINITY)),
        member("twice", number(1)),
      ];
      const polluting = field(5, member("polluted", number(1)));
      const inner = Buffer.concat([
        ...odd,
        member("__proto__", polluting),
        member("constructor", polluting),
        member("twice", number(2)),
      ]);
      return field(2, Buffer.concat([field(1, field(1, member("status", field(5, member("any", field(5, inner))))))]));
    }),
  },
  drip: {
    answer: () => ({
      message: encode(RunFunctionResponse, create(RunFunctionResponse, desired([["a", resource(map("dripped"))]]))),
      pieces: 40,
    }),
  },
  "ttl-of-a-millisecond": {
    answer: once(() => ({ meta: create(ResponseMeta, { ttl: create(Duration, { nanos: 1_000_000 }) }) })),
  },
  "ttl-of-an-age": {
    answer: once(() => ({ meta: create(ResponseMeta, { ttl: create(Duration, { seconds: 2n ** 62n }) }) })),
  },
  "ttl-in-the-past": {
    answer: once(() => ({
      meta: create(ResponseMeta, { ttl: create(Duration, { seconds: -(2n ** 62n), nanos: -1 }) }),
    })),
  },
};
