// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Capability,
  Credentials,
  create,
  decode,
  encode,
  Ready,
  RequestMeta,
  RunFunctionRequest,
  Struct,
} from "@purlin/function-protocol";
import { isFunctionError } from "../errors/function-error.ts";
import * as request from "../request.ts";
import { fromObject } from "../resource/convert.ts";
import { newRequest } from "../testing/new-request.ts";

const hex = (text: string): RunFunctionRequest =>
  decode(RunFunctionRequest, Buffer.from(text.replaceAll(" ", ""), "hex"));

const capabilityCases: Record<
  string,
  { capabilities: number[] | undefined; capability: number; has: boolean; support: request.CapabilitySupport }
> = {
  "C31 NoMeta": { capabilities: undefined, capability: 5, has: false, support: "unknown" },
  EmptyList: { capabilities: [], capability: 5, has: false, support: "unknown" },
  Listed: { capabilities: [1, 2, 3, 4, 5], capability: 5, has: true, support: "supported" },
  "C32 CompleteListWithout": { capabilities: [1, 3], capability: 5, has: false, support: "unsupported" },
  ListedWithoutAdvertising: { capabilities: [3], capability: 3, has: true, support: "supported" },
  UnlistedWithoutAdvertising: { capabilities: [3], capability: 5, has: false, support: "unknown" },
  "C6 UnknownNumber": { capabilities: [1, 42], capability: 2, has: false, support: "unsupported" },
};

for (const [name, { capabilities, capability, has, support }] of Object.entries(capabilityCases)) {
  test(`capabilities: ${name}`, () => {
    const meta = capabilities && create(RequestMeta, { capabilities });
    const req = create(RunFunctionRequest, { meta });
    assert.equal(request.hasCapability(req, capability), has);
    assert.equal(request.capabilitySupport(req, capability), support);
    assert.equal(request.advertisesCapabilities(req), capabilities?.includes(1) ?? false);
    assert.equal(request.advertiseCapabilities, request.advertisesCapabilities);
  });
}

test("capabilities sent unpacked are the same list", () => {
  const req = hex("0a 06 10 01 10 03 10 05");
  assert.ok(request.hasCapability(req, Capability.CAPABILITY_REQUIRED_SCHEMAS));
  assert.deepEqual(req.meta?.capabilities, [1, 3, 5]);
});

const schemaCases: Record<string, { bytes: string; want: request.SchemaLookup }> = {
  NotAsked: { bytes: "", want: { state: "pending" } },
  "C1 AskedAndNotFound": { bytes: "4a 05 0a 01 61 12 00", want: { state: "absent" } },
  "C2 EmptySchema": { bytes: "4a 07 0a 01 61 12 02 0a 00", want: { state: "found", schema: {} } },
  "C4 EntryWithoutValue": { bytes: "4a 03 0a 01 61", want: { state: "absent" } },
};

for (const [name, { bytes, want }] of Object.entries(schemaCases)) {
  test(`required schema: ${name}`, () => {
    const req = hex(bytes);
    const schema = want.state === "found" ? want.schema : undefined;
    assert.deepEqual(request.lookupRequiredSchema(req, "a"), want);
    assert.deepEqual(request.getRequiredSchema(req, "a"), schema);
    assert.deepEqual(request.allRequiredSchemas(req), new Map(want.state === "pending" ? [] : [["a", schema]]));
  });
}

test("required resources: pending, empty and found are three things", () => {
  const items = [{ kind: "A", metadata: { name: "x" } }, { kind: "B" }];
  const req = newRequest({ requiredResources: { found: items, none: [] } });
  assert.deepEqual(request.lookupRequiredResources(req, "pending"), { resolved: false });
  assert.deepEqual(request.lookupRequiredResources(req, "none"), { resolved: true, items: [] });
  const found = request.lookupRequiredResources(req, "found");
  assert.ok(found.resolved);
  assert.deepEqual(
    found.items.map((item) => item.object),
    items,
  );
  assert.equal(found.items[0]?.resource.name, "x");
  assert.deepEqual(request.getRequiredResources(req, "pending"), []);
  assert.deepEqual(request.getRequiredResources(req, "none"), []);
  assert.equal(request.getRequiredResources(req, "found").length, 2);
  assert.equal(request.getRequiredResource(req, "found")?.resource.kind, "A");
  assert.equal(request.getRequiredResource(req, "none"), undefined);
  assert.deepEqual([...request.getRequiredResources(req).keys()], ["found", "none"]);
  assert.deepEqual([...request.allRequiredResources(req).keys()], ["found", "none"]);
});

test("an entry without items is resolved and empty", () => {
  assert.deepEqual(request.lookupRequiredResources(hex("42 05 0a 01 61 12 00"), "a"), { resolved: true, items: [] });
});

test("extra resources of older control planes have a map of their own", () => {
  const req = newRequest({ extraResources: { e: [{ kind: "E" }] }, requiredResources: { r: [{ kind: "R" }] } });
  assert.deepEqual([...request.allExtraResources(req).keys()], ["e"]);
  assert.equal(request.allExtraResources(req).get("e")?.[0]?.resource.kind, "E");
});

test("the watched resource is the one under its well-known name", () => {
  const req = newRequest({ requiredResources: { "ops.crossplane.io/watched-resource": [{ kind: "W" }] } });
  assert.equal(request.getWatchedResource(req)?.resource.kind, "W");
  assert.equal(request.getWatchedResource(newRequest()), undefined);
});

test("input: none, as it is, and decoded", () => {
  interface Input {
    readonly region: string;
  }
  assert.equal(request.getInput(newRequest()), undefined);
  assert.deepEqual(request.getInput(newRequest({ input: {} })), {}, "an empty input is one");
  const req = newRequest({ input: { region: "eu" } });
  assert.equal(request.getInput<Input>(req)?.region, "eu");
  assert.equal(
    request.requireInput(req, (input) => String(input["region"]).toUpperCase()),
    "EU",
  );
  assert.throws(
    () => request.requireInput(newRequest()),
    (error: unknown) => isFunctionError(error, "MISSING_INPUT"),
  );
  const boom = new Error("region is unknown");
  assert.throws(
    () =>
      request.getInput(req, () => {
        throw boom;
      }),
    (error: unknown) =>
      isFunctionError(error, "INVALID_INPUT") &&
      error.cause === boom &&
      error.message === "invalid input: region is unknown",
  );
});

test("context: a key that holds null exists, what an object inherits does not", () => {
  const req = newRequest({ context: { a: { b: 1 }, n: null } });
  assert.deepEqual(request.getContextKey(req, "a"), { b: 1 });
  assert.equal(request.getContextKey(req, "n"), null);
  assert.ok(request.hasContextKey(req, "n"));
  for (const key of ["missing", "constructor", "__proto__", "toString"]) {
    assert.equal(request.getContextKey(req, key), undefined);
    assert.ok(!request.hasContextKey(req, key));
  }
  const none = create(RunFunctionRequest);
  assert.equal(request.getContextKey(none, "a"), undefined);
  assert.ok(!request.hasContextKey(none, "a"));
});

test("composites are never undefined; missing parts are empty", () => {
  const none = create(RunFunctionRequest);
  for (const composite of [request.getObservedCompositeResource(none), request.getDesiredCompositeResource(none)]) {
    assert.deepEqual(composite.resource.object, {});
    assert.equal(composite.connectionDetails.size, 0);
    assert.equal(composite.ready, Ready.READY_UNSPECIFIED);
  }
  assert.equal(request.getObservedComposedResources(none).size, 0);
  assert.equal(request.getDesiredComposedResources(none).size, 0);
});

test("observed objects are frozen; editing them through setters leaves the request as it came", () => {
  const req = newRequest({
    xr: { spec: { size: 1 } },
    connectionDetails: { user: "u" },
    observed: { a: fromObject({ spec: { size: 2 } }, { connectionDetails: new Map([["k", Uint8Array.of(1)]]) }) },
  });
  const before = encode(RunFunctionRequest, req);
  const xr = request.getObservedCompositeResource(req);
  xr.resource.setValue("spec.size", 10);
  xr.connectionDetails.clear();
  const composed = request.getObservedComposedResources(req).get("a");
  assert.ok(composed);
  composed.resource.setValue("spec.extra.deep", true);
  composed.connectionDetails.set("k", Uint8Array.of(9));
  assert.throws(() => {
    const spec = request.getObservedComposedResources(req).get("a")?.resource.object["spec"] as { size: number };
    spec.size = 3;
  }, TypeError);
  assert.deepEqual(encode(RunFunctionRequest, req), before);
  assert.equal(xr.resource.getInteger("spec.size"), 10);
  assert.deepEqual(composed.resource.getObject("spec"), { size: 2, extra: { deep: true } });
});

test("desired objects are private copies", () => {
  const req = newRequest({
    desiredXr: fromObject({ status: { a: 1 } }, { ready: true }),
    desired: { a: fromObject({ spec: { list: [1] } }, { ready: false }) },
  });
  const before = encode(RunFunctionRequest, req);
  const xr = request.getDesiredCompositeResource(req);
  assert.equal(xr.ready, Ready.READY_TRUE);
  (xr.resource.object["status"] as { a: number }).a = 2;
  const desired = request.getDesiredComposedResources(req);
  const a = desired.get("a");
  assert.ok(a);
  assert.equal(a.ready, Ready.READY_FALSE);
  (a.resource.object["spec"] as { list: number[] }).list.push(2);
  desired.delete("a");
  assert.deepEqual(encode(RunFunctionRequest, req), before);
});

test("a composed resource may be called __proto__", () => {
  const req = decode(
    RunFunctionRequest,
    encode(RunFunctionRequest, newRequest({ observed: new Map([["__proto__", { kind: "K" }]]) })),
  );
  assert.equal(request.getObservedComposedResources(req).get("__proto__")?.resource.kind, "K");
});

test("sixty nested objects in a resource are read", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(60)}1${"}".repeat(60)}`) as object;
  const req = decode(RunFunctionRequest, encode(RunFunctionRequest, newRequest({ xr: deep })));
  const path = Array.from({ length: 60 }, () => "a").join(".");
  assert.equal(request.getObservedCompositeResource(req).resource.getInteger(path), 1);
});

test("missing credentials throw, or are undefined when only looked for", () => {
  const req = newRequest();
  assert.throws(
    () => request.getCredentials(req, "aws"),
    (error: unknown) => isFunctionError(error, "CREDENTIALS_NOT_FOUND") && error.message.includes('"aws"'),
  );
  assert.equal(request.lookupCredentials(req, "aws"), undefined);
});

test("credentials are bytes; text only on demand", () => {
  const req = newRequest({ credentials: { c: { user: "ü", key: Uint8Array.of(0xff, 0x00) } } });
  const wire = decode(RunFunctionRequest, encode(RunFunctionRequest, req));
  const credentials = request.getCredentials(wire, "c");
  assert.equal(credentials.type, "data");
  assert.deepEqual([...(credentials.data.get("key") ?? [])], [0xff, 0x00]);
  assert.equal(credentials.text("user"), "ü");
  assert.equal(credentials.text("missing"), undefined);
  assert.throws(
    () => credentials.text("key"),
    (error: unknown) => isFunctionError(error, "INVALID_CREDENTIALS"),
  );
  credentials.data.clear();
  assert.equal(request.getCredentials(wire, "c").data.size, 2, "the map is a copy");
});

test("credentials of a source this version does not know are refused by name", () => {
  const req = newRequest();
  req.credentials.set("c", create(Credentials));
  assert.throws(
    () => request.lookupCredentials(req, "c"),
    (error: unknown) => isFunctionError(error, "UNSUPPORTED_CREDENTIALS") && error.message.includes('"c"'),
  );
});

test("a value without a kind reads as null", () => {
  const req = newRequest();
  req.input = Struct.fromBytes(Buffer.from("0a050a016b1200", "hex"));
  assert.deepEqual(request.getInput(req), { k: null });
});
