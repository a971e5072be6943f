// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { builtinKinds } from "@purlin/kube-builtin";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectsAt } from "@purlin/kube-objects/object";
import { serverDirectory } from "../../test/store/temp-store.ts";
import { answerValue, type TestRequest, testRequest, textOf } from "../../test/test-server.ts";
import type { ApiResponse, CompleteResponse } from "../request/api-request.ts";
import { type ApiServer, startApiServer } from "../server/api-server.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer({ kinds: builtinKinds, directory: serverDirectory() });
});
after(() => server.close());

const send = (url: string, options?: TestRequest): Promise<ApiResponse> => server.handle(testRequest(url, options));

async function body(url: string, options?: TestRequest): Promise<JsonObject> {
  return answerValue(await send(url, options)) as JsonObject;
}

/** A namespace of its own for each test. */
let count = 0;
async function inNamespace(): Promise<string> {
  count += 1;
  const name = `ns-${count}`;
  await send("/api/v1/namespaces", { method: "POST", body: { metadata: { name } } });
  return `/api/v1/namespaces/${name}`;
}

const meta = (object: JsonObject): Record<string, never> => object["metadata"] as unknown as Record<string, never>;

test("create answers with what the server decided, and the same as JSON text", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const headers = { "user-agent": "kubectl/v1.36" };
  const response = await send(path, { method: "POST", headers, body: { metadata: { name: "a" }, data: { x: "1" } } });
  const object = answerValue(response) as JsonObject;
  assert.equal(response.code, 201);
  assert.deepEqual(JSON.parse(textOf(response)), JSON.parse(JSON.stringify(object)));
  assert.match(String(meta(object)["uid"]), /^[0-9a-f-]{36}$/);
  assert.match(String(meta(object)["resourceVersion"]), /^[1-9]\d*$/);
  assert.equal(meta(object)["generation"], undefined);
  const [entry] = objectsAt(object, ["metadata", "managedFields"]);
  assert.deepEqual(
    [entry?.["manager"], entry?.["operation"], entry?.["fieldsV1"]],
    ["kubectl", "Update", { "f:data": { ".": {}, "f:x": {} } }],
  );
  assert.ok(Object.isFrozen(object) && Object.isFrozen(object["data"]));
});

interface Refusal {
  readonly reason: string;
  readonly url: string;
  readonly options?: TestRequest;
  readonly code: number;
  readonly text: RegExp;
}

const post = (value: JsonObject, more: Partial<TestRequest> = {}): TestRequest => ({
  method: "POST",
  body: value,
  ...more,
});
const put = (value: JsonObject): TestRequest => ({ method: "PUT", body: value });

const refusals: Record<string, Refusal> = {
  NotFound: {
    reason: "nothing of that name",
    url: "/configmaps/none",
    code: 404,
    text: /^configmaps "none" not found$/,
  },
  NoNamespaceError: {
    reason: "the namespace is missing",
    url: "/../nowhere/configmaps",
    options: post({ metadata: { name: "a" } }),
    code: 404,
    text: /namespaces "nowhere" not found/,
  },
  NoName: {
    reason: "neither name nor generateName",
    url: "/configmaps",
    options: post({}),
    code: 422,
    text: /metadata.name: Required value/,
  },
  BadName: {
    reason: "not a DNS name",
    url: "/configmaps",
    options: post({ metadata: { name: "A_b" } }),
    code: 422,
    text: /RFC 1123 subdomain/,
  },
  VersionOnCreate: {
    reason: "a version on create",
    url: "/configmaps",
    options: post({ metadata: { name: "v", resourceVersion: "7" } }),
    code: 500,
    text: /^resourceVersion should not be set/,
  },
  OtherNamespace: {
    reason: "another namespace in the body",
    url: "/configmaps",
    options: post({ metadata: { name: "a", namespace: "x" } }),
    code: 400,
    text: /does not match the namespace sent/,
  },
  OtherKind: {
    reason: "another kind",
    url: "/configmaps",
    options: post({ kind: "Secret", apiVersion: "v1", metadata: { name: "a" } }),
    code: 400,
    text: /converting \(v1.Secret\) to \(core.ConfigMap\)/,
  },
  UnknownKind: {
    reason: "an unknown kind",
    url: "/configmaps",
    options: post({ kind: "Nope", metadata: { name: "a" } }),
    code: 400,
    text: /no kind "Nope" is registered/,
  },
  WrongType: {
    reason: "a number for a text",
    url: "/configmaps",
    options: post({ metadata: { name: "a" }, data: { x: 1 } }),
    code: 400,
    text: /cannot be handled as a ConfigMap: json: cannot unmarshal number/,
  },
  Strict: {
    reason: "an unknown field, strictly",
    url: "/configmaps?fieldValidation=Strict",
    options: post({ metadata: { name: "a" }, nope: 1 }),
    code: 400,
    text: /strict decoding error: unknown field "nope"/,
  },
  Malformed: {
    reason: "half an object",
    url: "/configmaps",
    options: { method: "POST", text: "{" },
    code: 400,
    text: /must be of type ConfigMap.*unexpected end of JSON input \(\{\)/,
  },
  Empty: { reason: "nothing", url: "/configmaps", options: { method: "POST" }, code: 400, text: /\(<empty>\)/ },
  MediaType: {
    reason: "an unsupported media type",
    url: "/configmaps",
    options: { method: "POST", text: "x", headers: { "content-type": "text/plain" } },
    code: 415,
    text: /application\/json, application\/yaml/,
  },
  DryRun: {
    reason: "another dry run",
    url: "/configmaps?dryRun=Some",
    options: post({ metadata: { name: "a" } }),
    code: 422,
    text: /dryRun: Unsupported value: \["Some"\]/,
  },
  NameMismatch: {
    reason: "another name in the body",
    url: "/configmaps/a",
    options: put({ metadata: { name: "b" } }),
    code: 400,
    text: /name of the object \(b\) does not match the name on the URL \(a\)/,
  },
  NoSuchVerb: {
    reason: "a collection cannot be put",
    url: "/configmaps",
    options: put({}),
    code: 405,
    text: /does not allow this method/,
  },
  NoSuchSubresource: {
    reason: "config maps have no status",
    url: "/configmaps/a/status",
    code: 404,
    text: /could not find the requested resource/,
  },
  BadSelector: {
    reason: "an invalid selector",
    url: "/configmaps?labelSelector=%21%21",
    code: 400,
    text: /./,
  },
  BadField: {
    reason: "a field that cannot be selected by",
    url: "/configmaps?fieldSelector=data.x%3D1",
    code: 400,
    text: /"data.x" is not a known field selector/,
  },
  BadVersion: {
    reason: "an invalid version",
    url: "/configmaps?resourceVersion=abc",
    code: 400,
    text: /^invalid resource version/,
  },
  ExactZero: {
    reason: "the state 0",
    url: "/configmaps?resourceVersion=0&resourceVersionMatch=Exact",
    code: 422,
    text: /forbidden for resourceVersion "0"/,
  },
  BadToken: { reason: "no token", url: "/configmaps?continue=%21", code: 400, text: /invalid continue token/ },
  BadLimit: { reason: "no number", url: "/configmaps?limit=x", code: 400, text: /strconv.ParseInt: parsing "x"/ },
  WatchMatch: {
    reason: "initial events need a match",
    url: "/configmaps?watch=1&sendInitialEvents=true",
    code: 422,
    text: /sendInitialEvents requires/,
  },
  Acceptable: {
    reason: "nothing we have",
    url: "/configmaps",
    options: { headers: { accept: "text/html" } },
    code: 406,
    text: /406: Not Acceptable\n\nAvailable representations: application\/json, application\/yaml, application\/json;stream=watch$/,
  },
};

for (const [name, { reason, url, options, code, text }] of Object.entries(refusals)) {
  test(`refused: ${name}`, async () => {
    const base = await inNamespace();
    const path = url.startsWith("/..") ? base.replace(/\/[^/]*$/, url.slice(3)) : `${base}${url}`;
    const response = (await send(path, options)) as CompleteResponse;
    const status = answerValue(response) as JsonObject;
    assert.equal(response.code, code, `${reason}: ${JSON.stringify(status)}`);
    assert.match(String(status["message"]), text, reason);
    assert.equal(status["kind"], "Status");
  });
}

test("a name is generated, within its length, and free", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const base = "x".repeat(70);
  const names = await Promise.all(
    Array.from({ length: 20 }, async () =>
      String(meta(await body(path, post({ metadata: { generateName: `${base}-` } })))["name"]),
    ),
  );
  assert.equal(new Set(names).size, 20);
  assert.ok(names.every((name) => name.length === 63 && name.startsWith("x".repeat(58))));
});

test("an update compares versions, keeps what the server set, and changes nothing when nothing changes", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const created = await body(path, post({ metadata: { name: "a" }, data: { x: "1" } }));
  const same = await body(`${path}/a`, put(created));
  assert.equal(meta(same)["resourceVersion"], meta(created)["resourceVersion"]);
  const changed = await body(`${path}/a`, put({ metadata: { name: "a" }, data: { x: "2" } }));
  assert.deepEqual(
    [meta(changed)["uid"], meta(changed)["creationTimestamp"]],
    [meta(created)["uid"], meta(created)["creationTimestamp"]],
  );
  assert.notEqual(meta(changed)["resourceVersion"], meta(created)["resourceVersion"]);
  const stale = await send(`${path}/a`, put({ ...created, data: { x: "3" } }));
  assert.equal(stale.code, 409);
  assert.match(textOf(stale), /the object has been modified; please apply your changes/);
});

test("patches of one object at the same time are all there", async () => {
  const path = `${await inNamespace()}/configmaps`;
  await send(path, post({ metadata: { name: "a" } }));
  const headers = { "content-type": "application/merge-patch+json" };
  const codes = await Promise.all(
    Array.from(
      { length: 50 },
      async (_, i) => (await send(`${path}/a`, { method: "PATCH", headers, body: { data: { [`k${i}`]: "v" } } })).code,
    ),
  );
  assert.deepEqual(new Set(codes), new Set([200]));
  const { data } = (await body(`${path}/a`)) as { data: JsonObject };
  assert.equal(Object.keys(data).length, 50);
});

const patches: Record<string, { type: string; patch: JsonObject | JsonObject[]; want: JsonObject | undefined }> = {
  Json: {
    type: "application/json-patch+json",
    patch: [{ op: "replace", path: "/data/x", value: "2" }],
    want: { x: "2", y: "1" },
  },
  Merge: { type: "application/merge-patch+json", patch: { data: { x: null, z: "3" } }, want: { y: "1", z: "3" } },
  Strategic: { type: "application/strategic-merge-patch+json", patch: { data: { x: "4" } }, want: { x: "4", y: "1" } },
};

for (const [name, { type, patch, want }] of Object.entries(patches)) {
  test(`patch: ${name}`, async () => {
    const path = `${await inNamespace()}/configmaps`;
    await send(path, post({ metadata: { name: "a" }, data: { x: "1", y: "1" } }));
    const patched = await body(`${path}/a`, {
      method: "PATCH",
      headers: { "content-type": type },
      text: JSON.stringify(patch),
    });
    assert.deepEqual(patched["data"], want);
    assert.deepEqual((await body(`${path}/a`))["data"], want);
  });
}

test("apply creates, is a no-op when repeated, takes back what it no longer says, and conflicts with others", async () => {
  const path = `${await inNamespace()}/configmaps/a`;
  const headers = { "content-type": "application/apply-patch+yaml" };
  const apply = (manager: string, data: JsonObject, query = ""): Promise<ApiResponse> =>
    send(`${path}?fieldManager=${manager}${query}`, {
      method: "PATCH",
      headers,
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data },
    });
  const created = await apply("one", { x: "1", y: "1" });
  assert.equal(created.code, 201);
  const again = await apply("one", { x: "1", y: "1" });
  assert.equal(
    meta(answerValue(again) as JsonObject)["resourceVersion"],
    meta(answerValue(created) as JsonObject)["resourceVersion"],
  );
  assert.equal((await apply("two", { x: "2" })).code, 409);
  assert.deepEqual((answerValue(await apply("two", { x: "2" }, "&force=true")) as JsonObject)["data"], {
    x: "2",
    y: "1",
  });
  assert.deepEqual((answerValue(await apply("one", {}, "&force=true")) as JsonObject)["data"], { x: "2" });
});

test("a dry run says what would be, and is forgotten", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const response = await send(`${path}?dryRun=All`, post({ metadata: { name: "a" } }));
  assert.equal(response.code, 201);
  assert.equal((await send(`${path}/a`)).code, 404);
  await send(path, post({ metadata: { name: "b" }, data: { x: "1" } }));
  const changed = await body(`${path}/b?dryRun=All`, put({ metadata: { name: "b" }, data: { x: "2" } }));
  assert.deepEqual(changed["data"], { x: "2" });
  assert.equal((await send(`${path}/b?dryRun=All`, { method: "DELETE" })).code, 200);
  assert.deepEqual((await body(`${path}/b`))["data"], { x: "1" });
});

test("what has a finalizer is marked, keeps its mark, takes no new ones, and goes with the last", async () => {
  const path = `${await inNamespace()}/configmaps`;
  await send(path, post({ metadata: { name: "a", finalizers: ["example.org/f"] } }));
  const marked = await body(`${path}/a`, { method: "DELETE" });
  assert.equal(meta(marked)["deletionGracePeriodSeconds"], 0);
  const again = await body(`${path}/a`, { method: "DELETE" });
  assert.equal(meta(again)["resourceVersion"], meta(marked)["resourceVersion"]);
  const headers = { "content-type": "application/merge-patch+json" };
  const more = await send(`${path}/a`, {
    method: "PATCH",
    headers,
    body: { metadata: { finalizers: ["example.org/f", "example.org/g"] } },
  });
  assert.equal(more.code, 422);
  assert.equal(
    (await send(`${path}/a`, { method: "PATCH", headers, body: { metadata: { finalizers: null } } })).code,
    200,
  );
  assert.equal((await send(`${path}/a`)).code, 404);
});

test("deletion checks its preconditions", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const created = await body(path, post({ metadata: { name: "a" } }));
  const wrong = await send(`${path}/a`, { method: "DELETE", body: { preconditions: { uid: "other" } } });
  assert.equal(wrong.code, 409);
  assert.match(textOf(wrong), /the UID in the precondition \(other\) does not match the UID in record/);
  const right = await body(`${path}/a`, {
    method: "DELETE",
    body: { preconditions: { uid: String(meta(created)["uid"]) } },
  });
  assert.deepEqual([right["status"], (right["details"] as JsonObject)["uid"]], ["Success", meta(created)["uid"]]);
});

test("a collection is deleted by selector and answered with what it was", async () => {
  const path = `${await inNamespace()}/configmaps`;
  for (const name of ["a", "b", "c"]) {
    await send(path, post({ metadata: { name, labels: { odd: String(name !== "b") } } }));
  }
  const { items } = (await body(`${path}?labelSelector=odd%3Dtrue`, { method: "DELETE" })) as unknown as {
    items: JsonObject[];
  };
  assert.deepEqual(
    items.map((item) => meta(item)["name"]),
    ["a", "c"],
  );
  const left = (await body(path)) as unknown as { items: JsonObject[] };
  assert.deepEqual(
    left.items.map((item) => meta(item)["name"]),
    ["b"],
  );
});

test("lists come in pages of one state, with and without selectors", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const names = ["a", "b", "c", "d", "e"];
  await Promise.all(
    names.map((name) => send(path, post({ metadata: { name, labels: { vowel: String("ae".includes(name)) } } }))),
  );
  interface Page {
    readonly metadata: {
      readonly continue?: string;
      readonly remainingItemCount?: number;
      readonly resourceVersion: string;
    };
    readonly items: JsonObject[];
  }
  const page = async (query: string): Promise<Page> => (await body(`${path}?${query}`)) as unknown as Page;
  const first = await page("limit=2");
  assert.deepEqual([first.metadata.remainingItemCount, first.items.length], [3, 2]);
  await send(path, post({ metadata: { name: "bb" } }));
  await send(`${path}/e`, { method: "DELETE" });
  const second = await page(`limit=10&continue=${first.metadata.continue}`);
  assert.deepEqual(
    second.items.map((item) => meta(item)["name"]),
    ["c", "d", "e"],
    "the state of the first page",
  );
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
  const exact = await page(`resourceVersion=${first.metadata.resourceVersion}&resourceVersionMatch=Exact`);
  assert.equal(exact.items.length, 5);
  const selected = await page("labelSelector=vowel%3Dfalse&limit=2");
  assert.deepEqual([selected.items.length, selected.metadata.remainingItemCount], [2, undefined]);
  assert.deepEqual((await page(`labelSelector=vowel%3Dfalse&continue=${selected.metadata.continue}`)).items.length, 1);
  assert.equal((await page("limit=1&resourceVersion=0")).items.length, 5);
  assert.equal((await page("fieldSelector=metadata.name%3Dc")).items.length, 1);
  server.compact();
  await send(path, post({ metadata: { name: "late" } }));
  const expired = (await send(`${path}?limit=1&continue=${first.metadata.continue}`)) as CompleteResponse;
  const status = answerValue(expired) as unknown as { reason: string; metadata: { continue: string } };
  assert.deepEqual([expired.code, status.reason], [410, "Expired"]);
  const inconsistent = await page(`continue=${status.metadata.continue}`);
  assert.deepEqual(
    inconsistent.items.map((item) => meta(item)["name"]),
    ["bb", "c", "d", "late"],
  );
});

test("items of built-in lists carry no type on the wire", async () => {
  const path = `${await inNamespace()}/configmaps`;
  await send(path, post({ metadata: { name: "a" }, data: { text: "ünïcode \u{1F600}" } }));
  const list = JSON.parse(textOf(await send(path))) as { kind: string; items: JsonObject[] };
  assert.equal(list.kind, "ConfigMapList");
  assert.deepEqual(Object.keys(list.items[0] ?? {}), ["metadata", "data"]);
  assert.deepEqual(list.items[0]?.["data"], { text: "ünïcode \u{1F600}" });
  const empty = JSON.parse(textOf(await send(`${path}?labelSelector=none`))) as { items: unknown };
  assert.deepEqual(empty.items, []);
});

test("objects are returned as tables and as metadata on request", async () => {
  const path = `${await inNamespace()}/configmaps`;
  await send(path, post({ metadata: { name: "a" }, data: { x: "1" } }));
  const table = (await body(path, {
    headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
  })) as unknown as { kind: string; rows: { cells: unknown[] }[] };
  assert.deepEqual([table.kind, table.rows[0]?.cells.slice(0, 2)], ["Table", ["a", 1]]);
  const accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
  const partial = (await body(path, { headers: { accept } })) as unknown as { kind: string; items: JsonObject[] };
  assert.deepEqual([partial.kind, partial.items[0]?.["data"]], ["PartialObjectMetadataList", undefined]);
});

test("unknown fields are reported and dropped, and reported with errors too", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const response = (await send(path, post({ metadata: { name: "a", nope: 1 }, other: 2 }))) as CompleteResponse;
  assert.deepEqual(response.warnings, ['unknown field "metadata.nope"', 'unknown field "other"']);
  assert.equal((answerValue(response) as JsonObject)["other"], undefined);
  const refused = (await send(path, post({ metadata: { name: "B" }, other: 2 }))) as CompleteResponse;
  assert.deepEqual([refused.code, refused.warnings], [422, ['unknown field "other"']]);
  const ignored = (await send(
    `${path}?fieldValidation=Ignore`,
    post({ metadata: { name: "c" }, other: 2 }),
  )) as CompleteResponse;
  assert.deepEqual([ignored.code, ignored.warnings ?? []], [201, []]);
});

test("YAML bodies are read as Kubernetes reads them", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const headers = { "content-type": "application/yaml" };
  const text = "metadata:\n  name: a\ndata: &d\n  on: 'yes'\nimmutable: no\nbinaryData: {}\n";
  const created = await body(path, { method: "POST", headers, text });
  assert.deepEqual([created["data"], created["immutable"]], [{ true: "yes" }, false]);
  const twice = (await send(path, {
    method: "POST",
    headers,
    text: "metadata: {name: b}\ndata:\n  a: '1'\n  a: '2'\n",
  })) as CompleteResponse;
  assert.deepEqual([twice.code, twice.warnings], [201, ['line 4: key "a" already set in map']]);
  const laughs = `a: &a [x,x,x,x,x,x,x,x,x]\n${[..."bcdefgh"].map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[i]}`).join(",")}]`).join("\n")}\n`;
  const bomb = await send(path, { method: "POST", headers, text: laughs });
  assert.equal(bomb.code, 400);
  assert.match(textOf(bomb), /excessive aliasing/);
});
