// SPDX-License-Identifier: Apache-2.0
// A function whose answer is in the composite resource.
import {
  fromJson,
  type JsonObject,
  type RunFunctionRequest,
  RunFunctionResponse,
  request,
  response,
} from "@purlin/function-sdk";
import type { StepWish } from "./definitions.ts";

/** Answers by step, each a response in protobuf's JSON. */
export type Answers = Readonly<Record<string, JsonObject>>;

/** Answers with `spec.answers.<step>`. What that does not mention stays as it was. */
export function puppet(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const { step = "" } = request.requireInput(req) as { readonly step?: string };
  const { answers = {} } = xr.getObject("spec") as { readonly answers?: Answers };
  const answer = answers[step] ?? {};
  const said = fromJson(RunFunctionResponse, answer);
  const { results, conditions, requirements } = said;
  return { ...rsp, results, conditions, requirements, desired: "desired" in answer ? said.desired : rsp.desired };
}

/** A step whose input names the puppet. */
export function puppetStep(step: string): StepWish {
  return {
    step,
    functionRef: { name: "puppet" },
    input: { apiVersion: "e2e.example.org/v1", kind: "Input", step },
  };
}
