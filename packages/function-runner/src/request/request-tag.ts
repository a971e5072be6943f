// SPDX-License-Identifier: Apache-2.0
import { createHash, hash } from "node:crypto";
import { Turns } from "@purlin/base";
import {
  encodeCanonical,
  type Resources,
  RunFunctionRequest,
  type RunFunctionResponse,
  type State,
  type Struct,
} from "@purlin/function-protocol";

/** Requests of up to so many bytes are hashed at once; larger ones in parts of this size. */
const atOnceBytes = 512 * 1024;

/** Identifies what a request says, whatever the order of its maps. Its meta does not count. */
export function requestTag(request: RunFunctionRequest): string {
  return hash("sha256", contentOf(request), "hex");
}

function contentOf(request: RunFunctionRequest): Uint8Array {
  return encodeCanonical(RunFunctionRequest, { ...request, meta: undefined });
}

/** As {@link requestTag}, in parts that let other work run. */
export async function requestTagInTurns(request: RunFunctionRequest): Promise<string> {
  const turns = new Turns();
  for (const struct of structsOf(request)) {
    if (!isSorted(struct)) break;
    if (turns.isOver) await turns.next();
  }
  const bytes = contentOf(request);
  return bytes.length <= atOnceBytes ? hash("sha256", bytes, "hex") : hashInTurns(bytes, turns);
}

/** A Struct remembers its sorted bytes, so that all that is left in the end is to put them together. One that cannot be read fails then. */
function isSorted(struct: Struct | undefined): boolean {
  try {
    void struct?.canonicalBytes;
    return true;
  } catch {
    return false;
  }
}

async function hashInTurns(bytes: Uint8Array, turns: Turns): Promise<string> {
  const sum = createHash("sha256");
  for (let at = 0; at < bytes.length; at += atOnceBytes) {
    sum.update(bytes.subarray(at, at + atOnceBytes));
    if (turns.isOver) await turns.next();
  }
  return sum.digest("hex");
}

/** The parts of requests and responses that hold objects. */
export type ObjectHolder = Partial<Omit<RunFunctionRequest, "meta"> & Pick<RunFunctionResponse, "output">>;

/** All objects of a request or response. */
export function* structsOf(message: ObjectHolder): Generator<Struct | undefined> {
  const { observed, desired, input, context, output, requiredResources, extraResources, requiredSchemas } = message;
  yield* structsIn(observed);
  yield* structsIn(desired);
  yield input;
  yield context;
  yield output;
  yield* structsInAll(requiredResources);
  yield* structsInAll(extraResources);
  for (const { openapiV3 } of requiredSchemas?.values() ?? []) yield openapiV3;
}

function* structsIn(state: State | undefined): Generator<Struct | undefined> {
  yield state?.composite?.resource;
  for (const { resource } of state?.resources.values() ?? []) yield resource;
}

function* structsInAll(required: ReadonlyMap<string, Resources> | undefined): Generator<Struct | undefined> {
  for (const { items } of required?.values() ?? []) for (const { resource } of items) yield resource;
}
