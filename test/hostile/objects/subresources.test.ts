// SPDX-License-Identifier: Apache-2.0
// Subresources, reviews and options of deletions with as many members as a request allows.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { startAttackedServer } from "../harness/server.ts";
import { sendJson, sendText } from "./attacked-kind.ts";

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

const core = "/api/v1/namespaces/default";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const scale = `${deployments}/d/scale`;
const pod = `${core}/pods/p`;
const token = `${core}/serviceaccounts/default/token`;

const members = (value: JsonValue): JsonObject =>
  Object.fromEntries(Array.from({ length: 95_000 }, (_, i) => [`k${i}`, value]));
const texts = Array.from({ length: 95_000 }, (_, i) => `x${i}`);
const [unknown, labels] = [members(1), members("v")];
const owners = Array.from({ length: 19_000 }, (_, i) => ({ apiVersion: "v1", kind: "A", name: "n", uid: `u${i}` }));
const scaleOf = (metadata: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "d", ...metadata }, spec: { replicas: 2 } },
  ...more,
});

const template = { metadata: { labels: { a: "a" } }, spec: { containers: [{ name: "c", image: "i" }] } };
const spec = { replicas: 1, selector: { matchLabels: { a: "a" } }, template };
assert.equal((await sendJson(server.target, ["POST", deployments], { metadata: { name: "d" }, spec })).code, 201);
assert.equal(
  (await sendJson(server.target, ["POST", `${core}/pods`], { ...template, metadata: { name: "p" } })).code,
  201,
);

type Attack = readonly [method: string, path: string, body: JsonObject, type?: string];
const [merge, strategic, apply] = ["merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];
const attacks: Record<string, Attack> = {
  "unknown members merged into a Scale": ["PATCH", scale, { spec: unknown }, merge],
  "labels merged into a Scale": ["PATCH", scale, { metadata: { labels } }, merge],
  "annotations merged into a Scale": ["PATCH", scale, { metadata: { annotations: labels } }, strategic],
  "owners merged into a Scale": ["PATCH", scale, { metadata: { ownerReferences: owners } }, strategic],
  "labels applied to a Scale": ["PATCH", `${scale}?fieldManager=a&force=true`, scaleOf({ labels }), apply],
  "a Scale with labels": ["PUT", scale, scaleOf({ labels })],
  "a Scale with unknown members": ["PUT", scale, scaleOf({}, unknown)],
  "a deletion with unknown options": ["DELETE", `${core}/configmaps/none`, unknown],
  "a deletion with unknown preconditions": ["DELETE", `${core}/configmaps/none`, { preconditions: unknown }],
  "a deletion with many values of dryRun": ["DELETE", `${core}/configmaps/none`, { dryRun: texts }],
  "a deletion of many with unknown options": ["DELETE", `${core}/configmaps?labelSelector=a%3Db`, unknown],
  "an eviction with unknown options": [
    "POST",
    `${pod}/eviction?dryRun=All`,
    { metadata: { name: "p" }, deleteOptions: unknown },
  ],
  "an eviction with labels": ["POST", `${pod}/eviction?dryRun=All`, { metadata: { name: "p", labels } }],
  "a binding with annotations": [
    "POST",
    `${pod}/binding?dryRun=All`,
    { metadata: { name: "p", annotations: labels }, target: { kind: "Node", name: "n" } },
  ],
  "a token request with unknown members": ["POST", token, { spec: unknown }],
  "a token request with labels": ["POST", token, { metadata: { labels }, spec: { audiences: ["a"] } }],
  "a token request with many audiences": ["POST", token, { spec: { audiences: texts } }],
  "a token review with many audiences": [
    "POST",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    { spec: { token: "x", audiences: texts } },
  ],
  "a review of the own user with labels": [
    "POST",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    { metadata: { labels } },
  ],
  "an access review with many groups": [
    "POST",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    { spec: { user: "a", groups: texts, resourceAttributes: { verb: "get", resource: "pods" } } },
  ],
  "labels merged into a Pod by its status": ["PATCH", `${pod}/status`, { metadata: { labels } }, merge],
  "unknown members merged into a resized Pod": ["PATCH", `${pod}/resize`, { spec: unknown }, merge],
  "unknown members merged into ephemeral containers": ["PATCH", `${pod}/ephemeralcontainers`, { spec: unknown }, merge],
  "a finalized namespace with labels": [
    "PUT",
    "/api/v1/namespaces/default/finalize",
    { metadata: { name: "default", labels }, spec: { finalizers: ["kubernetes"] } },
  ],
};

for (const [name, [method, path, body, type = "json"]] of Object.entries(attacks)) {
  test(name, async () => {
    const text = JSON.stringify(body);
    const response = await server.during(name, () =>
      sendText(server.target, [method, path], text, `application/${type}`),
    );
    assert.ok([200, 201, 404, 409, 422].includes(response.code), `${response.code}: ${response.text.slice(0, 300)}`);
  });
}

test("memory stayed below the figure stated", () => {
  server.requireBoundedMemory();
});
