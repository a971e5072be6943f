// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessState } from "@purlin/function-process";
import { developmentAnnotations } from "@purlin/function-runner";
import { conditionsOf } from "@purlin/kube-objects/object";
import { startPackageCluster } from "../../test/package-cluster.ts";
import { applyPackage, managePackage } from "../../test/package-scene.ts";
import { packageTypes } from "../package-kinds.ts";

const inFile = { [developmentAnnotations.source]: "fn.ts" };
const elsewhere = { [developmentAnnotations.runtime]: "Development" };

test("a Function says how its source file does, and nothing about it once another program serves the Function", async () => {
  await using cluster = await startPackageCluster({ developmentFunctions: true });
  let state: ProcessState | undefined;
  const on = { ...cluster, deps: { ...cluster.deps, sourceState: () => state } };
  const conditions = async (annotations: object): Promise<string[]> => {
    await applyPackage(cluster, { kind: "Function", name: "f", metadata: { annotations } });
    await managePackage(on, "Function", "f");
    const found = await cluster.kube.get(packageTypes.Function.package, { name: "f" });
    return conditionsOf(found).map(({ type, status, reason, message }) =>
      [type, status, reason, message ?? ""].join(" ").trim(),
    );
  };
  const installed = "Installed True DevelopmentFunction";
  assert.deepEqual(await conditions(inFile), [], "it is not known yet");
  state = { phase: "failed", problem: "fn.ts: file not found" };
  assert.deepEqual(await conditions(inFile), [installed, "Healthy False SourceFailed fn.ts: file not found"]);
  assert.deepEqual(await conditions(inFile), [installed, "Healthy False SourceFailed fn.ts: file not found"]);
  assert.deepEqual(cluster.takeEvents(), ["Warning SourceFailed: fn.ts: file not found"], "once");
  state = { phase: "starting" };
  assert.deepEqual(await conditions(inFile), [installed, "Healthy False SourceFailed fn.ts: file not found"]);
  state = { phase: "serving", endpoint: "127.0.0.1:4711" };
  assert.deepEqual(await conditions(inFile), [installed, "Healthy True SourceServing"]);
  state = { ...state, problem: "fn.ts:1: no" };
  const problem = "Healthy False SourceFailed fn.ts:1: no (the last working version keeps serving)";
  assert.deepEqual(await conditions(inFile), [installed, problem]);
  assert.deepEqual(await conditions(elsewhere), [installed]);
});
