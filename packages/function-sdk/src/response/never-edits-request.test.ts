// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  encode,
  type JsonObject,
  type JsonValue,
  RunFunctionRequest,
  type RunFunctionResponse,
} from "@purlin/function-protocol";
import fc from "fast-check";
import * as request from "../request.ts";
import * as resource from "../resource.ts";
import * as response from "../response.ts";
import { newRequest } from "../testing/new-request.ts";

const name = fc.constantFrom("a", "b", "__proto__", "c");
const path = fc.constantFrom("spec.x", "spec.list[1]", "metadata.labels['a.b']", "status.deep.er", "kind");
const object: fc.Arbitrary<JsonObject> = fc.record(
  {
    kind: fc.string({ maxLength: 3 }),
    spec: fc.record({ x: fc.integer(), list: fc.array(fc.integer(), { maxLength: 2 }) }, { requiredKeys: [] }),
    status: fc.record({ deep: fc.constant({}) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const objects = fc.array(fc.tuple(name, object), { maxLength: 4 }).map((entries) => new Map(entries));

type Edit = (req: RunFunctionRequest, rsp: RunFunctionResponse) => void;

/** Everything an author can do to a response, or to what a request hands out. */
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(name, object).map(
    ([one, value]): Edit =>
      (_, rsp) =>
        response.setDesiredComposedResource(rsp, one, value),
  ),
  name.map(
    (one): Edit =>
      (_, rsp) =>
        void response.removeDesiredComposedResource(rsp, one),
  ),
  object.map(
    (value): Edit =>
      (_, rsp) =>
        response.setDesiredCompositeStatus(rsp, value),
  ),
  fc.boolean().map(
    (ready): Edit =>
      (_, rsp) =>
        response.setDesiredCompositeReady(rsp, ready),
  ),
  fc.tuple(name, object).map(
    ([key, value]): Edit =>
      (_, rsp) =>
        response.setContextKey(rsp, key, value),
  ),
  name.map(
    (key): Edit =>
      (_, rsp) =>
        void response.deleteContextKey(rsp, key),
  ),
  fc.constant<Edit>((_, rsp) => response.setDesiredConnectionDetails(rsp, { k: "changed" })),
  fc.constant<Edit>((_, rsp) => rsp.desired?.composite?.connectionDetails.clear()),
  fc.tuple(name, object).map(
    ([one, value]): Edit =>
      (_, rsp) => {
        const message = rsp.desired?.resources.get(one);
        if (message) resource.update(message, value);
      },
  ),
  fc.tuple(name, path).map(
    ([one, at]): Edit =>
      (req, rsp) => {
        const desired = request.getDesiredComposedResources(req);
        set(desired.get(one)?.resource, at);
        const handed = desired.get(one)?.resource.object as Record<string, JsonValue> | undefined;
        if (handed) handed["added"] = [1];
        response.setDesiredComposedResources(rsp, desired);
      },
  ),
  fc.tuple(name, path).map(
    ([one, at]): Edit =>
      (req, rsp) => {
        const observed = request.getObservedComposedResources(req).get(one);
        set(observed?.resource, at);
        if (observed) response.setDesiredComposedResource(rsp, one, observed.resource);
        observed?.connectionDetails.clear();
      },
  ),
  path.map(
    (at): Edit =>
      (req, rsp) => {
        const xr = request.getDesiredCompositeResource(req);
        set(xr.resource, at);
        xr.connectionDetails.clear();
        response.setDesiredCompositeResource(rsp, xr);
      },
  ),
);

/** Sets and removes; a path that does not fit the object is refused, which must change nothing either. */
function set(wrapper: resource.KubeObject | undefined, at: string): void {
  try {
    wrapper?.setValue(at, "changed");
    wrapper?.deleteValue("spec");
    wrapper?.addLabels({ l: "1" });
  } catch {
    // NOT_OBJECT and NOT_ARRAY are among what is tested.
  }
}

test("property: whatever is done to a response and to what a request hands out, the request stays", () => {
  fc.assert(
    fc.property(objects, objects, object, fc.array(edit, { maxLength: 8 }), (observed, desired, context, edits) => {
      const req = newRequest({
        observed: new Map([...observed].map(([one, value]) => [one, resource.fromObject(value)])),
        desired,
        desiredXr: resource.fromObject({ status: {} }, { connectionDetails: new Map([["k", Uint8Array.of(1)]]) }),
        context,
      });
      const before = encode(RunFunctionRequest, req);
      const rsp = response.to(req);
      for (const one of edits) one(req, rsp);
      assert.deepEqual(encode(RunFunctionRequest, req), before);
    }),
  );
});
