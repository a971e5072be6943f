// SPDX-License-Identifier: Apache-2.0

import { Condition, create, Result, type RunFunctionResponse, type Struct } from "@purlin/function-protocol";
import { mapRequest, mapResponse, type StructChange, visitRequest, visitResponse } from "../redact/map-structs.ts";
import type { Mark } from "../redact/marks.ts";
import { omittedStruct } from "../redact/redact-object.ts";
import type { CallRecord, RunRecord } from "./run-record.ts";

const largeObjectBytes = 4096;
const largeTextLength = 4096;
const mostTexts = 100;
/**
 * A message with more bytes is kept without its large objects and texts: what is kept is redacted, hashed and compressed between
 * reconciles, and two MiB of it take a tenth of a second.
 */
const maxMessageBytes: number = 2 * 2 ** 20;

/** A run in which messages that are too large are kept without their large parts. The run itself unless one is. */
export function boundRun(run: RunRecord, mark: Mark): RunRecord {
  const isLarge = ({ request, response }: { readonly request: number; readonly response: number }): boolean =>
    request > maxMessageBytes || response > maxMessageBytes;
  if (!run.steps.some(({ calls }) => calls.some((call) => isLarge(bytesOf(call))))) return run;
  const steps = run.steps.map((step) => ({
    ...step,
    calls: step.calls.map((call) => boundCall(call, maxMessageBytes, mark)),
  }));
  return { ...run, steps };
}

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
    response:
      response === undefined || bytes.response <= limit ? response : withShortTexts(mapResponse(response, omit)),
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
  return { request: asked, response: bytes - asked + (response === undefined ? 0 : textLength(response)) };
}

function textLength({ results, conditions }: RunFunctionResponse): number {
  const lengths = [...results, ...conditions].map(({ message = "", reason = "" }) => message.length + reason.length);
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** The first results and conditions, with the beginnings of long texts. */
function withShortTexts(response: RunFunctionResponse): RunFunctionResponse {
  const short = (text: string): string =>
    text.length <= largeTextLength ? text : `${text.slice(0, largeTextLength)}… (${text.length} characters)`;
  const texts = <T extends { readonly message?: string | undefined; readonly reason?: string | undefined }>(
    one: T,
  ) => ({
    ...one,
    ...(one.message !== undefined && { message: short(one.message) }),
    ...(one.reason !== undefined && { reason: short(one.reason) }),
  });
  return {
    ...response,
    results: response.results.slice(0, mostTexts).map((result) => create(Result, texts(result))),
    conditions: response.conditions.slice(0, mostTexts).map((condition) => create(Condition, texts(condition))),
  };
}
