// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "@purlin/base";
import { create, RunFunctionRequest } from "@purlin/function-protocol";
import { eventually } from "@purlin/kube-controller/testing";
import { conditionStatus, startProcessScene } from "../../test/embedded-api.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const secretType = { apiVersion: "v1", kind: "Secret" };
const minuteMs = 60_000;

/** A clock that is behind, and whose long waits a test ends. */
function movableClock(): Clock & { behindMs: number; endLongWaits(): void } {
  const waiting = new Set<() => void>();
  return {
    behindMs: 20 * minuteMs,
    now() {
      return Date.now() - this.behindMs;
    },
    schedule(delayMs, task) {
      if (delayMs < 5 * minuteMs) return systemClock.schedule(delayMs, task);
      waiting.add(task);
      return () => waiting.delete(task);
    },
    endLongWaits() {
      for (const task of [...waiting]) if (waiting.delete(task)) task();
    },
  };
}

test("the certificate of a package's function is renewed while steps run, and none fails", async () => {
  const clock = movableClock();
  await using scene = await startProcessScene({ clock, certificateDays: 30 / 1440 });
  const { api, parts, processes } = scene;
  await scene.publish("v1");
  await scene.install("v1");
  await eventually("it is healthy", async () => {
    return conditionStatus(await api.users.get(functionType, { name: "fn" }), "Healthy") === "True";
  });
  const [{ metadata } = assert.fail()] = (await api.users.list(revisionType)).items;
  const name = metadata.name ?? "";
  const published = async (): Promise<[unknown, unknown]> => {
    const { status } = (await api.users.get(revisionType, { name })) as unknown as { status: Record<string, string> };
    const secret = { namespace: "crossplane-system", name: status["tlsServerSecretName"] ?? "" };
    return [status["endpoint"], JSON.stringify((await api.users.get(secretType, secret))["data"])];
  };
  const before = await published();
  let stopping = false;
  let calls = 0;
  const load = async (): Promise<void> => {
    while (!stopping) {
      const call = { deadline: Date.now() + minuteMs };
      const { target } = await parts.runStep({ step: "s", functionName: "fn" }, create(RunFunctionRequest, {}), call);
      assert.equal(target.revisionName, name);
      calls++;
    }
  };
  const loads = [load(), load(), load(), load()];
  const [first] = processes.list();
  const version = first?.current?.version;
  clock.behindMs = 0;
  clock.endLongWaits();
  await eventually("another process serves", () => processes.get(name)?.current?.version !== version);
  await eventually("the revision has the new endpoint and certificate", async () => {
    const [endpoint, data] = await published();
    return endpoint !== before[0] && data !== before[1];
  });
  const soFar = calls;
  await eventually("calls continue", () => calls > soFar + 50);
  stopping = true;
  await Promise.all(loads);
});
