// SPDX-License-Identifier: Apache-2.0
// Deleting end to end: options from bodies and queries, what stays for a finalizer, and refusals.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { answerValue, type TestRequest } from "../../test/test-server.ts";
import type { CompleteResponse } from "../request/api-request.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const jobs = "/apis/batch/v1/namespaces/default/jobs";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

let count = 0;
async function made(metadata: JsonObject = {}): Promise<string> {
  count += 1;
  await server.post(configMaps, { metadata: { name: `d${count}`, ...metadata } });
  return `${configMaps}/d${count}`;
}

const remove = async (url: string, request: Partial<TestRequest> = {}): Promise<CompleteResponse> =>
  (await server.send(url, { method: "DELETE", ...request })) as CompleteResponse;
const objectOf = (response: CompleteResponse): JsonObject => answerValue(response) as JsonObject;
const metaOf = (object: JsonObject): JsonObject => object["metadata"] as JsonObject;

const refusals: Record<string, { reason: string; query?: string; body?: JsonValue; code: number; text: RegExp }> = {
  HugeKind: {
    reason: "a number as the kind",
    body: { kind: 9007199254740993n },
    code: 400,
    text: /9007199254740993/,
  },
  Policy: {
    reason: "an unknown policy",
    query: "?propagationPolicy=Sideways",
    code: 422,
    text: /^DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"$/,
  },
  PolicyOfBody: {
    reason: "nor in a body",
    body: { propagationPolicy: "Sideways" },
    code: 422,
    text: /propagationPolicy: Unsupported value: "Sideways"/,
  },
  Twice: {
    reason: "the old way and the new one",
    body: { orphanDependents: true, propagationPolicy: "Orphan" },
    code: 422,
    text: /propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set$/,
  },
  DryRun: {
    reason: "all or nothing",
    body: { dryRun: ["Some"] },
    code: 422,
    text: /dryRun: Unsupported value: \["Some"\]: supported values: "All"$/,
  },
  Uid: {
    reason: "another object of the same name",
    body: { preconditions: { uid: "other" } },
    code: 409,
    text: /the UID in the precondition \(other\) does not match the UID in record/,
  },
  Version: {
    reason: "another state of it",
    body: { preconditions: { resourceVersion: "1" } },
    code: 409,
    text: /the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record/,
  },
  List: {
    reason: "a list has no effect",
    body: [],
    code: 400,
    text: /cannot unmarshal array into Go value of type struct/,
  },
  Text: {
    reason: "nor does a text",
    body: "x",
    code: 400,
    text: /cannot unmarshal string into Go value of type struct/,
  },
  Number: { reason: "nor a number", body: 1, code: 400, text: /cannot unmarshal number into Go value of type struct/ },
  Switch: { reason: "nor a switch", body: true, code: 400, text: /cannot unmarshal bool into Go value of type struct/ },
  OtherKind: {
    reason: "a Pod is not DeleteOptions",
    body: { kind: "Pod", apiVersion: "v1" },
    code: 400,
    text: /^no kind "Pod" is registered for version "v1"/,
  },
  Grace: {
    reason: "a time is a number",
    body: { gracePeriodSeconds: "soon" },
    code: 400,
    text: /cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64$/,
  },
};

for (const [name, { reason, query = "", body, code, text }] of Object.entries(refusals)) {
  test(`a delete that is refused: ${name}`, async () => {
    const url = await made();
    const response = await remove(`${url}${query}`, body === undefined ? {} : { body });
    const { message } = objectOf(response);
    assert.equal(response.code, code, `${reason}: ${message}`);
    assert.match(String(message), text, reason);
    assert.equal((await server.send(url)).code, 200, "it is still there");
  });
}

test("a body that cannot be parsed is refused with the parse error", async () => {
  const url = await made();
  const rows: readonly (readonly [string, string, number, RegExp])[] = [
    ["application/json", "{", 400, /unexpected end of JSON input|EOF/],
    ["text/plain", "{}", 415, /the body of the request was in an unknown format/],
    [
      "application/vnd.kubernetes.protobuf",
      "{}",
      400,
      /does not appear to be a protobuf message, expected prefix \[107 56 115 0\]/,
    ],
    [
      "application/json",
      '{"gracePeriodSeconds":1.0}',
      400,
      /cannot unmarshal number 1\.0 into Go struct field DeleteOptions/,
    ],
  ];
  for (const [type, text, code, message] of rows) {
    const response = await remove(url, { headers: { "content-type": type }, text });
    assert.equal(response.code, code, `${type} ${text}: ${objectOf(response)["message"]}`);
    assert.match(String(objectOf(response)["message"]), message);
  }
  assert.equal((await server.send(url)).code, 200);
});

test("options may have any version, unknown keys, and be YAML", async () => {
  const rows: readonly (readonly [string, string])[] = [
    ["application/json", '{"kind":"DeleteOptions","apiVersion":"apps/v1","nope":1}'],
    ["application/json", '{"kind":"DeleteOptions"}'],
    ["application/json", "null"],
    ["application/yaml", "propagationPolicy: Background\n"],
  ];
  for (const [type, text] of rows) {
    const response = await remove(await made(), { headers: { "content-type": type }, text });
    assert.deepEqual([response.code, objectOf(response)["status"]], [200, "Success"], text);
  }
});

const finalizers: Record<
  string,
  { reason: string; has?: string[]; body?: JsonObject; code?: number; want: string[] | undefined }
> = {
  Nothing: { reason: "no finalizer", want: undefined },
  Held: { reason: "a finalizer", has: ["example.org/f"], want: ["example.org/f"] },
  Orphan: { reason: "its dependents are released first", body: { propagationPolicy: "Orphan" }, want: ["orphan"] },
  Foreground: {
    reason: "its dependents go first",
    body: { propagationPolicy: "Foreground" },
    want: ["foregroundDeletion"],
  },
  Background: {
    reason: "what it was to wait for before is over",
    has: ["orphan", "example.org/f"],
    body: { propagationPolicy: "Background" },
    want: ["example.org/f"],
  },
  OldOrphan: { reason: "the old way to say it", body: { orphanDependents: true }, want: ["orphan"] },
  OldBackground: {
    reason: "is answered as accepted",
    has: ["example.org/f"],
    body: { orphanDependents: false },
    code: 202,
    want: ["example.org/f"],
  },
  Changed: {
    reason: "the way can be changed",
    has: ["orphan"],
    body: { propagationPolicy: "Foreground" },
    want: ["foregroundDeletion"],
  },
};

for (const [name, { reason, has, body, code = 200, want }] of Object.entries(finalizers)) {
  test(`what an object waits for: ${name}`, async () => {
    // A dry run, so that no collector comes between.
    const url = await made(has === undefined ? {} : { finalizers: has });
    const response = await remove(url, { body: { ...body, dryRun: ["All"] } });
    assert.equal(response.code, code, reason);
    const object = objectOf(response);
    assert.deepEqual(object["kind"] === "Status" ? undefined : metaOf(object)["finalizers"], want, reason);
    assert.equal(metaOf(await server.body(url))["deletionTimestamp"], undefined, "a dry run marks nothing");
  });
}

test("an object that is marked keeps the time of its first mark", async () => {
  const url = await made({ finalizers: ["example.org/f"] });
  const first = metaOf(objectOf(await remove(url)));
  assert.equal(first["deletionGracePeriodSeconds"], 0);
  const again = metaOf(objectOf(await remove(url, { body: { propagationPolicy: "Background" } })));
  assert.deepEqual(again, first);
  const gone = await server.patch(url, { metadata: { finalizers: null } });
  assert.equal(metaOf(gone)["finalizers"], undefined);
  assert.equal((await server.send(url)).code, 404);
});

test("jobs orphan their pods by default", async () => {
  const pod = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "c" }] } };
  await server.post(jobs, { metadata: { name: "j" }, spec: { template: pod } });
  const byDefault = objectOf(await remove(`${jobs}/j?dryRun=All`));
  assert.deepEqual(metaOf(byDefault)["finalizers"], ["orphan"]);
  const deleted = objectOf(await remove(`${jobs}/j?dryRun=All&propagationPolicy=Background`));
  assert.equal(deleted["status"], "Success");
});

test("deleting jobs without a propagation policy gives a warning", async () => {
  const about = /child pods are preserved by default/;
  assert.match((await remove(`${jobs}?dryRun=All`)).warnings?.join() ?? "", about);
  for (const query of ["propagationPolicy=Background", "propagationPolicy=Orphan", "orphanDependents=false"]) {
    assert.deepEqual((await remove(`${jobs}?dryRun=All&${query}`)).warnings ?? [], [], query);
  }
  assert.deepEqual((await remove(`${configMaps}?dryRun=All`)).warnings ?? [], [], "other kinds leave nothing behind");
});

test("a collection goes in portions, marks what is held, and says what was there", async () => {
  const labels = { of: "collection" };
  for (const name of ["c1", "c2", "c3"]) {
    const held = name === "c2" ? { finalizers: ["example.org/f"] } : {};
    await server.post(configMaps, { metadata: { name, labels, ...held } });
  }
  const list = `${configMaps}?labelSelector=of%3Dcollection`;
  const namesOf = (object: JsonObject): unknown =>
    (object["items"] as JsonObject[]).map((item) => metaOf(item)["name"]);
  const dry = objectOf(await remove(`${list}&dryRun=All`));
  assert.deepEqual(namesOf(dry), ["c1", "c2", "c3"]);
  const portion = objectOf(await remove(`${list}&limit=1`));
  assert.deepEqual(namesOf(portion), ["c1"]);
  assert.notEqual(metaOf(portion)["continue"] ?? "", "");
  assert.deepEqual(namesOf(objectOf(await remove(list))), ["c2", "c3"]);
  const left = await server.body(list);
  assert.deepEqual(namesOf(left), ["c2"]);
  const [held = {}] = left["items"] as JsonObject[];
  assert.equal(typeof metaOf(held)["deletionTimestamp"], "string");
  await server.patch(`${configMaps}/c2`, { metadata: { finalizers: null } });
});

test("a generation that a client gave, as large as it may be, is counted on", async () => {
  const marked = async (generation: bigint): Promise<JsonValue | undefined> => {
    const url = await made({ generation, finalizers: ["example.org/hold"] });
    return metaOf(objectOf(await remove(url)))["generation"];
  };
  assert.equal(await marked(9007199254740993n), 9007199254740994n);
  assert.equal(await marked(2n ** 63n - 1n), -(2n ** 63n));
});

test("a grace period may be any int64", async () => {
  const url = await made();
  const body = { gracePeriodSeconds: 9223372036854775807n };
  assert.equal((await remove(url, { body })).code, 200);
});
