// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { encode, type JsonObject, RunFunctionResponse, toJson } from "@purlin/function-protocol";
import fc from "fast-check";
import * as request from "../request.ts";
import * as response from "../response.ts";
import { invoke, newRequest, startTestServer } from "../testing/index.ts";
import type { FunctionHandler } from "./serve-options.ts";

/** A function that does a bit of everything, depending on its input. */
const versatile: FunctionHandler = async (req, ctx) => {
  const rsp = ctx.to(req);
  const input = request.getInput(req) ?? {};
  if (input["fail"] === true) throw new Error("asked to fail");
  for (const [name, { resource }] of request.getObservedComposedResources(req)) {
    resource.setValue("metadata.annotations['seen']", "yes");
    response.setDesiredComposedResource(rsp, `copy-of-${name}`, resource, { ready: true });
  }
  response.setContextKey(rsp, "input", input);
  response.warning(rsp, "careful").conditionFalse("Checked", "No").targetCompositeAndClaim();
  return rsp;
};

const object: fc.Arbitrary<JsonObject> = fc.record(
  {
    kind: fc.string(),
    spec: fc.dictionary(
      fc.string(),
      fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string(), fc.constant(null)),
    ),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const named = fc.array(fc.tuple(fc.string(), object), { maxLength: 3 }).map((entries) => new Map(entries));

test("property: memory, v1 and v1beta1 give the same response", async (t) => {
  const server = await startTestServer(versatile);
  t.after(() => server.stop());
  await fc.assert(
    fc.asyncProperty(named, named, fc.option(fc.boolean()), async (observed, desired, fail) => {
      const req = newRequest({ observed, desired, input: fail === null ? undefined : { fail } });
      const inMemory = await invoke(versatile, req);
      for (const protocol of ["v1", "v1beta1"] as const) {
        const overNetwork = await server.call(req, protocol);
        assert.deepEqual(encode(RunFunctionResponse, overNetwork), encode(RunFunctionResponse, inMemory), protocol);
      }
      const { results = [] } = toJson(RunFunctionResponse, inMemory);
      assert.equal((results as JsonObject[])[0]?.["severity"], fail ? "SEVERITY_FATAL" : "SEVERITY_WARNING");
    }),
    { numRuns: 60 },
  );
});
