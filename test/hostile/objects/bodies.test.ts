// SPDX-License-Identifier: Apache-2.0
// Requests for built-in kinds and definitions that are as large, as deep or as repetitive as a request may be.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, definitions, objectNamed, objectsOf, sendJson, sendText } from "./attacked-kind.ts";
import { requestOfAttributes, requestOfNames, requestOfUris, secretOf } from "./certificate-attacks.ts";

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());
await define(
  server.target,
  "Free",
  definition("Free", {
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    list: { type: "array", items: { type: "string" } },
    map: { type: "object", additionalProperties: { type: "string" } },
  }),
);

const namespace = "/api/v1/namespaces/default";
const configMaps = `${namespace}/configmaps`;
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const frees = objectsOf("Free");
const list = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));
const map = <T>(count: number, member: (index: number) => T): Record<string, T> =>
  Object.fromEntries(list(count, (i) => [`k${i}`, member(i)]));
/** Names with a prefix, and amounts that are whole. */
const devices = (count: number, name = (i: number): string => `example.org/d${i}`): Record<string, string> =>
  Object.fromEntries(list(count, (i) => [name(i), "1"]));
const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
const configMap = (name: string, more: JsonObject): JsonObject => ({ metadata: { name }, ...more });
const freeText = (free: string, name = "deep"): string =>
  `{"apiVersion":"hostile.example.org/v1","kind":"Free","metadata":{"name":"${name}"},"spec":{"free":${free}}}`;
const mergePatch = "application/merge-patch+json";
const jsonPatch = "application/json-patch+json";
const strategicPatch = "application/strategic-merge-patch+json";
const applyPatch = "application/apply-patch+yaml";
const json = "application/json";
const yaml = "application/yaml";

interface Attack {
  readonly method: string;
  readonly path: string;
  readonly body: string | object;
  readonly type?: string;
  /** The status codes that an API server may answer with. */
  readonly codes: readonly number[];
}

const ok = [200, 201];
const refused = [400, 413, 422];
const post = (path: string, body: string | object, type = json, codes = [...ok, ...refused]): Attack => ({
  method: "POST",
  path,
  body,
  type,
  codes,
});
const patch = (path: string, body: string | object, type: string, codes = [...ok, ...refused]): Attack => ({
  method: "PATCH",
  path,
  body,
  type,
  codes,
});
/** A definition whose schema has these members at its root. */
const schemaOf = (kind: string, members: JsonObject): JsonObject => {
  const crd = definition(kind, {}) as { readonly spec: { readonly versions: readonly [JsonObject] } } & JsonObject;
  const [one] = crd.spec.versions;
  const schema = { openAPIV3Schema: { type: "object", ...members } };
  return { ...crd, spec: { ...crd.spec, versions: [{ ...one, schema }] } };
};
const versions = (count: number): JsonObject => {
  const crd = definition("Versioned", {}) as {
    readonly spec: { readonly versions: readonly [JsonObject] };
  } & JsonObject;
  const [one] = crd.spec.versions;
  return {
    ...crd,
    spec: { ...crd.spec, versions: list(count, (i) => ({ ...one, name: `v${i + 1}`, storage: i === 0 })) },
  };
};
const wideSchema = (count: number): JsonObject =>
  definition(
    "Wide",
    Object.fromEntries(list(count, (i) => [`field${i}`, { type: "string", description: `Field ${i}.` }])),
  );
const deepSchema = (depth: number): JsonObject => {
  let schema: JsonObject = { type: "string" };
  for (let i = 0; i < depth; i++) schema = { type: "object", properties: { a: schema } };
  return definition("Deep", { a: schema });
};

/** A patch that makes a manager own these fields of the spec. */
const owned = (spec: JsonObject): JsonObject => ({
  metadata: {
    managedFields: [
      {
        manager: "m",
        operation: "Update",
        apiVersion: "hostile.example.org/v1",
        time: "2026-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:spec": spec },
      },
    ],
  },
});

const attacks: Record<string, Attack> = {
  "a ConfigMap of 90,000 keys": post(configMaps, configMap("keys", { data: map(90_000, () => "") }), json, ok),
  "a ConfigMap of 90,000 wrong keys": post(
    configMaps,
    configMap("wrong", { data: Object.fromEntries(list(90_000, (i) => [`?${i}`, ""])) }),
  ),
  "a ConfigMap of 90,000 labels": post(configMaps, { metadata: { name: "labels", labels: map(90_000, () => "") } }),
  "a ConfigMap of 90,000 wrong labels": post(configMaps, {
    metadata: { name: "bad", labels: Object.fromEntries(list(90_000, (i) => [`?${i}`, "?"])) },
  }),
  "a ConfigMap of 90,000 annotations": post(configMaps, {
    metadata: { name: "annotations", annotations: map(90_000, () => "") },
  }),
  "a ConfigMap of 90,000 finalizers": post(configMaps, {
    metadata: { name: "finalizers", finalizers: list(90_000, (i) => `example.org/f${i}`) },
  }),
  "a ConfigMap of 90,000 wrong finalizers": post(configMaps, {
    metadata: { name: "badfinalizers", finalizers: list(90_000, (i) => `?${i}`) },
  }),
  "a ConfigMap of 95,000 finalizers that are numbers": post(
    configMaps,
    { metadata: { name: "numbers", finalizers: list(95_000, () => 0) } },
    json,
    refused,
  ),
  "a Pod whose containers have as many devices as they may": post(`${namespace}/pods`, {
    metadata: { name: "devices" },
    spec: { containers: list(9, (i) => ({ name: `c${i}`, image: "i", resources: { limits: devices(9_900) } })) },
  }),
  "a Pod with more devices than a container may have": post(
    `${namespace}/pods`,
    {
      metadata: { name: "d" },
      spec: { containers: [{ name: "c", image: "i", resources: { limits: devices(90_000) } }] },
    },
    json,
    [413],
  ),
  "90,000 labels with a prefix": post(
    configMaps,
    configMap("prefixed", { metadata: { name: "prefixed", labels: devices(90_000) } }),
  ),
  "80,000 labels with a prefix each": post(
    configMaps,
    configMap("prefixes", { metadata: { name: "prefixes", labels: devices(80_000, (i) => `p${i}.example.org/k`) } }),
  ),
  "a selector of 90,000 labels with a prefix": post("/apis/apps/v1/namespaces/default/deployments", {
    metadata: { name: "prefixed" },
    spec: {
      selector: { matchLabels: devices(45_000) },
      template: { metadata: { labels: devices(45_000) }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  }),
  "90,000 annotations with a prefix": post(
    configMaps,
    configMap("annotated", { metadata: { name: "annotated", annotations: devices(90_000) } }),
  ),
  "a Pod of 95,000 containers that are numbers": post(
    `${namespace}/pods`,
    { metadata: { name: "numbers" }, spec: { containers: list(95_000, () => 0) } },
    json,
    refused,
  ),
  "a Pod of as many containers as it may have and as many to debug the last of them": post(`${namespace}/pods`, {
    metadata: { name: "debugged" },
    spec: {
      containers: list(4096, (i) => ({
        name: `c${i}`,
        image: "i",
        resources: { limits: { cpu: "1", memory: "1Gi" } },
      })),
      initContainers: list(4096, (i) => ({ name: `i${i}`, image: "i", env: [{ name: "A", value: "a" }] })),
      ephemeralContainers: list(4096, (i) => ({ name: `e${i}`, image: "i", targetContainerName: "c4095" })),
    },
  }),
  "a Deployment of 33,000 containers": post("/apis/apps/v1/namespaces/default/deployments", {
    metadata: { name: "contained" },
    spec: {
      selector: { matchLabels: { a: "a" } },
      template: {
        metadata: { labels: { a: "a" } },
        spec: { containers: list(33_000, (i) => ({ name: `c${i}`, image: "i" })) },
      },
    },
  }),
  "a Pod of 11,000 containers and as many to debug the last of them": post(`${namespace}/pods`, {
    metadata: { name: "debugged" },
    spec: {
      containers: list(11_000, (i) => ({ name: `c${i}`, image: "i" })),
      ephemeralContainers: list(11_000, (i) => ({ name: `e${i}`, image: "i", targetContainerName: "c10999" })),
    },
  }),
  "an object of 90,000 finalizers without a domain": post(frees, {
    ...objectNamed("Free", "finalizers", {}),
    metadata: { name: "finalizers", finalizers: list(90_000, (i) => `f${i}`) },
  }),
  "a ConfigMap of 20,000 owners": post(configMaps, {
    metadata: {
      name: "owners",
      ownerReferences: list(20_000, (i) => ({ apiVersion: "v1", kind: "A", name: `n${i}`, uid: `u${i}` })),
    },
  }),
  "a ConfigMap of 25,000 owners, each twice": post(configMaps, {
    metadata: {
      name: "twice",
      ownerReferences: list(25_000, (i) => ({ apiVersion: "v1", kind: "A", name: `n${i >> 1}`, uid: `u${i >> 1}` })),
    },
  }),
  "a ConfigMap of 25,000 controllers": post(configMaps, {
    metadata: {
      name: "controllers",
      ownerReferences: list(20_000, (i) => ({
        apiVersion: "v1",
        kind: "A",
        name: "n",
        uid: `u${i}`,
        controller: true,
      })),
    },
  }),
  "a ConfigMap of 5,000 managers": post(configMaps, {
    metadata: {
      name: "managers",
      managedFields: list(5_000, (i) => ({
        manager: `m${i}`,
        operation: "Update",
        apiVersion: "v1",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": {} },
      })),
    },
  }),
  "a ConfigMap of 90,000 unknown fields": post(configMaps, {
    metadata: { name: "unknown" },
    ...map(90_000, () => 1),
  }),
  "90,000 unknown fields with a warning": post(
    `${frees}?fieldValidation=Warn`,
    { ...objectNamed("Free", "unknownwarn", {}), ...map(90_000, () => 1) },
    json,
    ok,
  ),
  "90,000 unknown fields, strictly": post(
    `${frees}?fieldValidation=Strict`,
    { ...objectNamed("Free", "unknownstrict", {}), ...map(90_000, () => 1) },
    json,
    [400],
  ),
  "a ConfigMap of one text of 2.9 MB": post(configMaps, configMap("text", { data: { a: "x".repeat(2_900_000) } })),
  "a text of 1.4 MB of quotes": post(frees, objectNamed("Free", "quotes", { list: ['"'.repeat(1_400_000)] })),
  "a Secret of 20,000 values": post(`${namespace}/secrets`, configMap("secret", { data: map(20_000, () => "AAAA") })),
  "a Secret of 20,000 wrong values": post(
    `${namespace}/secrets`,
    configMap("badsecret", { data: map(20_000, () => "?") }),
  ),
  "a Pod of 10,000 containers": post(`${namespace}/pods`, {
    metadata: { name: "pod" },
    spec: { containers: list(10_000, (i) => ({ name: `c${i}`, image: "a" })) },
  }),
  "a Pod of 10,000 containers of one name": post(`${namespace}/pods`, {
    metadata: { name: "samepod" },
    spec: { containers: list(10_000, () => ({ name: "c", image: "a" })) },
  }),
  "a Pod of 20,000 variables": post(`${namespace}/pods`, {
    metadata: { name: "envpod" },
    spec: { containers: [{ name: "c", image: "a", env: list(20_000, (i) => ({ name: `V${i >> 1}`, value: "" })) }] },
  }),
  "a Service of 10,000 ports": post(`${namespace}/services`, {
    metadata: { name: "service" },
    spec: { ports: list(10_000, (i) => ({ name: `p${i}`, port: i + 1 })) },
  }),
  "a Role of 20,000 rules": post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", {
    metadata: { name: "role" },
    rules: list(20_000, () => ({ apiGroups: [""], resources: ["pods"], verbs: ["get"] })),
  }),
  "objects nested 900 deep": post(frees, freeText(`${'{"a":'.repeat(900)}1${"}".repeat(900)}`)),
  "objects nested 300,000 deep": post(
    frees,
    freeText(`${'{"a":'.repeat(300_000)}1${"}".repeat(300_000)}`),
    json,
    refused,
  ),
  "lists nested 1,000,000 deep": post(frees, freeText(`{"a":${nested(1_000_000, "[", "]")}}`), json, refused),
  "a text that ends early": post(frees, freeText('{"a":[').slice(0, -3) + "[".repeat(2_000_000), json, refused),
  "90,000 keys of the same name": post(
    frees,
    freeText(`{${list(90_000, () => '"a":1').join()}}`, "same-keys"),
    json,
    ok,
  ),
  "YAML with 30,000 keys of the same name": post(
    frees,
    `apiVersion: hostile.example.org/v1\nkind: Free\nmetadata:\n  name: twice\nspec:\n  free:\n${"    a: 1\n".repeat(30_000)}`,
    yaml,
  ),
  "YAML of 80,000 lines": post(
    frees,
    `apiVersion: hostile.example.org/v1\nkind: Free\nmetadata:\n  name: lines\nspec:\n  list:\n${"  - a\n".repeat(80_000)}`,
    yaml,
    ok,
  ),
  "YAML of 1,000,000 items": post(frees, `spec: {list: [${"a,".repeat(1_000_000)}]}`, yaml, [413]),
  "YAML of 400,000 lines": post(frees, `spec:\n  list:\n${"  - a\n".repeat(400_000)}`, yaml, [413]),
  "YAML aliases that stand for a billion items": post(
    frees,
    `a: &a [x,x,x,x,x,x,x,x,x]\n${list(9, (i) => `${"bcdefghij"[i]}: &${"bcdefghij"[i]} [${list(9, () => `*${"abcdefghi"[i]}`).join()}]`).join("\n")}\n`,
    yaml,
    [400],
  ),
  "a JSON patch of 10,000 operations": patch(
    `${frees}/target`,
    list(10_000, (i) => ({ op: "add", path: `/spec/map/k${i}`, value: "v" })),
    jsonPatch,
    [200],
  ),
  "a JSON patch of 10,000 items put first": patch(
    `${frees}/target`,
    list(10_000, () => ({ op: "add", path: "/spec/list/0", value: "v" })),
    jsonPatch,
  ),
  "a JSON patch of 10,000 tests of a large value": patch(
    `${frees}/target`,
    [
      { op: "add", path: "/spec/list", value: list(90_000, () => "v") },
      ...list(9_000, () => ({ op: "test", path: "/spec/list", value: null })),
    ],
    jsonPatch,
  ),
  "a JSON patch of 10,001 operations": patch(
    `${frees}/target`,
    list(10_001, () => ({ op: "test", path: "/kind", value: "Free" })),
    jsonPatch,
    [413],
  ),
  "a JSON patch that copies itself 30 times": patch(
    `${frees}/target`,
    list(30, () => ({ op: "copy", from: "/spec", path: "/spec/free/copy" })),
    jsonPatch,
  ),
  "a JSON patch that copies 10,000 times": patch(
    `${frees}/target`,
    [
      { op: "add", path: "/spec/free", value: { a: "x".repeat(10_000) } },
      ...list(9_000, (i) => ({ op: "copy", from: "/spec/free/a", path: `/spec/free/b${i}` })),
    ],
    jsonPatch,
  ),
  "a JSON patch that moves 9,000 times": patch(
    `${frees}/target`,
    [
      { op: "add", path: "/spec/free", value: { a0: list(50_000, () => 1) } },
      ...list(9_000, (i) => ({ op: "move", from: `/spec/free/a${i}`, path: `/spec/free/a${i + 1}` })),
    ],
    jsonPatch,
  ),
  "a merge patch of 90,000 keys": patch(
    `${frees}/target`,
    { spec: { map: map(90_000, () => "v") } },
    mergePatch,
    [200],
  ),
  "a merge patch that removes 90,000 keys": patch(
    `${frees}/target`,
    { spec: { map: map(90_000, () => null) } },
    mergePatch,
  ),
  "a strategic merge patch of 90,000 keys": patch(
    `${configMaps}/target`,
    { data: map(90_000, () => "v") },
    strategicPatch,
    [200],
  ),
  "a strategic merge patch of 20,000 owners": patch(
    `${configMaps}/target`,
    { metadata: { ownerReferences: list(20_000, (i) => ({ apiVersion: "v1", kind: "A", name: "n", uid: `u${i}` })) } },
    strategicPatch,
  ),
  "an apply of 90,000 keys": patch(
    `${frees}/applied?fieldManager=one`,
    objectNamed("Free", "applied", { map: map(90_000, () => "v") }),
    applyPatch,
    ok,
  ),
  "an apply of the same keys by another manager": patch(
    `${frees}/applied?fieldManager=two`,
    objectNamed("Free", "applied", { map: map(90_000, () => "v") }),
    applyPatch,
    ok,
  ),
  "an apply that changes 90,000 keys of others": patch(
    `${frees}/applied?fieldManager=three`,
    objectNamed("Free", "applied", { map: map(90_000, () => "w") }),
    applyPatch,
    [409],
  ),
  "an apply that gives up 90,000 keys": patch(
    `${frees}/applied?fieldManager=two`,
    objectNamed("Free", "applied", {}),
    applyPatch,
    ok,
  ),
  "an apply of 89,000 keys and a wrong one": patch(
    `${frees}/applied?fieldManager=four`,
    objectNamed("Free", "applied", { map: { ...map(89_000, () => "v"), zz: 1 } }),
    applyPatch,
    [500],
  ),
  "a merge patch of 90,000 labels": patch(
    `${frees}/target`,
    { metadata: { labels: map(90_000, () => "v") } },
    mergePatch,
    [200],
  ),
  "a merge patch of 89,000 labels and a wrong one": patch(
    `${frees}/target`,
    { metadata: { labels: { ...map(89_000, () => "v"), "?": "" } } },
    mergePatch,
    [422],
  ),
  "a merge patch that removes 90,000 labels": patch(
    `${frees}/target`,
    { metadata: { labels: null } },
    mergePatch,
    [200],
  ),
  "a merge patch of 90,000 unknown fields, strictly": patch(
    `${frees}/target?fieldValidation=Strict`,
    { spec: map(90_000, () => 1) },
    mergePatch,
    [422],
  ),
  "a merge patch that makes 90,000 keys of another kind": patch(
    `${frees}/target`,
    { kind: "", spec: { map: map(90_000, () => "v") } },
    mergePatch,
    refused,
  ),
  "a strategic merge patch of 90,000 wrong values": patch(
    `${configMaps}/target`,
    { data: map(90_000, () => 1) },
    strategicPatch,
    refused,
  ),
  "a strategic merge patch of a list of different items": patch(
    `${configMaps}/target`,
    { metadata: { finalizers: ["a/b", ...list(90_000, (i) => i)] } },
    strategicPatch,
    refused,
  ),
  "a strategic merge patch whose order of 30,000 items does not fit": patch(
    `${configMaps}/target`,
    {
      metadata: {
        "$setElementOrder/ownerReferences": list(20_000, (i) => ({ uid: `u${i}` })),
        ownerReferences: list(12_000, (i) => ({ apiVersion: "v1", kind: "A", name: "n", uid: `u${19_999 - i}` })),
      },
    },
    strategicPatch,
    refused,
  ),
  "managedFields of 45,000 fields": patch(
    `${frees}/target`,
    owned({ "f:map": Object.fromEntries(list(45_000, (i) => [`f:k${i}`, {}])) }),
    mergePatch,
    [200],
  ),
  "managedFields of 40,000 items": patch(
    `${frees}/target`,
    owned({ "f:list": Object.fromEntries(list(40_000, (i) => [`k:{"b":"${i}","a":${40_000 - i}}`, {}])) }),
    mergePatch,
    [200],
  ),
  "a definition of 500 versions": post(definitions, versions(500)),
  "a definition of 10,000 properties and as many alternatives": post(
    definitions,
    schemaOf("Alternatives", {
      properties: Object.fromEntries(list(10_000, (i) => [`p${i}`, { type: "string" }])),
      allOf: list(10_000, (i) => ({ properties: { [`p${i}`]: {} } })),
    }),
  ),
  "a definition of 45,000 properties without a type": post(
    definitions,
    schemaOf("Untyped", { properties: Object.fromEntries(list(45_000, (i) => [`p${i}`, {}])) }),
  ),
  "a definition of 15,000 fields": post(definitions, wideSchema(15_000)),
  "a definition nested 300 deep": post(definitions, deepSchema(300)),
  "a Service of a selector of 90,000 terms": post(`${namespace}/services`, {
    metadata: { name: "terms" },
    spec: { ports: [{ port: 1 }], selector: map(90_000, () => "a") },
  }),
  "YAML of 200,000 members on lines that end with a carriage return": post(
    configMaps,
    `metadata: {name: lines}\rdata:\r${list(200_000, (i) => ` k${i}: v`).join("\r")}`,
    yaml,
    refused,
  ),
  "YAML of 3,000,000 null bytes": post(configMaps, `a: ${"\0".repeat(3_000_000)}`, yaml, refused),
  "a Secret with a certificate of 60,000 extensions": post(
    `${namespace}/secrets`,
    secretOf("extended", 60_000),
    json,
    ok,
  ),
  "a Secret with the largest certificate that is read": post(`${namespace}/secrets`, secretOf("tls", 5_000), json, ok),
  ...Object.fromEntries(
    [60_000, 240_000, 1_000_000].flatMap((bytes) => [
      [`a signing request of ${bytes} bytes of attributes`, post(requests, requestOfAttributes("attributes", bytes))],
      [`a signing request of ${bytes} bytes of names`, post(requests, requestOfNames("names", bytes))],
      [`a signing request of ${bytes} bytes of URIs`, post(requests, requestOfUris("uris", bytes))],
    ]),
  ),
};

for (const name of ["target", "applied"]) {
  await sendJson(server.target, ["POST", frees], objectNamed("Free", name, { map: {}, list: [], free: {} }));
}
await sendJson(server.target, ["POST", configMaps], configMap("target", {}));

for (const [name, { method, path, body, type = json, codes }] of Object.entries(attacks)) {
  test(name, async () => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await server.during(name, () => sendText(server.target, [method, path], text, type));
    assert.ok(codes.includes(response.code), `${response.code}: ${response.text.slice(0, 300)}`);
    if (response.code >= 400) assert.equal((response.body as JsonObject)["kind"], "Status");
  });
}

test("changes of a definition of 4,000 versions", async () => {
  const crd = definition("Changing", {}) as {
    readonly spec: { readonly versions: readonly [JsonObject] };
  } & JsonObject;
  const [one] = crd.spec.versions;
  const changed = (title: string): JsonObject => ({
    ...crd,
    spec: {
      ...crd.spec,
      versions: list(4_000, (i) => ({
        ...one,
        ...{ name: `v${i + 1}`, storage: i === 0 },
        schema: { openAPIV3Schema: { type: "object", title: `${title} ${i}` } },
      })),
    },
  });
  const created = await server.during("4,000 versions", () =>
    sendJson(server.target, ["POST", definitions], changed("old")),
  );
  assert.equal(created.code, 201, created.text.slice(0, 300));
  const path = `${definitions}/${stringAt(crd, ["metadata", "name"])}`;
  const spec = changed("new")["spec"] ?? {};
  const type = "application/merge-patch+json";
  const updated = await server.during("4,000 changed versions", () =>
    sendText(server.target, ["PATCH", path], JSON.stringify({ spec }), type),
  );
  assert.equal(updated.code, 200, updated.text.slice(0, 300));
});

const selectors: Record<string, string> = {
  "a label selector of 2,000 terms": `labelSelector=${encodeURIComponent(list(2_000, (i) => `k${i}=v`).join())}`,
  "a label selector with 4,000 values": `labelSelector=${encodeURIComponent(`a in (${list(4_000, (i) => `v${i}`).join()})`)}`,
  "a label selector of brackets": `labelSelector=${encodeURIComponent("(".repeat(10_000))}`,
  "a field selector of 2,000 terms": `fieldSelector=${encodeURIComponent(list(2_000, () => "metadata.name!=a").join())}`,
  "a continue token of 30,000 bytes": `limit=1&continue=${"A".repeat(30_000)}`,
};

// Elsewhere, as what selectors cost is measured here, and not what it takes to read objects of several MB again.
const selected = "/api/v1/namespaces/kube-system/configmaps";

for (const [name, query] of Object.entries(selectors)) {
  test(name, async () => {
    const response = await server.during(name, () => sendJson(server.target, ["GET", `${selected}?${query}`]));
    assert.ok([200, 400, 410, 414, 431].includes(response.code), `${response.code}: ${response.text.slice(0, 300)}`);
  });
}

/** A new namespace in which Pods can be created, with objects in it. */
async function namespaceWith(name: string, resource: string, specs: readonly JsonObject[]): Promise<string> {
  const path = `/api/v1/namespaces/${name}`;
  await sendJson(server.target, ["POST", "/api/v1/namespaces"], { metadata: { name } });
  for (const [index, spec] of specs.entries()) {
    const object = { metadata: { name: `o${index}` }, spec };
    const created = await server.during(resource, () =>
      sendJson(server.target, ["POST", `${path}/${resource}`], object),
    );
    assert.equal(created.code, 201, created.text.slice(0, 300));
  }
  let account = await sendJson(server.target, ["GET", `${path}/serviceaccounts/default`]);
  for (let i = 0; account.code !== 200 && i < 1_000; i++) {
    account = await sendJson(server.target, ["GET", `${path}/serviceaccounts/default`]);
  }
  assert.equal(account.code, 200, account.text);
  return path;
}

const limiting = (type: string, amounts: JsonObject): JsonObject => ({ limits: [{ type, ...amounts }] });
const plainContainers = (count: number): JsonObject[] => list(count, (i) => ({ name: `c${i}`, image: "i" }));
/** Containers that each have a resource of their own. */
const deviceContainers = (count: number): JsonObject[] =>
  list(count, (i) => {
    const amounts = { [`example.org/d${i}`]: "1", cpu: "1m" };
    return { name: `c${i}`, image: "i", resources: { requests: amounts, limits: amounts } };
  });

interface PodAttack {
  readonly resource: "limitranges" | "resourcequotas";
  /** The specs of the objects in the namespace. */
  readonly objects: readonly JsonObject[];
  /** The specs of Pods, and the response of each. */
  readonly pods: readonly (readonly [spec: JsonObject, code: number])[];
}

const limited: Record<string, PodAttack> = {
  "default limits of 9,000 devices": {
    resource: "limitranges",
    objects: [limiting("Container", { default: devices(9_000) })],
    pods: [300, 4_096, 30_000].map((count) => [{ containers: plainContainers(count) }, 422]),
  },
  "as many default limits as a Pod can have": {
    resource: "limitranges",
    objects: [limiting("Container", { default: devices(6_000) })],
    pods: [[{ containers: plainContainers(1) }, 201]],
  },
  "highest limits of 9,000 devices": {
    resource: "limitranges",
    objects: [limiting("Container", { max: devices(9_000) })],
    pods: [300, 4_096].map((count) => [{ containers: plainContainers(count) }, 422]),
  },
  "ratios of 9,000 devices, and lowest requests of whole Pods": {
    resource: "limitranges",
    objects: [
      limiting("Container", { maxLimitRequestRatio: devices(9_000) }),
      limiting("Pod", { min: devices(9_000) }),
    ],
    pods: [300, 4_096].map((count) => [{ containers: plainContainers(count) }, 403]),
  },
  "different default requests of 40 ranges": {
    resource: "limitranges",
    objects: list(40, (range) =>
      limiting("Container", { defaultRequest: devices(2_000, (i) => `example.org/r${range}-${i}`) }),
    ),
    pods: [1, 300].map((count) => [{ containers: plainContainers(count) }, 422]),
  },
  "limits of 100 ranges": {
    resource: "limitranges",
    objects: list(100, () =>
      limiting("Container", {
        min: { cpu: "1m" },
        max: { cpu: "10" },
        default: { cpu: "1" },
        maxLimitRequestRatio: { cpu: "3" },
      }),
    ),
    pods: [[{ containers: plainContainers(3_000) }, 201]],
  },
  "a limit of whole Pods": {
    resource: "limitranges",
    objects: [limiting("Pod", { max: { cpu: "100" } })],
    pods: [
      [{ containers: deviceContainers(4_000) }, 201],
      [{ containers: deviceContainers(4_000), resources: { requests: { cpu: "5" } } }, 201],
      [{ containers: deviceContainers(2), initContainers: deviceContainers(4_000) }, 422],
      [{ containers: list(9, (i) => ({ name: `c${i}`, image: "i", resources: { limits: devices(9_900) } })) }, 403],
    ],
  },
  "a quota": {
    resource: "resourcequotas",
    objects: [{ hard: { "requests.cpu": "100", pods: "10" } }],
    pods: [[{ containers: deviceContainers(4_000) }, 201]],
  },
};

for (const [index, [name, { resource, objects, pods }]] of Object.entries(limited).entries()) {
  test(`Pods of many containers: ${name}`, async () => {
    const path = await namespaceWith(`limited-${index}`, resource, objects);
    for (const [number, [spec, code]] of pods.entries()) {
      for (const query of ["?dryRun=All", ""]) {
        const pod = { metadata: { name: `p${number}` }, spec };
        const response = await server.during(name, () =>
          sendJson(server.target, ["POST", `${path}/pods${query}`], pod),
        );
        assert.equal(response.code, code, `Pod ${number}: ${response.text.slice(0, 300)}`);
      }
    }
  });
}

test("memory stayed below the figure stated", () => {
  server.requireBoundedMemory();
});
