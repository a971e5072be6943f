// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type ConditionRow, inspectionOf, made, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import type { Finding, NodeReport } from "../model/explanation.ts";
import { isOperationKind, operationReport } from "./operations.ts";

const operation = (kind: string, name: string, metadata: JsonObject = {}): KubeObject =>
  made(`ops.crossplane.io/v1alpha1/${kind}`, name, { metadata });
const report = async (object: KubeObject, ...others: readonly KubeObject[]): Promise<NodeReport> =>
  operationReport(object, await inspectionOf(others));
async function finding(
  kind: string,
  rows: readonly ConditionRow[],
  ...others: readonly KubeObject[]
): Promise<Finding> {
  const { findings = [] } = await report(withConditions(operation(kind, "job"), rows), ...others);
  assert.equal(findings.length, 1);
  return findings[0] ?? assert.fail();
}
const again = "then run it again: purlin operation run with the file of operation.ops.crossplane.io/job";
const boom = 'pipeline step "one" returned a fatal result: boom';

test("the kinds of operations are those of their group", () => {
  assert.equal(isOperationKind({ apiVersion: "ops.crossplane.io/v1alpha1", kind: "CronOperation" }), true);
  assert.equal(isOperationKind({ apiVersion: "ops.crossplane.io.example.org/v1", kind: "Operation" }), false);
});

describe("states without a failure", () => {
  test("a pipeline that runs is waiting, one that has succeeded is fine", async () => {
    const running = withConditions(operation("Operation", "job"), [
      ["Synced", "True"],
      ["Succeeded", "Unknown", "PipelineRunning", undefined, 5],
    ]);
    assert.deepEqual(await report(running), { waiting: [{ since: secondsAgo(5), text: "its pipeline is running" }] });
    assert.deepEqual(await report(withConditions(operation("Operation", "job"), [["Succeeded", "True"]])), {
      edges: [],
    });
  });

  test("a CronOperation or WatchOperation is never running itself", async () => {
    for (const kind of ["CronOperation", "WatchOperation"]) {
      assert.deepEqual(await report(withConditions(operation(kind, "job"), [["Synced", "True"]])), { edges: [] });
    }
  });

  test("paused and deleted ones", async () => {
    const paused = operation("Operation", "job", { annotations: { "crossplane.io/paused": "true" } });
    assert.equal((await report(paused)).findings?.[0]?.code, "E08");
    const deleted = operation("Operation", "job", { deletionTimestamp: secondsAgo(3) });
    assert.deepEqual((await report(deleted)).waiting, [
      { since: secondsAgo(3), text: "is being deleted, since 3s ago" },
    ]);
  });
});

describe("E09: not reconciled", () => {
  test("a young one is waiting", async () => {
    const young = operation("Operation", "job", { creationTimestamp: secondsAgo(5) });
    assert.deepEqual(await report(young), {
      waiting: [{ since: secondsAgo(5), text: "waits for its first reconcile" }],
    });
  });

  test("no control plane runs", async () => {
    const [found] = (await report(operation("Operation", "job"))).findings ?? [];
    assert.equal(found?.sentence, "Operation job is not reconciled: no control plane is running for its kind");
  });

  test("an event says that the feature is disabled", async () => {
    const event = made("v1/Event", "default/e", {
      involvedObject: { uid: "uid-job" },
      reason: "FeatureDisabled",
      message: "Operations are disabled",
    });
    const [found] = (await report(operation("Operation", "job"), event)).findings ?? [];
    assert.equal(found?.code, "E09");
    assert.equal(found?.sentence, "Operation job is not reconciled: Operations are disabled");
    assert.deepEqual(found?.next, ["start the control plane with --enable-operations"]);
  });
});

describe("failures", () => {
  test("E29: an Operation that has failed does not run again by itself", async () => {
    const { code, next } = await finding("Operation", [
      ["Synced", "True"],
      ["Succeeded", "False", "PipelineError", `failure limit of 5 reached: ${boom}`],
    ]);
    assert.equal(code, "E29");
    assert.deepEqual(next, ["correct what the message says", again]);
  });

  test("an Operation that is tried again needs no new one", async () => {
    const { next } = await finding("Operation", [["Synced", "False", "ReconcileError", boom]]);
    assert.equal(next.includes(again), false);
  });

  test("the first failed condition counts: Synced before Scheduling", async () => {
    const { code } = await finding("CronOperation", [
      ["Scheduling", "False", "ScheduleInvalid", "bad"],
      ["Synced", "False", "ReconcileError", boom],
    ]);
    assert.equal(code, "E29");
  });

  const schedules: readonly ConditionRow[] = [
    ["Scheduling", "False", "ScheduleInvalid", "expected exactly 5 fields"],
    ["Synced", "False", "ReconcileError", "cannot parse cron schedule: expected exactly 5 fields"],
    ["Synced", "False", "ReconcileError", 'schedule "0 0 30 2 *" never comes'],
  ];
  for (const row of schedules) {
    test(`E68: ${row[3]}`, async () => {
      const { code, path, sentence, next } = await finding("CronOperation", [row]);
      assert.deepEqual([code, path], ["E68", "spec.schedule"]);
      assert.equal(sentence, `CronOperation job creates no Operations: ${row[3]}`);
      assert.deepEqual(next, [
        "correct spec.schedule: five fields (minute hour day-of-month month day-of-week), a descriptor such as @daily, or @every 1h",
      ]);
    });
  }

  test("E07: a function without the capability", async () => {
    const text = 'function "fn" (active revision "fn-1") is missing required capabilities: operation';
    const { code, sentence, next } = await finding("Operation", [
      ["Synced", "False", "MissingCapabilities", `function capability check failed: ${text}`],
    ]);
    assert.equal(code, "E07");
    assert.equal(sentence, `The pipeline of Operation job is invalid: ${text}`);
    assert.deepEqual(next, ["use a version of Function fn whose package lists the capability operation"]);
  });

  test("E43: a name that is too long for a label", async () => {
    const { code, path, sentence } = await finding("WatchOperation", [
      ["Synced", "False", "ReconcileError", "metadata.name must have no more than 63 characters"],
    ]);
    assert.deepEqual([code, path], ["E43", "metadata.name"]);
    assert.equal(sentence, "WatchOperation job creates no Operations: its name is longer than 63 characters");
  });

  test("a text that no rule recognizes is unknown", async () => {
    const object = withConditions(operation("Operation", "job"), [["Succeeded", "False", "PipelineError", "odd"]]);
    const { unknown, findings } = await report(object);
    assert.equal(findings, undefined);
    assert.deepEqual(
      unknown?.map(({ text }) => text),
      ["Succeeded=False: PipelineError: odd"],
    );
  });

  test("a cause that was resolved does not make a failed Operation run again", async () => {
    const object = withConditions(operation("Operation", "job"), [
      ["Succeeded", "False", "PipelineError", 'namespaces "team" not found'],
    ]);
    const { notes, unknown, findings } = await report(object, made("v1/Namespace", "team"));
    assert.deepEqual(notes, [{ text: "was: Namespace team not found" }]);
    assert.deepEqual([findings, unknown?.length], [undefined, 1]);
  });
});

describe("the newest Operation of a CronOperation or WatchOperation", () => {
  const created = (name: string, age: number, rows: readonly ConditionRow[], kind = "cron"): KubeObject =>
    withConditions(
      operation("Operation", name, {
        labels: { [`ops.crossplane.io/${kind}operation`]: "job" },
        creationTimestamp: secondsAgo(age),
      }),
      rows,
    );
  const edges = async (kind: string, ...others: readonly KubeObject[]): Promise<readonly string[]> => {
    const object = withConditions(operation(kind, "job"), [["Synced", "True"]]);
    return ((await report(object, ...others)).edges ?? []).map(({ to, via }) => `${to.name} via ${via}`);
  };
  const bad: ConditionRow = ["Succeeded", "False"];
  const good: ConditionRow = ["Succeeded", "True"];

  test("is followed if it failed", async () => {
    assert.deepEqual(await edges("CronOperation", created("b", 10, [bad]), created("a", 99, [good])), [
      "b via its newest Operation",
    ]);
    assert.deepEqual(await edges("WatchOperation", created("w", 10, [["Synced", "False"]], "watch")), [
      "w via its newest Operation",
    ]);
  });

  test("is not followed if a newer one succeeded or runs", async () => {
    assert.deepEqual(await edges("CronOperation", created("a", 99, [bad]), created("b", 10, [good])), []);
    assert.deepEqual(
      await edges("CronOperation", created("a", 99, [bad]), created("b", 10, [["Succeeded", "Unknown"]])),
      [],
    );
  });

  test("of two of the same second the last by name is the newest", async () => {
    assert.deepEqual(await edges("CronOperation", created("job-2", 10, [bad]), created("job-1", 10, [good])), [
      "job-2 via its newest Operation",
    ]);
  });

  test("belongs to its own kind only", async () => {
    assert.deepEqual(await edges("WatchOperation", created("a", 10, [bad], "cron")), []);
    assert.deepEqual(await edges("Operation", created("a", 10, [bad], "cron")), []);
  });
});
