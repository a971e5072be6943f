// SPDX-License-Identifier: Apache-2.0
// Messages of functions: HTTP/2 frames, the wire format, Struct, and protobuf-JSON.
import { isDeepStrictEqual } from "node:util";
import { systemClock } from "../../../packages/base/src/index.ts";
import {
  decode,
  encode,
  encodeCanonical,
  fromJson,
  isProtocolError,
  RunFunctionRequest,
  RunFunctionResponse,
  Struct,
  toJson,
} from "../../../packages/function-protocol/src/index.ts";
import { decodeStrictJson, decodeStruct } from "../../../packages/function-protocol/src/struct-decode.ts";
import { encodeStruct } from "../../../packages/function-protocol/src/struct-encode.ts";
import {
  createFrameLimit,
  createFrameReader,
  type FrameHeader,
} from "../../../packages/function-runner/src/dial/frame-guard.ts";
import { accepted, isRefusal, property, type Target } from "../engine/target.ts";

const object = {
  apiVersion: "v1",
  kind: "A",
  metadata: { name: "x", labels: { "a/b": "c" } },
  spec: { n: [1, -0.5, null] },
};
const request = encode(
  RunFunctionRequest,
  fromJson(RunFunctionRequest, {
    meta: { tag: "t" },
    observed: { composite: { resource: object }, resources: { a: { resource: object } } },
    desired: { composite: { resource: object } },
    input: { a: [true, "é"] },
    context: { "apiextensions.crossplane.io/environment": { a: 1 } },
  }),
);
const response = encode(
  RunFunctionResponse,
  fromJson(RunFunctionResponse, {
    meta: { tag: "t", ttl: "60s" },
    desired: { resources: { a: { resource: object, ready: "READY_TRUE" } } },
    results: [{ severity: "SEVERITY_FATAL", message: "m", target: "TARGET_COMPOSITE" }],
    requirements: { resources: { a: { apiVersion: "v1", kind: "A", matchLabels: { labels: { a: "b" } } } } },
  }),
);

/** A length-delimited field, many times. */
const repeated = (field: Uint8Array) => (count: number) => Buffer.concat(Array<Uint8Array>(count).fill(field));

function checkMessage(bytes: Buffer, type: typeof RunFunctionRequest | typeof RunFunctionResponse): void {
  const message = accepted(() => decode(type as typeof RunFunctionRequest, bytes), isProtocolError);
  if (message === undefined) return;
  const written = accepted(() => encodeCanonical(type as typeof RunFunctionRequest, message), isProtocolError);
  if (written === undefined) return;
  const again = encodeCanonical(type as typeof RunFunctionRequest, decode(type as typeof RunFunctionRequest, written));
  property(written.equals(again), "encode, decode and encode again gives other bytes");
  accepted(() => toJson(type as typeof RunFunctionRequest, message), isProtocolError);
}

export const functionMessages: Target = {
  covers: ["function-protocol"],
  dictionary: ["\x0a", "\x12", "\x1a", "\x08", "\x22", "\x01", "\u007f"],
  seeds: [request, response],
  growth: {
    results: repeated(Buffer.from("1a041a026869", "hex")),
    "unknown fields": repeated(Buffer.from("fa010161", "hex")),
  },
  run(input) {
    checkMessage(input, RunFunctionRequest);
    checkMessage(input, RunFunctionResponse);
  },
};

export const struct: Target = {
  covers: ["function-protocol"],
  dictionary: ["\x0a", "\x12", "\x1a", "\x2a", "\x32", "\x22", "\x08"],
  seeds: [encodeStruct(object), encodeStruct({ a: { b: [[], {}, "x"] } }), encodeStruct(JSON.parse('{"__proto__":1}'))],
  growth: {
    members: (count) => encodeStruct(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))),
  },
  run(input) {
    for (const mutability of ["frozen", "mutable"] as const) {
      accepted(() => decodeStruct(input, mutability), isProtocolError);
    }
    accepted(() => decodeStrictJson(input), isProtocolError);
    const lazy = accepted(() => Struct.fromBytes(input), isProtocolError);
    const value = lazy && accepted(() => lazy.value, isProtocolError);
    if (value === undefined) return;
    const written = accepted(() => encodeStruct(value, "sorted"), isProtocolError);
    if (written === undefined) return;
    property(
      encodeStruct(decodeStruct(written, "mutable"), "sorted").equals(written),
      "a Struct changes in a round trip",
    );
  },
};

export const functionJson: Target = {
  covers: ["function-protocol"],
  dictionary: [
    '"meta":',
    '"ttl":"1s"',
    '"resources":{',
    '"ready":',
    '"conditions":[',
    '"results":[',
    "1e9s",
    "{}",
    "[]",
    "null",
  ],
  seeds: [
    JSON.stringify(toJson(RunFunctionResponse, decode(RunFunctionResponse, response))),
    JSON.stringify(toJson(RunFunctionRequest, decode(RunFunctionRequest, request))),
  ],
  run(input) {
    const json = accepted(
      () => JSON.parse(input.toString()) as unknown,
      (error) => error instanceof SyntaxError,
    );
    if (json === undefined) return;
    for (const type of [RunFunctionRequest, RunFunctionResponse] as const) {
      const message = accepted(() => fromJson(type as typeof RunFunctionRequest, json), isProtocolError);
      if (message !== undefined) accepted(() => encode(type as typeof RunFunctionRequest, message), isProtocolError);
    }
  },
};

const http2Frame = (type: number, length: number, flags = 0): Buffer =>
  Buffer.from([0, length >> 8, length & 255, type, flags, 0, 0, 0, 1, ...Buffer.alloc(length)]);
const [dataFrame, headersFrame, settingsFrame] = [0, 1, 4];

/** What is read of the frames in some chunks, and whether a connection to a function would end. */
function readFrames(chunks: readonly Buffer[]): { readonly frames: readonly FrameHeader[]; readonly isEnded: boolean } {
  const frames: FrameHeader[] = [];
  const read = createFrameReader((frame) => frames.push(frame));
  const limit = createFrameLimit({ ...systemClock, now: () => 0 });
  let isEnded = false;
  for (const chunk of chunks) {
    read(chunk);
    const receive = (): boolean => {
      limit.received(chunk);
      return true;
    };
    if (!isEnded) isEnded = accepted(receive, isRefusal) === undefined;
  }
  return { frames, isEnded };
}

export const http2Frames: Target = {
  covers: ["function-runner/src/dial"],
  dictionary: ["\x00\x00\x01\x00\x00\x00\x00\x00\x01a", "\x00\x00\x00\x05", "\x00\x00\x00\x08", "\xff\xff\xff\x00"],
  seeds: [
    Buffer.concat([http2Frame(settingsFrame, 6), http2Frame(headersFrame, 20, 4), http2Frame(dataFrame, 300)]),
    Buffer.concat(Array.from({ length: 20 }, () => http2Frame(dataFrame, 1, 8))),
    http2Frame(5, 12),
  ],
  growth: { frames: (count) => Buffer.alloc(10 * count, http2Frame(dataFrame, 1)) },
  run(input) {
    const whole = readFrames([input]);
    // However a connection splits what was sent, the frames are the same.
    const single = readFrames(Array.from(input, (byte) => Buffer.of(byte)));
    property(isDeepStrictEqual(whole, single), "frames depend on how their bytes arrive");
    property(
      whole.isEnded || !whole.frames.some(({ type }) => type === 5),
      "a connection with a server push is not ended",
    );
  },
};
