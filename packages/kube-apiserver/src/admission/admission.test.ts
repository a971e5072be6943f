// SPDX-License-Identifier: Apache-2.0
// Admission plugins in the write path: what they see of each write, what they may change, and what a refusal leaves behind.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { builtinKinds } from "@purlin/kube-builtin";
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, startTestServer, type TestServer } from "../../test/test-server.ts";
import { metaOf, withMeta } from "../objects/object-members.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./admission.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const quota = { group: "", resource: "configmaps" };

let server: TestServer;
let seen: string[] = [];
let calls: AdmissionAttributes[] = [];

function plugin(name: string, own: Partial<AdmissionPlugin>): AdmissionPlugin {
  return { name, handles: ({ type }) => type.resource === "configmaps", ...own };
}

const describe = (step: string, { operation, subresource, name, dryRun }: AdmissionAttributes): string =>
  [step, operation, subresource, name, dryRun ? "dry" : ""].filter((part) => part !== "").join(" ");

const recorder = plugin("ResourceQuota", {
  admit: (attributes) => {
    seen.push(describe("admit", attributes));
    calls.push(attributes);
    return withMeta(attributes.object, { labels: { ...metaOf(attributes.object).labels, admitted: "yes" } });
  },
  validate: (attributes) => {
    seen.push(describe("validate", attributes));
    calls.push(attributes);
    if (metaOf(attributes.object ?? attributes.old ?? {}).labels?.["refused"]) {
      throw forbidden(quota, attributes.name, "refused by the test");
    }
  },
  commit: (attributes, { peek }) => {
    seen.push(describe("commit", attributes));
    const others = ["one-limited", "other-limited"].filter((name) => name !== attributes.name);
    const isFull = others.some((name) => peek(`//configmaps/default/${name}`) !== undefined);
    if (attributes.name.endsWith("-limited") && isFull) throw forbidden(quota, attributes.name, "over the limit");
  },
});
const first = plugin("LimitRanger", {
  admit: ({ object }) => withMeta(object, { annotations: { first: String(metaOf(object).labels?.["admitted"]) } }),
});

/** Does everything in parts. */
const patient: AdmissionPlugin = {
  name: "PodSecurity",
  handles: ({ type }) => type.resource === "secrets",
  *admitting({ object }) {
    seen.push("admitting");
    yield;
    return withMeta(object, { labels: { admitted: "in-parts" } });
  },
  *validating() {
    yield;
    seen.push("validating");
  },
};

before(async () => {
  server = await startTestServer({
    kinds: (deps) =>
      builtinKinds(deps).map((kind) =>
        kind.type.resource === "configmaps" ? { ...kind, admission: [recorder, first, patient] } : kind,
      ),
  });
});
after(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  seen = [];
  calls = [];
});

const send = async (url: string, method: string, body?: JsonObject, type?: string): Promise<JsonObject> => {
  const headers = type === undefined ? {} : { headers: { "content-type": type } };
  const response = (await server.send(url, { method, ...headers, ...(body && { body }) })) as CompleteResponse;
  return { code: response.code, ...(answerValue(response) as JsonObject) };
};

test("a create is admitted, validated and committed, by plugins in the order of the reference", async () => {
  const made = await server.post(maps, { metadata: { name: "a" } });
  assert.deepEqual(seen, ["admit CREATE a", "validate CREATE a", "commit CREATE a"]);
  assert.deepEqual(metaOf(made).labels, { admitted: "yes" });
  assert.deepEqual(metaOf(made).annotations, { first: "undefined" }, "LimitRanger comes before ResourceQuota");
  const [admitted, validated] = calls;
  assert.equal(metaOf(admitted?.object ?? {}).uid, undefined, "the server sets the uid after mutating admission");
  assert.equal(metaOf(validated?.object ?? {}).uid, metaOf(made).uid);
  assert.equal(metaOf(made).managedFields, undefined, "what admission adds has no owner");
});

test("a plugin admits and validates in parts", async () => {
  const secrets = "/api/v1/namespaces/default/secrets";
  const made = await server.post(secrets, { metadata: { name: "s" } });
  assert.deepEqual(metaOf(made).labels, { admitted: "in-parts" });
  assert.deepEqual(seen, ["admitting", "validating"]);
  seen = [];
  await server.patch(`${secrets}/s`, { data: { a: "YQ==" } });
  assert.deepEqual(seen, ["admitting", "validating"]);
});

test("a generated name is there when the object is validated", async () => {
  const { metadata } = await server.post(maps, { metadata: { generateName: "g-" } });
  const { name } = metadata as { readonly name: string };
  assert.deepEqual(seen, ["admit CREATE", `validate CREATE ${name}`, `commit CREATE ${name}`]);
});

test("an update, a patch and an apply are an UPDATE with the current object", async () => {
  await server.post(maps, { metadata: { name: "b" }, data: { x: "1" } });
  seen = [];
  calls = [];
  await send(`${maps}/b`, "PUT", { metadata: { name: "b" }, data: { x: "2" } });
  await server.patch(`${maps}/b`, { data: { x: "3" } });
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" }, data: { y: "4" } };
  await send(`${maps}/b?fieldManager=t`, "PATCH", applied, "application/apply-patch+yaml");
  const round = ["admit UPDATE b", "validate UPDATE b", "commit UPDATE b"];
  assert.deepEqual(seen, [...round, ...round, ...round]);
  assert.deepEqual(
    calls.map(({ old }) => (old?.["data"] as JsonObject | undefined)?.["x"]),
    ["1", "1", "2", "2", "3", "3"],
  );
  assert.deepEqual(calls.at(-1)?.options, { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "t" });
});

test("a dry run is admitted and never committed", async () => {
  await server.post(`${maps}?dryRun=All`, { metadata: { name: "dry" } });
  assert.deepEqual(seen, ["admit CREATE dry dry", "validate CREATE dry dry"]);
});

test("a delete is validated with the current object, one of a collection without its name", async () => {
  await server.post(maps, { metadata: { name: "c", labels: { of: "c" } } });
  await server.post(maps, { metadata: { name: "d", labels: { of: "d" } } });
  seen = [];
  calls = [];
  await server.delete(`${maps}/c`, { propagationPolicy: "Background" });
  await server.delete(`${maps}?labelSelector=of%3Dd`);
  assert.deepEqual(seen, ["validate DELETE c", "validate DELETE"]);
  assert.deepEqual(
    calls.map(({ object, old }) => [object, metaOf(old ?? {}).name]),
    [
      [undefined, "c"],
      [undefined, "d"],
    ],
  );
  assert.equal(calls[0]?.options["propagationPolicy"], "Background");
});

test("a refused write leaves nothing behind", async () => {
  const refused = await send(maps, "POST", { metadata: { name: "e", labels: { refused: "1" } } });
  assert.equal(refused["code"], 403);
  assert.equal(refused["message"], 'configmaps "e" is forbidden: refused by the test');
  assert.equal((await send(`${maps}/e`, "GET"))["code"], 404);
});

test("a commit sees writes that are under way, so that a burst stays within its limit", async () => {
  const burst = ["one-limited", "other-limited"].map((name) => send(maps, "POST", { metadata: { name } }));
  assert.deepEqual((await Promise.all(burst)).map(({ code }) => code).sort(), [201, 403]);
});
