// SPDX-License-Identifier: Apache-2.0
// Server-side apply end to end: owners of fields, conflicts, and the messages.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { answerValue, definitionsPath, widgetCrd } from "../../test/test-server.ts";
import type { CompleteResponse } from "../request/api-request.ts";

const widgets = "/apis/example.org/v1/namespaces/default/widgets";
const configMaps = "/api/v1/namespaces/default/configmaps";
const deployments = "/apis/apps/v1/namespaces/default/deployments";

let server: TestServer;
before(async () => {
  server = await startTestServer();
  await server.post(definitionsPath, widgetCrd);
  await server.until(widgets, ({ code }) => code === 200);
});
after(() => server[Symbol.asyncDispose]());

const headers = { "content-type": "application/apply-patch+yaml" };
let count = 0;
function fresh(): string {
  count += 1;
  return `a${count}`;
}

async function applyTo(url: string, config: JsonValue): Promise<CompleteResponse> {
  return (await server.send(url, { method: "PATCH", headers, body: config })) as CompleteResponse;
}

interface Ownership {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: JsonObject;
}

const widget = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: "example.org/v1",
  kind: "Widget",
  metadata: { name },
  ...more,
});
/** Applies as a manager, whose name more of the query may follow. */
const apply = (name: string, manager: string, more: JsonObject = {}): Promise<CompleteResponse> =>
  applyTo(`${widgets}/${name}?fieldManager=${manager}`, widget(name, more));
const objectOf = (response: CompleteResponse): JsonObject => answerValue(response) as JsonObject;
const ownersOf = (object: JsonObject): readonly Ownership[] =>
  (object["metadata"] as unknown as { managedFields: readonly Ownership[] }).managedFields;

test("two managers share an object, and neither takes away what the other wants", async () => {
  const name = fresh();
  assert.equal((await apply(name, "size", { spec: { replicas: 1 } })).code, 201);
  const both = await apply(name, "paint&force=true", { spec: { color: "blue" } });
  assert.deepEqual(objectOf(both)["spec"], { replicas: 1, color: "blue" });
  const without = objectOf(await apply(name, "size"));
  assert.deepEqual(without["spec"], { color: "blue" });
  assert.deepEqual(
    ownersOf(without).map(({ manager, operation, fieldsV1 }) => [manager, operation, fieldsV1]),
    [["paint", "Apply", { "f:spec": { "f:color": {} } }]],
    "an empty apply owns nothing",
  );
});

test("a field that two managers own stays until both release it", async () => {
  const name = fresh();
  await apply(name, "one", { spec: { color: "blue" } });
  assert.equal((await apply(name, "two", { spec: { color: "blue" } })).code, 200, "the same value does not conflict");
  assert.deepEqual(objectOf(await apply(name, "one"))["spec"], { color: "blue" });
  assert.equal(objectOf(await apply(name, "two"))["spec"], undefined);
});

test("a conflict names every manager and field, and changes nothing", async () => {
  const name = fresh();
  await apply(name, "one", { spec: { color: "blue", replicas: 1 } });
  const before = await server.body(`${widgets}/${name}`);
  const response = await apply(name, "two", { spec: { color: "red", replicas: 2 } });
  const status = objectOf(response) as unknown as {
    message: string;
    reason: string;
    details: { causes: JsonObject[] };
  };
  assert.deepEqual([response.code, status.reason], [409, "Conflict"]);
  assert.equal(status.message, 'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.color\n- .spec.replicas');
  assert.deepEqual(
    status.details.causes.map(({ reason, field }) => [reason, field]),
    [
      ["FieldManagerConflict", ".spec.color"],
      ["FieldManagerConflict", ".spec.replicas"],
    ],
  );
  assert.deepEqual(await server.body(`${widgets}/${name}`), before);
});

test("an update takes the fields, and the next apply conflicts", async () => {
  const name = fresh();
  await apply(name, "one", { spec: { color: "blue", replicas: 1 } });
  await server.patch(`${widgets}/${name}?fieldManager=hand`, { spec: { color: "green" } });
  const refused = await apply(name, "one", { spec: { color: "blue", replicas: 1 } });
  assert.equal(refused.code, 409);
  assert.match(
    String(objectOf(refused)["message"]),
    /^Apply failed with 1 conflict: conflict with "hand" using example.org\/v1: .spec.color$/,
  );
  const forced = objectOf(await apply(name, "one&force=true", { spec: { color: "blue", replicas: 1 } }));
  assert.deepEqual(
    ownersOf(forced).map(({ manager }) => manager),
    ["one"],
  );
});

test("the status is applied apart from the rest", async () => {
  const name = fresh();
  const status = (replicas: number): Promise<CompleteResponse> =>
    applyTo(
      `${widgets}/${name}/status?fieldManager=one`,
      widget(name, { spec: { replicas: 9 }, status: { replicas } }),
    );
  assert.equal((await status(1)).code, 404, "a status is of something");
  await apply(name, "one", { spec: { replicas: 1 }, status: { replicas: 5 } });
  const object = objectOf(await status(1));
  assert.deepEqual([object["spec"], object["status"]], [{ replicas: 1, color: "red" }, { replicas: 1 }]);
  assert.deepEqual(
    ownersOf(object).map(({ subresource = "", fieldsV1 }) => [subresource, fieldsV1]),
    [
      ["", { "f:spec": { "f:replicas": {} } }],
      ["status", { "f:status": { "f:replicas": {} } }],
    ],
  );
  assert.deepEqual(objectOf(await apply(name, "one"))["status"], { replicas: 1 }, "the main apply does not own it");
});

test("an apply that changes nothing writes nothing, by any manager", async () => {
  const name = fresh();
  await apply(name, "one", { spec: { replicas: 3 } });
  await apply(name, "two", { spec: { replicas: 3 } });
  // The server itself may write other objects meanwhile, and the version of a list changes with each of them.
  const version = async (): Promise<unknown> =>
    ((await server.body(`${widgets}/${name}`))["metadata"] as JsonObject)["resourceVersion"];
  const before = await version();
  for (const manager of ["one", "two"]) {
    assert.equal((await apply(name, `${manager}&force=true`, { spec: { replicas: 3 } })).code, 200);
  }
  await apply(name, "three&force=true&dryRun=All", { spec: { replicas: 4 } });
  assert.equal(await version(), before);
});

test("applies of one object at the same time by many all come through, also when it is not there yet", async () => {
  const name = fresh();
  const url = `${configMaps}/${name}`;
  const codes = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { [`k${at}`]: "v" } };
      return (await applyTo(`${url}?fieldManager=m${at}`, config)).code;
    }),
  );
  assert.equal(codes.filter((code) => code === 201).length, 1);
  assert.ok(
    codes.every((code) => code === 200 || code === 201),
    String(codes),
  );
  const object = await server.body(url);
  assert.deepEqual([Object.keys(object["data"] as JsonObject).length, ownersOf(object).length], [20, 20]);
});

test("of a list with keys each manager owns its items, and of those its fields", async () => {
  const name = fresh();
  const labels = { app: name };
  const deploy = (manager: string, containers: JsonObject[]): Promise<CompleteResponse> =>
    applyTo(`${deployments}/${name}?fieldManager=${manager}`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    });
  const namesOf = (response: CompleteResponse): unknown => {
    const { spec } = objectOf(response) as unknown as { spec: { template: { spec: { containers: JsonObject[] } } } };
    return spec.template.spec.containers.map(({ name: one, image }) => `${one}=${image}`);
  };
  assert.equal((await deploy("app", [{ name: "app", image: "app:1" }])).code, 201);
  const injected = await deploy("mesh", [{ name: "proxy", image: "proxy:1" }]);
  assert.deepEqual(namesOf(injected), ["app=app:1", "proxy=proxy:1"]);
  const refused = await deploy("mesh", [{ name: "app", image: "app:2" }]);
  assert.match(
    String(objectOf(refused)["message"]),
    /conflict with "app": .spec.template.spec.containers\[name="app"\].image$/,
  );
  assert.deepEqual(namesOf(await deploy("app", [{ name: "app", image: "app:3" }])), ["app=app:3", "proxy=proxy:1"]);
  const alone = await deploy("mesh", []);
  assert.deepEqual(namesOf(alone), ["app=app:3"], "an item goes with the last that wants it");
});

const refusals: Record<string, { reason: string; query?: string; config: JsonValue; code: number; text: RegExp }> = {
  NoManager: {
    reason: "no field manager",
    query: "",
    config: widget("x"),
    code: 422,
    text: /^PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch$/,
  },
  LongManager: {
    reason: "a name has an end",
    query: `fieldManager=${"m".repeat(129)}`,
    config: widget("x"),
    code: 422,
    text: /fieldManager: Too long: may not be more than 128 bytes/,
  },
  OtherVersion: {
    reason: "the version is the one of the path",
    config: { ...widget("x"), apiVersion: "example.org/v2" },
    code: 400,
    text: /^invalid object type: example.org\/v2, Kind=Widget$/,
  },
  NoVersion: {
    reason: "nor can there be none",
    config: { kind: "Widget", metadata: { name: "x" } },
    code: 400,
    text: /^invalid object type: \/, Kind=Widget$/,
  },
  OtherKind: {
    reason: "nor another kind",
    config: { ...widget("x"), kind: "Gadget" },
    code: 400,
    text: /^invalid object type: .*Kind=Gadget$/,
  },
  OtherName: {
    reason: "the name is the one of the path",
    config: widget("y"),
    code: 400,
    text: /the name of the object \(y\) does not match the name on the URL \(x\)/,
  },
  Owned: {
    reason: "ownership is the server's to write",
    config: { ...widget("x"), metadata: { name: "x", managedFields: [] as JsonValue[] } },
    code: 400,
    text: /metadata.managedFields must be nil/,
  },
  Uid: {
    reason: "what has a uid was there",
    config: { ...widget("x"), metadata: { name: "x", uid: "01234567-89ab-cdef-0123-456789abcdef" } },
    code: 409,
    text: /uid mismatch: the provided object specified uid 01234567/,
  },
  UnknownField: {
    reason: "a field without an owner",
    config: widget("x", { spec: { nope: 1 } }),
    code: 500,
    text: /failed to create typed patch object .*: .spec.nope: field not declared in schema$/,
  },
  WrongType: {
    reason: "a text for a number",
    config: widget("x", { spec: { replicas: "many" } }),
    code: 500,
    text: /: .spec.replicas: expected numeric \(int or float\), got string$/,
  },
  NoObject: {
    reason: "a list is not a configuration",
    config: [widget("x")],
    code: 400,
    text: /cannot unmarshal array into Go value of type map\[string\]interface \{\}/,
  },
  Nothing: { reason: "not even a kind", config: null, code: 400, text: /^invalid object type: \/, Kind=$/ },
};

for (const [name, { reason, query = "fieldManager=m", config, code, text }] of Object.entries(refusals)) {
  test(`an apply that is refused: ${name}`, async () => {
    const response = await applyTo(`${widgets}/x?${query}`, config);
    const { message } = objectOf(response);
    assert.equal(response.code, code, `${reason}: ${message}`);
    assert.match(String(message), text, reason);
    assert.equal((await server.send(`${widgets}/x`)).code, 404, "nothing was made");
  });
}

test("a duplicate key is a warning, refused when strict, and ignored with Ignore", async () => {
  const name = fresh();
  const text = `apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: ${name}}\nspec:\n  replicas: 1\n  replicas: 2\n`;
  const send = async (validation: string): Promise<CompleteResponse> => {
    const url = `${widgets}/${name}?fieldManager=m${validation}`;
    return (await server.send(url, { method: "PATCH", headers, text })) as CompleteResponse;
  };
  const strict = await send("&fieldValidation=Strict");
  assert.equal(strict.code, 400);
  assert.match(
    String(objectOf(strict)["message"]),
    /error strict decoding YAML: .*line 6: key "replicas" already set in map/s,
  );
  assert.deepEqual((await send("&fieldValidation=Ignore")).warnings ?? [], []);
  assert.match(String((await send("")).warnings), /line 6: key "replicas" already set in map/);
});
