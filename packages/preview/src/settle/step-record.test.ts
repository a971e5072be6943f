// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunFunctionRequest } from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { app } from "../../test/scene-objects.ts";
import { identityOf } from "../overlay/live-reads.ts";
import type { PassFunctions } from "./run-pass.ts";
import { createStepRecord } from "./step-record.ts";

type Resources = Readonly<Record<string, JsonObject>>;
const desired = (resources: Resources) => ({
  resources: new Map(Object.entries(resources).map(([name, value]) => [name, { resource: { value } }])),
});
const request = (resources: Resources, composite: unknown = app("web", {})): RunFunctionRequest =>
  ({
    observed: { composite: { resource: { value: composite } } },
    desired: desired(resources),
  }) as unknown as RunFunctionRequest;
const web = identityOf(app("web", {}));

/** Runs a step that answers with these resources. */
function recorder(record = createStepRecord()) {
  let closed = 0;
  const answers: Resources[] = [];
  const functions = record.recording({
    fetchers: { marked: true },
    close: () => {
      closed += 1;
    },
    runStep: async ({ functionName }: { readonly functionName: string }) => ({
      target: {
        revisionName: `${functionName}-1`,
        endpoint: `dns:///${functionName}`,
        packageRef: functionName === "apple" ? "" : `example.org/${functionName}:v1`,
      },
      response: { desired: desired(answers.shift() ?? {}) },
    }),
  } as unknown as PassFunctions);
  return {
    record,
    functions,
    closed: () => closed,
    run: (step: string, before: Resources, after: Resources, { fn = "fn", xr = app("web", {}) as unknown } = {}) => {
      answers.push(after);
      return functions.runStep({ step, functionName: fn } as never, request(before, xr), {} as never);
    },
  };
}

test("the step that last changed a resource is recorded", async () => {
  const { record, run } = recorder();
  await run("first", {}, { a: { v: 1 }, b: { v: 1 } });
  await run("second", { a: { v: 1 }, b: { v: 1 } }, { a: { v: 1 }, b: { v: 2 } });
  assert.deepEqual(
    [record.stepOf(web, "a"), record.stepOf(web, "b"), record.stepOf(web, "c")],
    ["first", "second", undefined],
  );
});

test("resources of other composite resources are other ones", async () => {
  const { record, run } = recorder();
  await run("first", {}, { a: {} });
  await run("second", {}, { a: {} }, { xr: app("db", {}) });
  assert.equal(record.stepOf(web, "a"), "first");
  assert.equal(record.stepOf(identityOf(app("db", {})), "a"), "second");
});

test("a request without a composite resource records no step", async () => {
  const { record, run } = recorder();
  const { response } = await run("first", {}, { a: {} }, { xr: null });
  assert.equal(response.desired?.resources.size, 1);
  assert.equal(record.stepOf(web, "a"), undefined);
});

test("functions are listed once, by name, with their last revision", async () => {
  const { record, run } = recorder();
  assert.deepEqual(record.functions(), []);
  for (const fn of ["zebra", "apple", "zebra"]) await run("s", {}, {}, { fn });
  assert.deepEqual(record.functions(), [
    { name: "apple", revision: "apple-1", endpoint: "dns:///apple" },
    { name: "zebra", revision: "zebra-1", endpoint: "dns:///zebra", image: "example.org/zebra:v1" },
  ]);
});

test("the rest of the functions is passed on", () => {
  const { functions, closed } = recorder();
  assert.deepEqual(functions.fetchers, { marked: true });
  functions.close();
  assert.equal(closed(), 1);
});
