// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { decode, type JsonObject, RunFunctionRequest, RunFunctionResponse, Struct } from "@purlin/function-protocol";
import { refOf } from "../record/cut-run.ts";
import type { StoredRun, StoredStep } from "../record/stored-run.ts";
import { mapRequest, mapResponse } from "../redact/map-structs.ts";
import type { RunDocument } from "../store/run-reader.ts";

/** A call with its messages. */
export interface RunCallMessages {
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

/** Puts the objects back into the messages of a run. */
export function inflateRun({ run, repeats, last, parts }: RunDocument): Run {
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
