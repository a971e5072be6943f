// SPDX-License-Identifier: Apache-2.0

import type { Buffer } from "node:buffer";
import { createHash, hash } from "node:crypto";
import { encode, encodeCanonical, RunFunctionRequest, RunFunctionResponse, Struct } from "@purlin/function-protocol";
import { mapRequest, mapResponse } from "../redact/map-structs.ts";

/** How an object is referred to: 32 hexadecimal digits of its hash. */
type PartRef = string;

const refDigits = 32;
const refMember = "\u0000ref";

/** Cuts the objects out of messages. The objects of one run are collected; equal ones have one reference. */
export class RunCutter {
  readonly #known: WeakMap<Struct, CutPart>;
  readonly #digest = createHash("sha256");
  readonly parts: Map<PartRef, Struct> = new Map();
  #bytes = 0;

  /** References to objects that were cut before are found by identity. */
  constructor(known: WeakMap<Struct, CutPart>) {
    this.#known = known;
  }

  object(struct: Struct): PartRef {
    return this.#cut(struct).ref;
  }

  request(request: RunFunctionRequest): string {
    const cut = mapRequest(request, (struct) => this.#cut(struct).stub);
    this.#digest.update(encodeCanonical(RunFunctionRequest, cut));
    return encode(RunFunctionRequest, cut).toString("base64");
  }

  response(response: RunFunctionResponse): string {
    const cut = mapResponse(response, (struct) => this.#cut(struct).stub);
    this.#digest.update(encodeCanonical(RunFunctionResponse, cut));
    return encode(RunFunctionResponse, cut).toString("base64");
  }

  /** The bytes of the objects since the last call. */
  takeBytes(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  /** Adds a text that tells two runs apart. */
  add(text: string): void {
    this.#digest.update(`${text.length}:${text}`);
  }

  /** The same for equal runs. */
  digest(): Buffer {
    return this.#digest.digest();
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

/** The reference in a stub; undefined for any other object. */
export function refOf(struct: Struct): PartRef | undefined {
  const ref = struct.value[refMember];
  return typeof ref === "string" ? ref : undefined;
}
