// SPDX-License-Identifier: Apache-2.0
import type { Resources, RunFunctionRequest, RunFunctionResponse, State, Struct } from "@purlin/function-protocol";

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
