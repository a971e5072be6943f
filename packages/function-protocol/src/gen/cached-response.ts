// SPDX-License-Identifier: Apache-2.0
// Generated from purlin/cache/v1/cached_response.proto by `npm run generate`. Do not edit.
import { type Message, type MessageType, messageType } from "../descriptor.ts";
import { Timestamp } from "./timestamp.ts";
import { RunFunctionResponse } from "./run-function.ts";

/** A function's answer kept on disk. */
export interface CachedResponse extends Message {
  deadline?: Timestamp | undefined;
  response?: RunFunctionResponse | undefined;
}
export const CachedResponse: MessageType<CachedResponse> = messageType<CachedResponse>("purlin.cache.v1.CachedResponse", [
  { number: 1, name: "deadline", protoName: "deadline", cardinality: "optional", value: { kind: "message", message: () => Timestamp } },
  { number: 2, name: "response", protoName: "response", cardinality: "optional", value: { kind: "message", message: () => RunFunctionResponse } },
]);
