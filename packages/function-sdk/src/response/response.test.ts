// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Condition,
  create,
  decode,
  encode,
  Ready,
  Result,
  RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  State,
  Status,
  Struct,
  Target,
} from "@purlin/function-protocol";
import { isFunctionError } from "../errors/function-error.ts";
import * as request from "../request.ts";
import * as resource from "../resource.ts";
import * as response from "../response.ts";
import { newRequest } from "../testing/new-request.ts";

const full = (): RunFunctionRequest =>
  newRequest({
    tag: "t",
    desiredXr: resource.fromObject({ status: { a: 1 } }, { connectionDetails: new Map([["u", Uint8Array.of(1)]]) }),
    desired: { a: { kind: "A", list: [1] }, b: resource.fromObject({ kind: "B" }, { ready: true }) },
    context: { k: { v: 1 } },
  });

test("nothing done to a response shows in the request it came from", () => {
  const req = full();
  const before = encode(RunFunctionRequest, req);
  const rsp = response.to(req);
  response.setDesiredComposedResource(rsp, "a", { kind: "changed" });
  response.setDesiredCompositeStatus(rsp, { b: 2 });
  response.setDesiredCompositeReady(rsp, true);
  response.setDesiredConnectionDetails(rsp, { u: "other" });
  response.removeDesiredComposedResource(rsp, "b");
  response.setContextKey(rsp, "k", { v: 2 });
  assert.ok(rsp.desired?.composite && rsp.meta?.ttl);
  rsp.desired.composite.connectionDetails.clear();
  rsp.meta.ttl.seconds = 7n;
  rsp.meta.tag = "other";
  assert.deepEqual(encode(RunFunctionRequest, req), before);
});

test("unedited fields are shared, not copied", () => {
  const req = full();
  const rsp = response.to(req);
  assert.equal(rsp.desired?.resources.get("a")?.resource, req.desired?.resources.get("a")?.resource);
  assert.equal(rsp.context, req.context);
  const unread = request.getDesiredComposedResources(req);
  response.setDesiredComposedResources(rsp, unread);
  assert.equal(rsp.desired?.resources.get("a")?.resource, req.desired?.resources.get("a")?.resource);
});

test("no desired and no context: present empty desired, absent context", () => {
  const rsp = response.to(create(RunFunctionRequest));
  assert.deepEqual(rsp.desired, create(State));
  assert.equal(rsp.context, undefined);
  assert.equal(rsp.meta?.tag, "");
  assert.equal(encode(RunFunctionResponse, rsp).toString("hex"), "0a0412020 83c1200".replace(" ", ""));
});

test("an untouched desired state is sent in the bytes received", () => {
  const req = full();
  // Fields of a newer protocol, on the state and on a resource.
  assert.ok(req.desired);
  req.desired.$unknown = [Uint8Array.of(0x98, 0x06, 0x05)];
  const b = req.desired.resources.get("b");
  assert.ok(b);
  b.$unknown = [Uint8Array.of(0x98, 0x06, 0x06)];
  const received = decode(RunFunctionRequest, encode(RunFunctionRequest, req));
  assert.ok(received.desired);
  const rsp = response.to(received);
  assert.ok(rsp.desired);
  assert.deepEqual(encode(State, rsp.desired), encode(State, req.desired));
});

test("unknown fields of the request itself are not taken for fields of the response", () => {
  const req = full();
  req.$unknown = [Uint8Array.of(0x98, 0x06, 0x05)];
  assert.equal(response.to(req).$unknown, undefined);
});

const ttls: Record<string, { ttl: response.Ttl | undefined; want: { seconds: bigint; nanos: number } | undefined }> = {
  Default: { ttl: undefined, want: { seconds: 60n, nanos: 0 } },
  "C45 Zero": { ttl: 0, want: { seconds: 0n, nanos: 0 } },
  "C45 Null": { ttl: null, want: undefined },
  "C45 NinetySeconds": { ttl: 90_000, want: { seconds: 90n, nanos: 0 } },
  Parts: { ttl: { seconds: 1, nanos: 5 }, want: { seconds: 1n, nanos: 5 } },
  PartsWithoutNanos: { ttl: { seconds: 2 }, want: { seconds: 2n, nanos: 0 } },
  Fraction: { ttl: 1500.5, want: { seconds: 1n, nanos: 500_500_000 } },
  JustBelow: { ttl: 999.9999999999, want: { seconds: 0n, nanos: 999_999_999 } },
};

for (const [name, { ttl, want }] of Object.entries(ttls)) {
  test(`TTL: ${name}`, () => {
    const rsp = response.to(newRequest(), { ttl });
    assert.deepEqual(rsp.meta?.ttl && { seconds: rsp.meta.ttl.seconds, nanos: rsp.meta.ttl.nanos }, want);
  });
}

test("an invalid duration is rejected as a TTL", () => {
  for (const ttl of [
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    { seconds: 1.5 },
    { seconds: 1, nanos: -1 },
    { seconds: 1e15 },
  ]) {
    assert.throws(
      () => response.to(newRequest(), { ttl }),
      (error: unknown) => isFunctionError(error, "INVALID_TTL"),
    );
  }
});

test("setting one composed resource replaces it, keeps the others and joins no lists", () => {
  const rsp = response.to(full());
  response.setDesiredComposedResources(rsp, { a: { resource: { kind: "A", list: [2] }, ready: true } });
  const { resources } = rsp.desired as State;
  assert.deepEqual([...resources.keys()], ["a", "b"]);
  assert.deepEqual(resources.get("a")?.resource?.value, { kind: "A", list: [2] });
  assert.equal(resources.get("a")?.ready, Ready.READY_TRUE);
  assert.deepEqual(resources.get("b")?.resource?.value, { kind: "B" });
  assert.equal(resources.get("b")?.ready, Ready.READY_TRUE);
});

test("composed resources come from plain objects, typed ones, wrappers, maps and messages", () => {
  interface Typed {
    kind: string;
  }
  const typed: Typed = { kind: "T" };
  const rsp = response.to(newRequest());
  response.setDesiredComposedResource(rsp, "plain", { kind: "P" }, { ready: Ready.READY_FALSE });
  response.setDesiredComposedResource(rsp, "typed", typed);
  response.setDesiredComposedResource(rsp, "wrapper", new resource.ComposedObject({ kind: "W" }));
  response.setDesiredComposedResources(rsp, new Map([["map", { resource: { kind: "M" } }]]));
  response.setDesiredResources(rsp, {
    op: { kind: "O" },
    message: resource.fromObject({ kind: "R" }, { ready: true }),
  });
  const kinds = [...(rsp.desired?.resources ?? [])].map(([name, one]) => [
    name,
    one.resource?.value["kind"],
    one.ready,
  ]);
  assert.deepEqual(kinds, [
    ["plain", "P", 2],
    ["typed", "T", 0],
    ["wrapper", "W", 0],
    ["map", "M", 0],
    ["op", "O", 0],
    ["message", "R", 1],
  ]);
});

test("an object is encoded when it is set: later edits do not show", () => {
  const rsp = response.to(newRequest());
  const object = { spec: { size: 1 } };
  response.setDesiredComposedResource(rsp, "a", object);
  object.spec.size = 2;
  assert.deepEqual(rsp.desired?.resources.get("a")?.resource?.value, { spec: { size: 1 } });
});

test("an object JSON cannot hold is refused where it is set, by resource and path", () => {
  const rsp = response.to(newRequest());
  assert.throws(
    () => response.setDesiredComposedResource(rsp, "bucket", { spec: { size: Number.NaN } }),
    (error: unknown) =>
      isFunctionError(error, "INVALID_RESOURCE") && error.message.startsWith('desired resource "bucket": spec.size: '),
  );
  assert.equal(rsp.desired?.resources.size, 0);
});

test("a null member of a desired object stays null", () => {
  const rsp = response.to(newRequest());
  response.setDesiredComposedResource(rsp, "a", { spec: { gone: null, unset: undefined } });
  const received = decode(RunFunctionResponse, encode(RunFunctionResponse, rsp));
  assert.deepEqual(received.desired?.resources.get("a")?.resource?.value, { spec: { gone: null } });
});

test("an undefined member is left out, an undefined item is null", () => {
  const rsp = response.to(newRequest());
  response.setDesiredComposedResource(rsp, "a", { spec: { unset: undefined, list: [1, undefined] } });
  assert.deepEqual(rsp.desired?.resources.get("a")?.resource?.value, { spec: { list: [1, null] } });
});

test("integers stay integers", () => {
  const rsp = response.to(newRequest());
  response.setDesiredComposedResource(rsp, "a", { spec: { size: 3 } });
  const received = decode(RunFunctionResponse, encode(RunFunctionResponse, rsp));
  assert.equal(JSON.stringify(received.desired?.resources.get("a")?.resource), '{"spec":{"size":3}}');
});

test("removing a resource says whether it was there", () => {
  const rsp = response.to(full());
  assert.equal(response.removeDesiredComposedResource(rsp, "a"), true);
  assert.equal(response.removeDesiredComposedResource(rsp, "a"), false);
  assert.equal(response.removeDesiredComposedResource(create(RunFunctionResponse), "a"), false);
});

test("the desired composite is replaced as a whole, or one part at a time", () => {
  const req = full();
  const rsp = response.to(req);
  const xr = request.getDesiredCompositeResource(req);
  xr.resource.setValue("status.b", 2);
  xr.ready = Ready.READY_TRUE;
  response.setDesiredCompositeResource(rsp, xr);
  assert.deepEqual(rsp.desired?.composite?.resource?.value, { status: { a: 1, b: 2 } });
  assert.equal(rsp.desired?.composite?.ready, Ready.READY_TRUE);
  assert.deepEqual([...(rsp.desired?.composite?.connectionDetails.keys() ?? [])], ["u"]);
  response.setDesiredCompositeResource(rsp, { resource: { status: {} }, ready: false });
  assert.equal(rsp.desired?.composite?.ready, Ready.READY_FALSE);
  assert.equal(rsp.desired?.composite?.connectionDetails.size, 0);
  response.setDesiredConnectionDetails(rsp, { text: "é", bytes: Uint8Array.of(0xff) });
  assert.deepEqual(
    [...(rsp.desired?.composite?.connectionDetails ?? [])].map(([key, value]) => [key, [...value]]),
    [
      ["text", [0xc3, 0xa9]],
      ["bytes", [0xff]],
    ],
  );
});

test("a composite status is merged; lists are replaced", () => {
  const rsp = response.to(newRequest({ desiredXr: { status: { a: { x: 1, l: [1, 2] } } } }));
  response.setDesiredCompositeStatus(rsp, { a: { y: 2, l: [3] }, b: null });
  assert.deepEqual(rsp.desired?.composite?.resource?.value, { status: { a: { x: 1, y: 2, l: [3] }, b: null } });
  const empty = create(RunFunctionResponse);
  response.setDesiredCompositeStatus(empty, { a: 1 });
  response.setDesiredCompositeReady(empty, Ready.READY_TRUE);
  assert.deepEqual(empty.desired?.composite?.resource?.value, { status: { a: 1 } });
  assert.throws(
    () => response.setDesiredCompositeStatus(empty, { at: new Date(0) }),
    (error: unknown) => isFunctionError(error, "INVALID_RESOURCE") && error.message.includes("at: "),
  );
});

test("fields of a newer protocol survive the replacement of what they belong to", () => {
  const req = full();
  const unknown = [Uint8Array.of(0x98, 0x06, 0x05)];
  assert.ok(req.desired?.composite);
  req.desired.composite.$unknown = unknown;
  const a = req.desired.resources.get("a");
  assert.ok(a);
  a.$unknown = unknown;
  const rsp = response.to(req);
  response.setDesiredCompositeResource(rsp, { resource: {} });
  response.setDesiredComposedResource(rsp, "a", {});
  assert.deepEqual(rsp.desired?.composite?.$unknown, unknown);
  assert.deepEqual(rsp.desired?.resources.get("a")?.$unknown, unknown);
});

test("context keys are set and deleted without touching the others", () => {
  const rsp = response.to(full());
  response.setContextKey(rsp, "__proto__", "p");
  response.setContextKey(rsp, "new", [1, { a: null }]);
  assert.equal(JSON.stringify(rsp.context), '{"k":{"v":1},"__proto__":"p","new":[1,{"a":null}]}');
  assert.equal(response.deleteContextKey(rsp, "k"), true);
  assert.equal(response.deleteContextKey(rsp, "k"), false);
  assert.equal(response.deleteContextKey(rsp, "constructor"), false);
  assert.equal(JSON.stringify(rsp.context), '{"__proto__":"p","new":[1,{"a":null}]}');
  const none = create(RunFunctionResponse);
  assert.equal(response.deleteContextKey(none, "k"), false);
  assert.equal(encode(RunFunctionResponse, none).length, 0, "deleting makes no context");
  response.setContextKey(none, "k", null);
  assert.deepEqual(none.context?.value, { k: null });
  assert.throws(
    () => response.setContextKey(none, "bad", { d: new Date(0) }),
    (error: unknown) => isFunctionError(error, "INVALID_CONTEXT") && error.message.includes('"bad"'),
  );
});

test("an output is a JSON object or refused", () => {
  const rsp = response.to(newRequest());
  response.setOutput(rsp, { done: true });
  assert.deepEqual(rsp.output?.value, { done: true });
  for (const output of [[1], null, "text", { f: () => 1 }]) {
    assert.throws(
      () => response.setOutput(rsp, output as object),
      (error: unknown) => isFunctionError(error, "INVALID_OUTPUT"),
    );
  }
});

const selections: Record<
  string,
  { selection: Partial<response.ResourceSelection>; want?: object | undefined; refused?: true }
> = {
  Name: { selection: { matchName: "n" }, want: { case: "matchName", value: "n" } },
  Labels: { selection: { matchLabels: { a: "1" } }, want: { case: "matchLabels", value: new Map([["a", "1"]]) } },
  NoLabels: { selection: { matchLabels: {} }, want: { case: "matchLabels", value: new Map() } },
  "C29 All": { selection: { matchAll: true }, want: undefined },
  "C29 Neither": { selection: {}, refused: true },
  "C29 Both": { selection: { matchName: "n", matchLabels: {} }, refused: true },
  AllAndName: { selection: { matchName: "n", matchAll: true }, refused: true },
  AllFalse: { selection: { matchAll: false }, refused: true },
  EmptyName: { selection: { matchName: "" }, refused: true },
  EmptyKind: { selection: { matchName: "n", kind: "" }, refused: true },
  EmptyApiVersion: { selection: { matchName: "n", apiVersion: "" }, refused: true },
};

for (const [name, { selection, want, refused }] of Object.entries(selections)) {
  test(`resource selection: ${name}`, () => {
    const rsp = response.to(newRequest());
    const whole = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", ...selection };
    if (refused) {
      assert.throws(
        () => response.requireResources(rsp, "cm", whole),
        (error: unknown) => isFunctionError(error, "INVALID_SELECTOR") && error.message.includes('"cm"'),
      );
      return;
    }
    response.requireResources(rsp, "cm", whole);
    const selector = rsp.requirements?.resources.get("cm");
    assert.ok(selector);
    const { match } = selector;
    const flat = match?.case === "matchLabels" ? { case: match.case, value: match.value.labels } : match;
    assert.deepEqual(flat, want);
    assert.deepEqual([selector.apiVersion, selector.kind, selector.namespace], ["v1", "ConfigMap", "ns"]);
  });
}

test("requirements add up; the same name overwrites", () => {
  const rsp = response.to(newRequest());
  response.requireSchema(rsp, "a", "apps/v1", "Deployment");
  response.requireSchema(rsp, "b", "v1", "Pod");
  response.requireSchema(rsp, "a", "apps/v1", "StatefulSet");
  response.requireResource(rsp, "a", { apiVersion: "v1", kind: "Pod", matchName: "p" });
  response.requireExtraResources(rsp, "old", { apiVersion: "v1", kind: "Pod", matchName: "p" });
  const { schemas, resources, extraResources } = rsp.requirements ?? {};
  assert.deepEqual(
    [...(schemas ?? [])].map(([name, { apiVersion, kind }]) => [name, apiVersion, kind]),
    [
      ["a", "apps/v1", "StatefulSet"],
      ["b", "v1", "Pod"],
    ],
  );
  assert.deepEqual([...(resources?.keys() ?? [])], ["a"]);
  assert.deepEqual([...(extraResources?.keys() ?? [])], ["old"]);
  assert.throws(
    () => response.requireSchema(rsp, "c", "v1", ""),
    (error: unknown) => isFunctionError(error, "INVALID_SELECTOR"),
  );
});

test("results are added in order, by default for the composite resource", () => {
  const rsp = response.to(newRequest());
  response.normal(rsp, "n");
  response.warning(rsp, new Error("w", { cause: new Error("why") })).withReason("Careful");
  response.fatal(rsp, "f").targetCompositeAndClaim();
  response.fatal(rsp, "g").targetCompositeAndClaim().targetComposite();
  response.addResult(rsp, create(Result, { severity: Severity.SEVERITY_NORMAL, message: "own" }));
  assert.deepEqual(
    rsp.results.map(({ severity, message, reason, target }) => [severity, message, reason, target]),
    [
      [3, "n", undefined, 1],
      [2, "w: why", "Careful", 1],
      [1, "f", undefined, 2],
      [1, "g", undefined, 1],
      [3, "own", undefined, undefined],
    ],
  );
});

test("the seed's first sketch: conditions chained to a result share its target and message", () => {
  const err = new Error("The image provided does not exist or you are not authorized to use it.");
  const before = response.to(newRequest());
  response.fatal(before, err).targetCompositeAndClaim().conditionFalse("ImageReady", "NotFound");
  const after = response.to(newRequest());
  response.fatal(after, err).conditionFalse("ImageReady", "NotFound").targetCompositeAndClaim();
  assert.deepEqual(after, before, "whatever the order");
  const [condition] = after.conditions;
  assert.deepEqual(
    condition,
    create(Condition, {
      type: "ImageReady",
      status: Status.STATUS_CONDITION_FALSE,
      reason: "NotFound",
      message: err.message,
      target: Target.TARGET_COMPOSITE_AND_CLAIM,
    }),
  );
  response.warning(after, "w").conditionTrue("A", "R", "own message").conditionUnknown("B", "R").targetComposite();
  assert.deepEqual(
    after.conditions.slice(1).map(({ type, status, message, target }) => [type, status, message, target]),
    [
      ["A", 2, "own message", 1],
      ["B", 1, "w", 1],
    ],
  );
});

test("conditions are added with status, reason, message and target", () => {
  const rsp = response.to(newRequest());
  response.conditionTrue(rsp, "A", "Ok");
  response.conditionFalse(rsp, "B", "Bad").withMessage("m").targetCompositeAndClaim();
  response.conditionUnknown(rsp, "C", "Hm").targetCompositeAndClaim().targetComposite();
  const prepared = create(Condition, { type: "Ready", status: Status.STATUS_CONDITION_TRUE });
  response.addCondition(rsp, prepared);
  prepared.type = "changed";
  response.setConditions(rsp, { type: "D", status: "False", reason: "R", message: "m" }, { type: "E", status: "True" });
  assert.deepEqual(
    rsp.conditions.map(({ type, status, reason, message, target }) => [type, status, reason, message, target]),
    [
      ["A", 2, "Ok", undefined, 1],
      ["B", 3, "Bad", "m", 2],
      ["C", 1, "Hm", undefined, 1],
      ["Ready", 2, "", undefined, undefined],
      ["D", 3, "R", "m", 1],
      ["E", 2, "", undefined, 1],
    ],
  );
});

test("a reserved condition type is refused, except in a condition prepared by hand", () => {
  const rsp = response.to(newRequest());
  for (const type of ["Ready", "Synced", "Healthy", "Responsive", "UpToDate"]) {
    const refused = (error: unknown): boolean =>
      isFunctionError(error, "RESERVED_CONDITION") && error.message.includes(type);
    assert.throws(() => response.conditionTrue(rsp, type, "R"), refused);
    assert.throws(() => response.warning(rsp, "w").conditionTrue(type, "R"), refused);
    assert.throws(() => response.setConditions(rsp, { type, status: "True" }), refused);
  }
  assert.equal(rsp.conditions.length, 0);
});

test("helpers work on a response made by hand, with nothing in it", () => {
  const rsp = create(RunFunctionResponse);
  response.setDesiredComposedResource(rsp, "a", { kind: "A" });
  response.requireSchema(rsp, "s", "v1", "Pod");
  response.normal(rsp, "n");
  response.conditionTrue(rsp, "A", "R");
  const received = decode(RunFunctionResponse, encode(RunFunctionResponse, rsp));
  assert.ok(received.desired?.resources.get("a")?.resource instanceof Struct);
});
