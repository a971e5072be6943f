// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import {
  decode,
  type JsonObject,
  type JsonValue,
  Ready,
  RunFunctionRequest,
  RunFunctionResponse,
  type State,
  Struct,
  toJson,
} from "@purlin/function-protocol";
import { refOf } from "../record/cut-run.ts";
import { isStoredRun, type StoredRun, type StoredStep } from "../record/stored-run.ts";
import { mapRequest, mapResponse, visitRequest, visitResponse } from "../redact/map-structs.ts";
import { omittedBytes } from "../redact/redact-object.ts";
import type { RunDocument } from "../store/run-reader.ts";

/** A call with its messages. */
interface RunCallMessages {
  readonly request: RunFunctionRequest;
  readonly response?: RunFunctionResponse | undefined;
}

/** A step with its messages. */
export interface RunStepMessages extends Omit<StoredStep, "calls"> {
  readonly calls: readonly RunCallMessages[];
}

/** A run with its messages. */
export interface Run extends Omit<StoredRun, "steps" | "composite" | "revision" | "parts"> {
  readonly steps: readonly RunStepMessages[];
  readonly composite: JsonObject;
  readonly revision?: JsonObject | undefined;
  readonly repeats: number;
  readonly last: string;
}

const missing = Struct.from({});

/** Puts the objects back into the messages of a run. Throws when the document, which may come from elsewhere, is not one. */
export function inflateRun({ run, repeats, last, parts }: RunDocument): Run {
  if (!isStoredRun(run)) throw new Error("the document is not that of a run");
  const structs = new Map(
    Object.entries(parts).map(([ref, text]) => [ref, Struct.fromBytes(Buffer.from(text, "base64"))]),
  );
  const find = (ref: string): Struct => structs.get(ref) ?? missing;
  const whole = (struct: Struct): Struct => {
    const ref = refOf(struct);
    return ref === undefined ? struct : find(ref);
  };
  const { steps, composite, revision, parts: _, ...facts } = run;
  return {
    ...facts,
    repeats,
    last,
    composite: find(composite).value,
    revision: revision === undefined ? undefined : find(revision).value,
    steps: steps.map((step) => ({
      ...step,
      calls: step.calls.map(({ request, response }) => ({
        request: mapRequest(decode(RunFunctionRequest, Buffer.from(request, "base64")), whole),
        response:
          response === undefined
            ? undefined
            : mapResponse(decode(RunFunctionResponse, Buffer.from(response, "base64")), whole),
      })),
    })),
  };
}

/** The last call of a step, which has everything that the function required. */
export function lastCall({ calls }: RunStepMessages): RunCallMessages | undefined {
  return calls.at(-1);
}

/** A request as protobuf-JSON. */
export function requestJson(request: RunFunctionRequest): JsonValue {
  return toJson(RunFunctionRequest, mapRequest(request, readable)) as JsonValue;
}

/** A response as protobuf-JSON. */
export function responseJson(response: RunFunctionResponse): JsonValue {
  return toJson(RunFunctionResponse, mapResponse(response, readable)) as JsonValue;
}

/** An object that was not kept is shown as a text that says so. */
function readable(struct: Struct): Struct {
  const bytes = omittedBytes(struct.value);
  return bytes === undefined ? struct : Struct.from({ omitted: omittedText(bytes) });
}

function omittedText(bytes: number): string {
  return `not kept: ${bytes} bytes`;
}

/** What a state wants of each resource, by name; the composite resource is `(composite)`. */
export function desiredObjects(state: State | undefined): ReadonlyMap<string, JsonObject> {
  const objects = new Map<string, JsonObject>();
  const { composite, resources = new Map() } = state ?? {};
  if (composite?.resource !== undefined) objects.set(compositeName, viewOf(composite.resource, composite.ready));
  for (const [name, { resource, ready }] of resources) {
    if (resource !== undefined) objects.set(name, viewOf(resource, ready));
  }
  return objects;
}

/** The name of the composite resource among the resources of a step. */
export const compositeName = "(composite)";

function viewOf(struct: Struct, ready: Ready): JsonObject {
  const object = readable(struct).value;
  return ready === Ready.READY_UNSPECIFIED ? object : { ...object, "(ready)": ready === Ready.READY_TRUE };
}

/** How many objects of a call were not kept, and their size. */
export function omittedIn({ request, response }: RunCallMessages): {
  readonly objects: number;
  readonly bytes: number;
} {
  let [objects, bytes] = [0, 0];
  const seen = new Set<Struct>();
  const count = (struct: Struct): void => {
    const size = seen.has(struct) ? undefined : omittedBytes(struct.value);
    seen.add(struct);
    if (size !== undefined) [objects, bytes] = [objects + 1, bytes + size];
  };
  visitRequest(request, count);
  if (response !== undefined) visitResponse(response, count);
  return { objects, bytes };
}
