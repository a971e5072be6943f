// SPDX-License-Identifier: Apache-2.0

import type { Struct } from "@purlin/function-protocol";
import { mapRequest, mapResponse, type StructChange, visitRequest, visitResponse } from "../redact/map-structs.ts";
import type { Mark } from "../redact/marks.ts";
import { omittedStruct } from "../redact/redact-object.ts";
import type { CallRecord } from "./run-record.ts";

const largeObjectBytes = 4096;

/** The bytes of the objects of a call. */
export function callBytes(call: CallRecord): number {
  const { request, response } = bytesOf(call);
  return request + response;
}

/** A call in which the large objects of each message with more bytes than the limit are omitted. */
export function boundCall(call: CallRecord, limit: number, mark: Mark): CallRecord {
  const bytes = bytesOf(call);
  if (bytes.request <= limit && bytes.response <= limit) return call;
  const omit: StructChange = (struct) =>
    struct.bytes.length <= largeObjectBytes ? struct : omittedStruct(struct, mark);
  const { request, response } = call;
  return {
    request: bytes.request <= limit ? request : mapRequest(request, omit),
    response: response === undefined || bytes.response <= limit ? response : mapResponse(response, omit),
  };
}

function bytesOf({ request, response }: CallRecord): { readonly request: number; readonly response: number } {
  let bytes = 0;
  const count = (struct: Struct): void => {
    bytes += struct.bytes.length;
  };
  visitRequest(request, count);
  const asked = bytes;
  if (response !== undefined) visitResponse(response, count);
  return { request: asked, response: bytes - asked };
}
