// SPDX-License-Identifier: Apache-2.0
// A control plane that records: what a reconcile of each kind leaves in the store.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { nopLogger, request, response, start } from "@purlin/function-sdk";
import { eventually } from "@purlin/kube-controller/testing";
import { inflateRun, openRunStore, type RunStore, type RunSummary, requestJson, responseJson } from "@purlin/run-store";
import { app, appComposition, appDefinition, functionAt, startEmbeddedApi } from "../test/embedded-api.ts";
import { startControlPlane } from "./start-control-plane.ts";

const namespace = "default";
const canary = "canary-s3cr3t-value";

test("created, changed and failed reconciles are recorded with cause, steps, writes and outcome, and without secrets", async () => {
  await using api = await startEmbeddedApi();
  const directory = mkdtempSync(join(tmpdir(), "purlin-runs-"));
  await using fn = await start(
    (req) => {
      const rsp = response.to(req);
      const text = request.getObservedCompositeResource(req).resource.getString("spec.text");
      if (text === "fail") throw new Error(`cannot connect with ${canary}`);
      const secret = { apiVersion: "v1", kind: "Secret", stringData: { password: canary } };
      response.setDesiredComposedResource(rsp, "secret", secret, { ready: true });
      const url = `postgres://admin:${encodeURIComponent(canary)}@db`;
      response.setDesiredComposedResource(
        rsp,
        "map",
        { apiVersion: "v1", kind: "ConfigMap", data: { text, url } },
        { ready: true },
      );
      return rsp;
    },
    { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger },
  );
  const runs = openRunStore({ directory });
  await using _plane = startControlPlane({
    client: api.connect(),
    functions: { security: "plaintext" },
    settings: { developmentFunctions: true },
    runs,
  });
  const apply = (text: string) =>
    eventually("it is applied", () =>
      api.users.apply(
        { ...app, metadata: { name: "one", namespace }, spec: { text } },
        { fieldManager: "t", force: true },
      ),
    );
  for (const object of [functionAt(fn.address), appDefinition, appComposition]) {
    await eventually("it is applied", () => api.users.apply(object, { fieldManager: "t", force: true }));
  }
  const find = (what: string, isIt: (run: RunSummary) => boolean): Promise<RunSummary> =>
    eventually(what, async () => {
      runs.flush();
      return runs.reader.list().find(isIt) ?? false;
    });
  await apply("hello");
  const created = await find(
    "the first compose is recorded",
    (run) => run.outcome === "composed" && run.steps.length > 0,
  );
  assert.equal(created.xr.name, "one");
  assert.match(created.compositionRevision, /^apps-/);
  assert.ok(created.writes >= 3, `${created.writes} writes`);
  const document = runs.reader.get(created.id);
  assert.ok(document);
  const { steps, writes } = inflateRun(document);
  assert.equal(steps[0]?.name, "compose");
  assert.ok(writes.some(({ kind, verb }) => kind === "ConfigMap" && verb === "apply"));
  const desired = steps[0]?.calls[0]?.response?.desired?.resources;
  assert.match(JSON.stringify(desired?.get("secret")?.resource?.value), /\*\*REDACTED:[0-9a-f]{8}\*\*/);

  await apply("changed");
  await find("the change is recorded", (run) => run.cause === "spec" && run.outcome === "composed");
  await apply("fail");
  const failed = await find("the failure is recorded", (run) => run.outcome === "failed" && run.steps.length > 0);
  assert.match(failed.error ?? "", /cannot connect with \*\*REDACTED:[0-9a-f]{8}\*\*/);
  assert.deepEqual(failed.steps, ["compose"]);

  const everything = JSON.stringify([runs.reader.list(), runs.reader.list().map(({ id }) => wholeRun(runs, id))]);
  for (const form of [canary, encodeURIComponent(canary), Buffer.from(canary).toString("base64")]) {
    assert.ok(!everything.includes(form), form);
  }
  runs[Symbol.dispose]();
  rmSync(directory, { recursive: true });
});

/** All messages of a run. */
function wholeRun({ reader }: RunStore, id: string): unknown {
  const document = reader.get(id);
  assert.ok(document);
  const { steps, ...rest } = inflateRun(document);
  const calls = steps.flatMap((step) => step.calls);
  return [
    rest,
    calls.map((call) => [requestJson(call.request), call.response === undefined ? null : responseJson(call.response)]),
  ];
}
