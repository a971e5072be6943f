// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import {
  create,
  RequestMeta,
  Resource,
  ResponseMeta,
  RunFunctionRequest,
  RunFunctionResponse,
  State,
  Struct,
} from "@purlin/function-protocol";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { CallRecord, RunRecord, StepRecord } from "../src/record/stored-run.ts";

/** A composite resource for tests. */
export const sampleXr: KubeObject = {
  apiVersion: "example.org/v1",
  kind: "App",
  metadata: { name: "shop", namespace: "default", uid: "u1", generation: 1, resourceVersion: "7" },
  spec: { text: "hello" },
};

/** A CompositionRevision for tests. */
export const sampleRevision: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: { name: "apps-1", labels: { "crossplane.io/composition-name": "apps" } },
  spec: { pipeline: [] },
};

/** A resource message. */
function resourceOf(object: object, details: Readonly<Record<string, string>> = {}): Resource {
  const connectionDetails = new Map(Object.entries(details).map(([key, value]) => [key, Buffer.from(value)]));
  return create(Resource, { resource: Struct.from(object), connectionDetails });
}

/** A state of resources by name. */
function stateOf(resources: Readonly<Record<string, object>>, composite?: object): State {
  const entries = Object.entries(resources).map(([name, object]) => [name, resourceOf(object)] as const);
  return create(State, { composite: composite && resourceOf(composite), resources: new Map(entries) });
}

/** A call that answers with these desired resources. */
export function callOf(desired: Readonly<Record<string, object>>, more: Partial<RunFunctionRequest> = {}): CallRecord {
  const request = create(RunFunctionRequest, {
    meta: create(RequestMeta, { tag: "tag" }),
    observed: stateOf({}, sampleXr),
    ...more,
  });
  const response = create(RunFunctionResponse, {
    meta: create(ResponseMeta, { tag: "tag" }),
    desired: stateOf(desired),
  });
  return { request, response };
}

/** A step with one call. */
export function stepOf(index: number, call: CallRecord, more: Partial<StepRecord> = {}): StepRecord {
  return {
    index,
    name: `step-${index}`,
    functionName: "fn",
    revisionName: "fn-1",
    packageRef: "example.org/fn:v1",
    durationMs: 1,
    isCached: false,
    calls: [call],
    ...more,
  };
}

/** A run with one step, unless others are given. */
export function runOf(more: Partial<RunRecord> = {}): RunRecord {
  return {
    xr: sampleXr,
    after: sampleXr,
    cause: "spec",
    beganMs: 1_790_000_000_000,
    endedMs: 1_790_000_000_012,
    revision: sampleRevision,
    steps: [stepOf(0, callOf({ map: { apiVersion: "v1", kind: "ConfigMap", data: { text: "hello" } } }))],
    writes: [],
    outcome: "unchanged",
    ...more,
  };
}
