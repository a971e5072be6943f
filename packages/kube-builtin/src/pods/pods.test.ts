// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../../test/index.ts";
import { qosClassOf } from "./pod-parts.ts";

const pods = "/api/v1/namespaces/default/pods";
let server: TestServer;

before(async () => {
  server = await startTestServer();
  await server.until("/api/v1/namespaces/default/serviceaccounts/default", ({ code }) => code === 200);
});
after(() => server[Symbol.asyncDispose]());

const container = (more: JsonObject = {}): JsonObject => ({ name: "c", image: "i", ...more });

async function create(name: string, spec: JsonObject): Promise<JsonObject> {
  return server.post(pods, { metadata: { name }, spec: { containers: [container()], ...spec } });
}

async function refusal(method: string, url: string, body: JsonValue): Promise<[number, string]> {
  const headers = method === "PATCH" ? { "content-type": "application/strategic-merge-patch+json" } : {};
  const response = await server.send(url, { method, headers, body });
  return [response.code, String((answerValue(response) as JsonObject)["message"] ?? "")];
}

test("a new Pod waits, and has what admission gives to every Pod", async () => {
  const { spec, status } = (await create("plain", {})) as unknown as { spec: JsonObject; status: JsonObject };
  assert.deepEqual(status, { phase: "Pending", qosClass: "BestEffort" });
  const [volume] = spec["volumes"] as JsonObject[];
  assert.match(String(volume?.["name"]), /^kube-api-access-[a-z0-9]{5}$/);
  const [main] = spec["containers"] as JsonObject[];
  assert.deepEqual(main?.["volumeMounts"], [
    { name: volume?.["name"], readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
  ]);
  assert.deepEqual(
    [spec["serviceAccountName"], spec["serviceAccount"], spec["priority"], spec["preemptionPolicy"]],
    ["default", "default", 0, "PreemptLowerPriority"],
  );
  const tolerations = spec["tolerations"] as JsonObject[];
  assert.deepEqual(
    tolerations.map(({ key }) => key),
    ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"],
  );
});

test("members that admission sets have no owner", async () => {
  const { metadata } = await create("owned", {});
  const text = JSON.stringify(metadata);
  assert.doesNotMatch(text, /serviceAccountName|tolerations|volumes|priority|phase/);
});

test("an account decides about its token and its registries", async () => {
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await server.post(accounts, {
    metadata: { name: "quiet" },
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: "registry" }],
  });
  const { spec } = (await create("quiet", { serviceAccountName: "quiet" })) as unknown as { spec: JsonObject };
  assert.deepEqual([spec["volumes"], spec["imagePullSecrets"]], [undefined, [{ name: "registry" }]]);
});

test("a refusal names the prefix of a name that is not generated yet", async () => {
  const pod = { metadata: { generateName: "web-" }, spec: { serviceAccountName: "nope", containers: [] } };
  const response = await server.send("/api/v1/namespaces/default/pods", { method: "POST", body: pod });
  const { message } = answerValue(response) as { readonly message: string };
  assert.match(message, /^pods "web-" is forbidden: error looking up service account default\/nope: /);
});

const admission: readonly (readonly [reason: string, spec: JsonObject, message: string])[] = [
  [
    "an account that is not there",
    { serviceAccountName: "nope" },
    'pods "x" is forbidden: error looking up service account default/nope: serviceaccount "nope" not found',
  ],
  [
    "a class of priority that is not there",
    { priorityClassName: "nope" },
    'pods "x" is forbidden: no PriorityClass with name nope was found',
  ],
  [
    "a priority of one's own",
    { priority: 5 },
    'pods "x" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
  ],
];

for (const [reason, spec, message] of admission) {
  test(`admission refuses ${reason}`, async () => {
    const body = { metadata: { name: "x" }, spec: { containers: [container()], ...spec } };
    assert.deepEqual(await refusal("POST", pods, body), [403, message]);
  });
}

test("a Pod that tolerates everything gets no further tolerations", async () => {
  const { spec } = (await create("tolerant", { tolerations: [{ operator: "Exists" }] })) as unknown as {
    spec: JsonObject;
  };
  assert.deepEqual(spec["tolerations"], [{ operator: "Exists" }]);
});

const only =
  'Pod "fixed" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

const changes: readonly (readonly [reason: string, patch: JsonObject, message: string])[] = [
  ["images may", { spec: { containers: [container({ image: "j" })] } }, ""],
  ["a deadline may come nearer", { spec: { activeDeadlineSeconds: 50 } }, ""],
  [
    "but not move away",
    { spec: { activeDeadlineSeconds: 70 } },
    'Pod "fixed" is invalid: spec.activeDeadlineSeconds: Invalid value: 70: must be less than or equal to previous value',
  ],
  [
    "or go",
    { spec: { activeDeadlineSeconds: null } },
    'Pod "fixed" is invalid: spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value',
  ],
  ["how it restarts may not", { spec: { restartPolicy: "Never" } }, only],
  ["nor where it runs", { spec: { nodeName: "n" } }, only],
  [
    "nor which containers there are",
    { spec: { containers: [container({ name: "d" })] } },
    'Pod "fixed" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers',
  ],
  ["metadata may", { metadata: { labels: { a: "b" } } }, ""],
];

test("hardly anything of a Pod may change", async () => {
  await create("fixed", { activeDeadlineSeconds: 100 });
  for (const [reason, patch, message] of changes) {
    const [code, said] = await refusal("PATCH", `${pods}/fixed`, patch);
    const [first] = said.split("\n");
    assert.deepEqual([code, first], message === "" ? [200, ""] : [422, message], reason);
  }
});

test("tolerations may only be added", async () => {
  await create("bearing", {});
  const url = `${pods}/bearing`;
  const more = { spec: { tolerations: [{ key: "x", operator: "Exists" }] } };
  const headers = { "content-type": "application/merge-patch+json" };
  const response = await server.send(url, { method: "PATCH", headers, body: more });
  assert.equal(response.code, 422);
  const { message } = answerValue(response) as { readonly message: string };
  assert.match(
    message,
    /spec\.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds/,
  );
});

const amounts = (requests: JsonObject, limits: JsonObject): JsonObject => ({ resources: { requests, limits } });
const both = { cpu: "1", memory: "1Gi" };
const classes: readonly (readonly [reason: string, containers: readonly JsonObject[], want: string])[] = [
  ["nothing said", [{}], "BestEffort"],
  ["nothing worth saying", [amounts({ cpu: "0" }, {})], "BestEffort"],
  ["something asked for", [amounts({ cpu: "1" }, {})], "Burstable"],
  ["all that may be used is asked for", [amounts(both, both)], "Guaranteed"],
  ["in other words", [amounts({ cpu: "1000m", memory: "1024Mi" }, both)], "Guaranteed"],
  ["by one of two", [amounts(both, both), {}], "Burstable"],
  ["less than may be used", [amounts({ cpu: "1", memory: "1Mi" }, both)], "Burstable"],
  ["other things do not count", [amounts({ "ephemeral-storage": "1Gi" }, {})], "BestEffort"],
];

for (const [reason, containers, want] of classes) {
  test(`how surely a Pod gets what it asks for: ${reason}`, () => {
    assert.equal(qosClassOf({ spec: { containers } }), want);
  });
}
