// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  create,
  decode,
  encode,
  isProtocolError,
  RunFunctionRequest,
  RunFunctionResponse,
} from "@purlin/function-protocol";
import fc from "fast-check";
import { isFunctionError } from "../errors/function-error.ts";
import * as request from "../request.ts";
import * as resource from "../resource.ts";
import * as response from "../response.ts";
import { newRequest } from "../testing/new-request.ts";

type Reader = (req: RunFunctionRequest, name: string) => unknown;

/** Every way to look at a request. */
const readers: Readonly<Record<string, Reader>> = {
  hasCapability: (req) => request.hasCapability(req, 5),
  advertisesCapabilities: (req) => request.advertisesCapabilities(req),
  capabilitySupport: (req) => request.capabilitySupport(req, 5),
  getRequiredSchema: (req, name) => request.getRequiredSchema(req, name),
  lookupRequiredSchema: (req, name) => request.lookupRequiredSchema(req, name),
  allRequiredSchemas: (req) => request.allRequiredSchemas(req),
  getRequiredResources: (req, name) => request.getRequiredResources(req, name).map(({ object }) => object),
  getRequiredResource: (req, name) => request.getRequiredResource(req, name)?.object,
  lookupRequiredResources: (req, name) => request.lookupRequiredResources(req, name),
  allRequiredResources: (req) => [...request.allRequiredResources(req).values()].flat().map(({ object }) => object),
  allExtraResources: (req) => [...request.allExtraResources(req).values()].flat().map(({ object }) => object),
  getWatchedResource: (req) => request.getWatchedResource(req)?.object,
  getInput: (req) => request.getInput(req),
  getContextKey: (req, name) => request.getContextKey(req, name),
  hasContextKey: (req, name) => request.hasContextKey(req, name),
  observedComposite: (req) => wander(request.getObservedCompositeResource(req).resource),
  desiredComposite: (req) => wander(request.getDesiredCompositeResource(req).resource),
  observedComposed: (req) => [...request.getObservedComposedResources(req).values()].map((one) => wander(one.resource)),
  desiredComposed: (req) => [...request.getDesiredComposedResources(req).values()].map((one) => wander(one.resource)),
  lookupCredentials: (req, name) => request.lookupCredentials(req, name)?.text(name),
};

/** Every accessor of an object. */
function wander(object: resource.ComposedObject | resource.CompositeObject): unknown {
  const { apiVersion, kind, name, namespace, uid, generateName, labels, annotations, observedGeneration } = object;
  const seen: unknown[] = [
    apiVersion,
    kind,
    name,
    namespace,
    uid,
    generateName,
    labels,
    annotations,
    observedGeneration,
  ];
  if (object instanceof resource.CompositeObject) {
    seen.push(object.compositionRef, object.resourceRefs, object.claimRef, object.compositionUpdatePolicy);
  }
  seen.push(object.getCondition("Ready"), object.has("spec.a[0].b"), object.expand("[*][*]"), object.object);
  return seen;
}

const rich = newRequest({
  xr: { kind: "XR", metadata: { name: "x", labels: { a: "b" } }, spec: { crossplane: { resourceRefs: [{}] } } },
  observed: { a: { status: { conditions: [{ type: "Ready", status: "True" }] } } },
  desired: { b: { spec: { list: [1, 2] } } },
  desiredXr: { status: { x: null } },
  input: { i: 1 },
  context: { c: { d: 1 } },
  credentials: { a: { a: "secret" } },
  requiredResources: { a: [{ kind: "R" }], b: [] },
  extraResources: { a: [{}] },
  requiredSchemas: { a: { type: "object" }, b: null },
});

test("every reader works on a request with nothing in it", () => {
  for (const [name, read] of Object.entries(readers)) {
    assert.doesNotThrow(() => read(create(RunFunctionRequest), "a"), name);
  }
});

test("property: every reader gives an answer or a clear error, on whatever a peer may send, and leaves it as it was", () => {
  const valid = encode(RunFunctionRequest, rich);
  const damaged = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 3 }).map((changes) => {
    const bytes = Uint8Array.from(valid);
    for (const [at, byte] of changes) bytes[at] = byte;
    return bytes;
  });
  fc.assert(
    fc.property(damaged, fc.constantFrom("a", "b", "c", "__proto__", "constructor", ""), (bytes, name) => {
      let req: RunFunctionRequest;
      try {
        req = decode(RunFunctionRequest, bytes);
      } catch (error) {
        assert.ok(isProtocolError(error));
        return;
      }
      const before = encode(RunFunctionRequest, req);
      for (const [reader, read] of Object.entries(readers)) {
        try {
          read(req, name);
        } catch (error) {
          assert.ok(isProtocolError(error) || isFunctionError(error), `${reader}: ${String(error)}`);
        }
      }
      assert.deepEqual(encode(RunFunctionRequest, req), before);
      const rsp = response.to(req);
      assert.deepEqual(decode(RunFunctionResponse, encode(RunFunctionResponse, rsp)).meta?.tag, req.meta?.tag ?? "");
    }),
    { numRuns: 500 },
  );
});
