// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { decode, encode, type JsonObject, type Resource, RunFunctionRequest, Struct } from "@purlin/function-protocol";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { type Effort, timeAll } from "../measure/timing.ts";
import { protobufEsSchema } from "./protobuf-es.ts";
import { contentsOf, toPlainJson, toRequest, visitStructs } from "./request.ts";
import { rotate } from "./rotate.ts";
import { createWorkload, type Workload } from "./workload.ts";

/** Different applications in turn, so that no codec is measured on strings it has just cached. */
const variants = 16;

/** Encoding and decoding a whole 32 KB request, beside JSON and protobuf-es on the same data. */
export function codecFigures(effort: Effort): Figure[] {
  const samples = Array.from({ length: variants }, (_, variant) => createSample(variant));
  const next = rotate(samples);
  const times = timeAll(
    {
      stringify: () => JSON.stringify(next().json),
      stringifyFrozen: () => JSON.stringify(next().frozen),
      encode: () => encodeAll(next()),
      encodeTheirs: () => toBinary(schema, next().theirs),
      parse: () => [JSON.parse(next().text)],
      decode: () => decodeAll(next(), (struct) => struct.value),
      decodeMutable: () => decodeAll(next(), (struct) => struct.toMutable()),
      decodeUnread: () => [decode(RunFunctionRequest, next().bytes)],
      decodeTheirs: () => [fromBinary(schema, next().bytes)],
    },
    effort,
  );
  const sizes = samples.map(({ bytes }) => bytes.length);
  return [
    figure("codec: size of a request", "bytes", sizes),
    figure("codec: JSON.stringify", "µs", times.stringify),
    figure("codec: JSON.parse", "µs", times.parse),
    figure("codec: encode ÷ JSON.stringify", "×", ratios(times.encode, times.stringify), atMost(2.5)),
    figure("codec: encode ÷ JSON.stringify of frozen objects", "×", ratios(times.encode, times.stringifyFrozen)),
    figure("codec: protobuf-es encode ÷ encode", "×", ratios(times.encodeTheirs, times.encode), atLeast(3)),
    figure("codec: decode and read all ÷ JSON.parse", "×", ratios(times.decode, times.parse), atMost(2)),
    figure("codec: decode to mutable copies ÷ JSON.parse", "×", ratios(times.decodeMutable, times.parse)),
    figure(
      "codec: protobuf-es decode ÷ decode and read all",
      "×",
      ratios(times.decodeTheirs, times.decode),
      atLeast(3),
    ),
    figure("codec: decode, no Struct read ÷ JSON.parse", "×", ratios(times.decodeUnread, times.parse), atMost(0.1)),
  ];
}

const schema = protobufEsSchema(RunFunctionRequest.typeName);

/** The same request in every form that a codec starts from. */
interface Sample {
  readonly json: JsonObject;
  readonly frozen: JsonObject;
  readonly text: string;
  readonly bytes: Buffer;
  readonly request: RunFunctionRequest;
  /** The resources of `request` and the objects to encode into them. */
  readonly contents: readonly { readonly resource: Resource; readonly object: JsonObject }[];
  readonly theirs: Message;
}

function createSample(variant: number): Sample {
  // Through text first, so that all contenders get objects of the shape JSON.parse makes, as from an API server.
  const workload = JSON.parse(JSON.stringify(createWorkload(variant))) as Workload;
  const json = toPlainJson(workload);
  const request = toRequest(workload);
  const bytes = encode(RunFunctionRequest, request);
  const theirs = fromBinary(schema, bytes);
  assert.deepEqual(Buffer.from(toBinary(schema, theirs)), bytes, "both codecs write the same bytes");
  const frozen = deepFreeze(structuredClone(json)) as JsonObject;
  return { json, frozen, text: JSON.stringify(json), bytes, request, contents: contentsOf(request, workload), theirs };
}

/** Every object becomes a Struct again, then the request becomes bytes: all that happens to objects never sent before. */
function encodeAll({ request, contents }: Sample): Buffer {
  for (const { resource, object } of contents) resource.resource = Struct.from(object);
  return encode(RunFunctionRequest, request);
}

function decodeAll({ bytes }: Sample, read: (struct: Struct) => JsonObject): RunFunctionRequest[] {
  const request = decode(RunFunctionRequest, bytes);
  visitStructs(request, read);
  return [request];
}

const atMost = (value: number) => ({ relation: "at most", value }) as const;
const atLeast = (value: number) => ({ relation: "at least", value }) as const;

function deepFreeze(value: unknown): unknown {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member);
    Object.freeze(value);
  }
  return value;
}
