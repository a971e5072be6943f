// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { createHash, hash } from "node:crypto";
import { isPartDone, type Work } from "@purlin/base";
import {
  create,
  encode,
  encodeCanonical,
  type Message,
  type MessageType,
  RunFunctionRequest,
  RunFunctionResponse,
  Struct,
} from "@purlin/function-protocol";
import { mapRequest, mapResponse, type StructVisit, visitRequest, visitResponse } from "../redact/map-structs.ts";
import { encodingCostOfRequest, encodingCostOfResponse } from "./bound-run.ts";

/** How an object is referred to: 32 hexadecimal digits of its hash. */
type PartRef = string;

const refDigits = 32;
const refMember = "\u0000ref";
/** Smaller objects stay in their message: to hash, look up and store one apart costs more than it saves. */
const leastPartBytes = 256;
/** Fields of a newer protocol are not recorded: their secrets cannot be found. */
const knownFields = { knownOnly: true } as const;

/** Objects with more bytes are a part of the work of their own. */
const largeBytes = 4096;
/** Bytes of the messages of a run without their objects. Of further ones only the tag is kept, as of a single one that costs more. */
const maxMessagesBytes: number = 4 * 2 ** 20;
const longestTag = 4096;

/** Cuts the objects out of messages. The objects of one run are collected; equal ones have one reference. */
export class RunCutter {
  readonly #known: WeakMap<Struct, CutPart>;
  readonly #digest = createHash("sha256");
  readonly parts: Map<PartRef, Struct> = new Map();
  readonly #isUnique: boolean;
  #bytes = 0;
  #messagesBytes = 0;

  /** References to objects that were cut before are found by identity. A unique run equals no other. */
  constructor(known: WeakMap<Struct, CutPart>, { isUnique }: { readonly isUnique: boolean }) {
    this.#known = known;
    this.#isUnique = isUnique;
  }

  object(struct: Struct): PartRef {
    return this.#cut(struct).ref;
  }

  *request(request: RunFunctionRequest): Work<string> {
    yield* this.#cutAll((visit) => visitRequest(request, visit));
    const cut = mapRequest(request, (struct) => this.#inMessage(struct));
    yield;
    const isKept = this.#hasRoom(yield* encodingCostOfRequest(cut));
    const kept = isKept ? cut : create(RunFunctionRequest, { meta: shortTag(request.meta) });
    return yield* this.#encode(RunFunctionRequest, kept);
  }

  *response(response: RunFunctionResponse): Work<string> {
    yield* this.#cutAll((visit) => visitResponse(response, visit));
    const cut = mapResponse(response, (struct) => this.#inMessage(struct));
    yield;
    const isKept = this.#hasRoom(yield* encodingCostOfResponse(cut));
    const kept = isKept ? cut : create(RunFunctionResponse, { meta: shortTag(response.meta) });
    return yield* this.#encode(RunFunctionResponse, kept);
  }

  /** Cuts the objects of a message one by one. */
  *#cutAll(visitAll: (visit: StructVisit) => void): Work<void> {
    const before = this.#bytes;
    const structs: Struct[] = [];
    visitAll((struct) => structs.push(struct));
    for (const struct of structs) {
      if (isPartDone() || struct.bytes.length > largeBytes) yield;
      this.#inMessage(struct);
    }
    this.#bytes = before;
  }

  /** A message is encoded at once, so what is too large is found before. */
  #hasRoom(cost: number): boolean {
    return this.#messagesBytes <= maxMessagesBytes && cost <= maxMessagesBytes;
  }

  /** The order of the members of maps is kept, and does not count in the digest of a run that may have been there before. */
  *#encode<T extends Message>(type: MessageType<T>, message: T): Work<string> {
    const bytes = encode(type, message, knownFields);
    this.#messagesBytes += bytes.length;
    if (bytes.length > largeBytes) yield;
    const canonical = this.#isUnique ? bytes : encodeCanonical(type, message, knownFields);
    if (bytes.length > largeBytes) yield;
    this.#digest.update(canonical);
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

/** What is kept of a message that is too large; not a tag without end. */
function shortTag<T extends { readonly tag: string }>(meta: T | undefined): T | undefined {
  return meta !== undefined && meta.tag.length > longestTag ? undefined : meta;
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
