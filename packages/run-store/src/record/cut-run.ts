// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { createHash, hash } from "node:crypto";
import {
  Condition,
  create,
  encode,
  encodeCanonical,
  type Message,
  type MessageType,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Struct,
} from "@purlin/function-protocol";
import { mapRequest, mapResponse, type StructChange, visitRequest, visitResponse } from "../redact/map-structs.ts";
import { omittedStruct } from "../redact/redact-object.ts";
import type { Mark } from "../redact/sensitive-fields.ts";
import type { CallRecord, RunRecord } from "./stored-run.ts";

/** How an object is referred to: 32 hexadecimal digits of its hash. */
type PartRef = string;

const refDigits = 32;
const refMember = "\u0000ref";
/** Smaller objects stay in their message: to hash, look up and store one apart costs more than it saves. */
const leastPartBytes = 256;

/** Cuts the objects out of messages. The objects of one run are collected; equal ones have one reference. */
export class RunCutter {
  readonly #known: WeakMap<Struct, CutPart>;
  readonly #digest = createHash("sha256");
  readonly parts: Map<PartRef, Struct> = new Map();
  readonly #isUnique: boolean;
  #bytes = 0;

  /** References to objects that were cut before are found by identity. A unique run equals no other. */
  constructor(known: WeakMap<Struct, CutPart>, { isUnique }: { readonly isUnique: boolean }) {
    this.#known = known;
    this.#isUnique = isUnique;
  }

  object(struct: Struct): PartRef {
    return this.#cut(struct).ref;
  }

  request(request: RunFunctionRequest): string {
    return this.#encode(
      RunFunctionRequest,
      mapRequest(request, (struct) => this.#inMessage(struct)),
    );
  }

  response(response: RunFunctionResponse): string {
    return this.#encode(
      RunFunctionResponse,
      mapResponse(response, (struct) => this.#inMessage(struct)),
    );
  }

  /** The order of the members of maps is kept, and does not count in the digest of a run that may have been there before. */
  #encode<T extends Message>(type: MessageType<T>, message: T): string {
    const bytes = encode(type, message);
    this.#digest.update(this.#isUnique ? bytes : encodeCanonical(type, message));
    return bytes.toString("base64");
  }

  /** The bytes of the objects since the last call. */
  takeBytes(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  /** Adds a text that distinguishes two runs. */
  add(text: string): void {
    this.#digest.update(`${text.length}:${text}`);
  }

  /** The same for equal runs. */
  digest(): Buffer {
    return this.#digest.digest();
  }

  /** What stands for an object in its message. An object that could be read as a reference is cut, whatever its size. */
  #inMessage(struct: Struct): Struct {
    if (struct.bytes.length >= leastPartBytes || hasRefMember(struct)) return this.#cut(struct).stub;
    this.#bytes += struct.bytes.length;
    return struct;
  }

  #cut(struct: Struct): CutPart {
    let part = this.#known.get(struct);
    if (part === undefined) {
      const ref = hash("sha256", struct.canonicalBytes, "hex").slice(0, refDigits);
      part = { ref, stub: Struct.from({ [refMember]: ref }) };
      this.#known.set(struct, part);
    }
    this.#bytes += struct.bytes.length;
    if (!this.parts.has(part.ref)) this.parts.set(part.ref, struct);
    return part;
  }
}

/** An object that was cut out. */
export interface CutPart {
  readonly ref: PartRef;
  /** What stands in its place. */
  readonly stub: Struct;
}

function hasRefMember({ bytes }: Struct): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(refMember);
}

/** The reference in a stub; undefined for any other object. */
export function refOf(struct: Struct): PartRef | undefined {
  const ref = struct.value[refMember];
  return typeof ref === "string" ? ref : undefined;
}

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
