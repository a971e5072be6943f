// SPDX-License-Identifier: Apache-2.0
// Generated from purlin/cache/v1/cached_response.proto by `npm run generate`. Do not edit.
import { type Message, type MessageType, messageType } from "../descriptor.ts";
import { Timestamp } from "./timestamp.ts";
import { RunFunctionResponse } from "./run-function.ts";

/** A function's answer kept on disk. */
export interface CachedResponse extends Message {
  deadline?: Timestamp | undefined;
  response?: RunFunctionResponse | undefined;
  /** Digests of the schemas that the function got because it required them, by the name of the requirement. Empty bytes stand for "there is no such kind". */
  schemas: Map<string, Uint8Array>;
}
export const CachedResponse: MessageType<CachedResponse> = messageType<CachedResponse>("purlin.cache.v1.CachedResponse", [
  { number: 1, name: "deadline", protoName: "deadline", cardinality: "optional", value: { kind: "message", message: () => Timestamp } },
  { number: 2, name: "response", protoName: "response", cardinality: "optional", value: { kind: "message", message: () => RunFunctionResponse } },
  { number: 3, name: "schemas", protoName: "schemas", cardinality: "map", value: { kind: "scalar", scalar: "bytes" } },
]);
