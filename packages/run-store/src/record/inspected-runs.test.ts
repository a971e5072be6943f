// SPDX-License-Identifier: Apache-2.0
// Runs that are put together from the messages of a pipeline inspector.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  create,
  inspector,
  Resource,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  State,
  Struct,
  Timestamp,
} from "@purlin/function-protocol";
import { InspectedRuns } from "./inspected-runs.ts";
import type { RunRecord } from "./stored-run.ts";

interface Step {
  readonly trace?: string;
  readonly index?: number;
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  /** In milliseconds. */
  readonly at?: number;
}

function metaOf({ trace = "t1", index = 0, name = "shop", namespace = "", uid = "u1", at = 0 }: Step = {}) {
  const value = create(inspector.CompositionMeta, {
    compositionName: "apps",
    compositeResourceName: name,
    compositeResourceNamespace: namespace,
    compositeResourceUid: uid,
    compositeResourceApiVersion: "example.org/v1",
    compositeResourceKind: "App",
  });
  return create(inspector.StepMeta, {
    timestamp: create(Timestamp, { seconds: BigInt(Math.floor(at / 1000)), nanos: (at % 1000) * 1e6 }),
    traceId: trace,
    spanId: `${trace}-${index}`,
    stepIndex: index,
    stepName: `step-${index}`,
    functionName: `fn-${index}`,
    context: { case: "compositionMeta", value },
  });
}

const request = (composite?: object): RunFunctionRequest =>
  create(RunFunctionRequest, {
    observed: create(State, { composite: composite && create(Resource, { resource: Struct.from(composite) }) }),
  });

const response = (...results: readonly (readonly [severity: Severity, message: string])[]): RunFunctionResponse =>
  create(RunFunctionResponse, {
    results: results.map(([severity, message]) => create(Result, { severity, message })),
  });

function collecting(): { readonly runs: InspectedRuns; readonly recorded: RunRecord[] } {
  const recorded: RunRecord[] = [];
  return { runs: new InspectedRuns((run) => recorded.push(run)), recorded };
}

const traces = (recorded: readonly RunRecord[]): string[] =>
  recorded.map(({ xr, steps }) => `${xr.metadata.name}:${steps.map(({ name }) => name).join()}`);

describe("a run ends", () => {
  test("when the next one of the same resource begins", () => {
    const { runs, recorded } = collecting();
    runs.request(metaOf({ trace: "t1" }), request());
    runs.request(metaOf({ trace: "t1", index: 1 }), request());
    assert.deepEqual(traces(recorded), []);
    runs.request(metaOf({ trace: "t2" }), request());
    assert.deepEqual(traces(recorded), ["shop:step-0,step-1"]);
  });

  test("not when one of another resource begins: another name, namespace or uid", () => {
    const { runs, recorded } = collecting();
    runs.request(metaOf({ trace: "t1" }), request());
    runs.request(metaOf({ trace: "t2", name: "other" }), request());
    runs.request(metaOf({ trace: "t3", namespace: "dev" }), request());
    runs.request(metaOf({ trace: "t4", uid: "u2" }), request());
    assert.equal(recorded.length, 0);
    runs.end();
    assert.equal(recorded.length, 4);
  });

  test("when nothing came since a time", () => {
    const { runs, recorded } = collecting();
    runs.request(metaOf({ trace: "t1", name: "a", at: 1000 }), request());
    runs.request(metaOf({ trace: "t2", name: "b", at: 2000 }), request());
    runs.endBefore(1000);
    assert.deepEqual(traces(recorded), []);
    runs.endBefore(1001);
    assert.deepEqual(traces(recorded), ["a:step-0"]);
    runs.response(metaOf({ trace: "t2", name: "b" }), response(), 5000);
    runs.endBefore(5000);
    assert.deepEqual(traces(recorded), ["a:step-0"], "the response counts");
    runs.endBefore(5001);
    assert.deepEqual(traces(recorded), ["a:step-0", "b:step-0"]);
  });

  test("once: later messages of it are ignored, and end() records the rest", () => {
    const { runs, recorded } = collecting();
    runs.request(metaOf(), request());
    runs.end();
    runs.response(metaOf(), response());
    runs.end();
    assert.deepEqual(traces(recorded), ["shop:step-0"]);
    assert.equal(recorded[0]?.steps[0]?.calls[0]?.response, undefined);
  });

  test("when more than a thousand are open: the oldest", () => {
    const { runs, recorded } = collecting();
    for (let n = 0; n < 1000; n++) runs.request(metaOf({ trace: `t${n}`, name: `xr-${n}` }), request());
    assert.equal(recorded.length, 0);
    runs.request(metaOf({ trace: "last", name: "last" }), request());
    assert.deepEqual(traces(recorded), ["xr-0:step-0"]);
  });
});

describe("the record of a run", () => {
  test("has its steps in the order of the pipeline, whatever the order of the messages", () => {
    const { runs, recorded } = collecting();
    for (const index of [2, 0, 1]) runs.request(metaOf({ index }), request());
    runs.end();
    assert.deepEqual(
      recorded[0]?.steps.map(({ index, name, functionName }) => [index, name, functionName]),
      [
        [0, "step-0", "fn-0"],
        [1, "step-1", "fn-1"],
        [2, "step-2", "fn-2"],
      ],
    );
  });

  test("has the times of its messages", () => {
    const { runs, recorded } = collecting();
    runs.request(metaOf({ at: 1_790_000_000_250 }), request());
    runs.response(metaOf(), response(), 1_790_000_000_400);
    runs.request(metaOf({ index: 1, at: 1_790_000_000_500 }), request());
    runs.response(metaOf({ index: 1 }), response(), 1_790_000_001_000);
    runs.end();
    const [run] = recorded;
    assert.deepEqual([run?.beganMs, run?.endedMs], [1_790_000_000_250, 1_790_000_001_000]);
    assert.deepEqual(
      run?.steps.map(({ durationMs }) => durationMs),
      [150, 500],
    );
  });

  test("has no negative durations where the clock of the response is behind", () => {
    const { runs, recorded } = collecting();
    runs.request(metaOf({ at: 5000 }), request());
    runs.response(metaOf({ at: 4000 }), response());
    runs.end();
    assert.deepEqual([recorded[0]?.steps[0]?.durationMs, recorded[0]?.endedMs], [0, 5000]);
  });

  test("a message without a time counts as the epoch", () => {
    const { runs, recorded } = collecting();
    runs.request({ ...metaOf(), timestamp: undefined }, request());
    runs.end();
    assert.deepEqual([recorded[0]?.beganMs, recorded[0]?.endedMs], [0, 0]);
  });

  test("has the composite resource as the function saw it, with the identity of the messages", () => {
    const { runs, recorded } = collecting();
    const object = {
      apiVersion: "ignored/v1",
      kind: "Ignored",
      metadata: { name: "shop", resourceVersion: "7" },
      spec: { a: 1 },
    };
    runs.request(metaOf({ namespace: "dev" }), request(object));
    runs.end();
    const [run] = recorded;
    assert.deepEqual(run?.xr, {
      apiVersion: "example.org/v1",
      kind: "App",
      metadata: { name: "shop", namespace: "dev", uid: "u1", resourceVersion: "7" },
      spec: { a: 1 },
    });
    assert.equal(run?.after, run?.xr);
    assert.deepEqual([run?.composition, run?.cause, run?.writes], ["apps", "inspector", []]);
  });

  test("of a request without a composite resource has its identity only", () => {
    const { runs, recorded } = collecting();
    runs.request(metaOf(), create(RunFunctionRequest));
    runs.end();
    const metadata = { name: "shop", uid: "u1" };
    assert.deepEqual(recorded[0]?.xr, { apiVersion: "example.org/v1", kind: "App", metadata });
  });

  test("of an operation is a run of the Operation; two of them are two runs", () => {
    const { runs, recorded } = collecting();
    for (const [trace, operationName] of [
      ["t1", "backup-1"],
      ["t2", "backup-2"],
    ] as const) {
      const value = create(inspector.OperationMeta, { operationName, operationUid: `uid-${operationName}` });
      runs.request({ ...metaOf({ trace }), context: { case: "operationMeta", value } }, request());
    }
    runs.end();
    assert.deepEqual(
      recorded.map(({ xr, composition }) => [xr, composition]),
      ["backup-1", "backup-2"].map((name) => [
        { apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation", metadata: { name, uid: `uid-${name}` } },
        "",
      ]),
    );
  });

  test("of messages without a context has an empty identity", () => {
    const { runs, recorded } = collecting();
    runs.request({ ...metaOf(), context: undefined }, create(RunFunctionRequest));
    runs.end();
    assert.deepEqual(recorded[0]?.xr, { apiVersion: "", kind: "", metadata: { name: "", uid: "" } });
  });
});

describe("the outcome of a run", () => {
  const outcomeOf = (...steps: readonly (RunFunctionResponse | string | undefined)[]) => {
    const { runs, recorded } = collecting();
    for (const [index, outcome] of steps.entries()) {
      runs.request(metaOf({ index }), request());
      if (outcome !== undefined) runs.response(metaOf({ index }), outcome);
    }
    runs.end();
    const [run] = recorded;
    return { outcome: run?.outcome, error: run?.error, steps: run?.steps.map(({ error }) => error) };
  };

  test("is composed where all functions answered, or have not answered yet", () => {
    const composed = { outcome: "composed", error: undefined };
    assert.deepEqual(outcomeOf(response(), undefined), { ...composed, steps: [undefined, undefined] });
    const warned = response([Severity.SEVERITY_WARNING, "careful"], [Severity.SEVERITY_NORMAL, "fine"]);
    assert.deepEqual(outcomeOf(warned), { ...composed, steps: [undefined] });
  });

  test("is failed where a function reports a fatal result, with the first one", () => {
    const fatal = response(
      [Severity.SEVERITY_WARNING, "careful"],
      [Severity.SEVERITY_FATAL, "first"],
      [Severity.SEVERITY_FATAL, "second"],
    );
    const error = { reason: "", message: "first" };
    assert.deepEqual(outcomeOf(response(), fatal), { outcome: "failed", error, steps: [undefined, undefined] });
  });

  test("is failed where a call failed, with its error", () => {
    assert.deepEqual(outcomeOf(response(), "deadline exceeded"), {
      outcome: "failed",
      error: { reason: "", message: "deadline exceeded" },
      steps: [undefined, "deadline exceeded"],
    });
    assert.deepEqual(outcomeOf(""), { outcome: "failed", error: { reason: "", message: "" }, steps: [""] });
  });

  test("a response without a request is ignored", () => {
    const { runs, recorded } = collecting();
    runs.response(metaOf(), "boom");
    runs.request(metaOf(), request());
    runs.response(metaOf({ index: 1 }), "boom");
    runs.end();
    assert.deepEqual([recorded.length, recorded[0]?.outcome], [1, "composed"]);
  });
});
