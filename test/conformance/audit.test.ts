// SPDX-License-Identifier: Apache-2.0
// The audit logs of both servers for the same requests, event by event.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { parseAuditPolicy, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { startRealCluster } from "../../tools/peers/real-cluster.ts";
import type { Loose } from "./harness/loose.ts";
import { readOptions } from "./harness/options.ts";
import { allow, patching, startWebhook } from "./harness/webhook-server.ts";
import { send, type Target, type WireRequest } from "./harness/wire.ts";

const { only } = readOptions(process.argv.slice(2), process.env);
const title = "both servers log the same events";

const policy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    // Only what this test sends: the controllers of the servers are not the same.
    { level: "None", users: ["system:apiserver", "system:serviceaccount:kube-system:generic-garbage-collector"] },
    { level: "None", nonResourceURLs: ["/healthz*", "/readyz*", "/livez*"] },
    { level: "Metadata", resources: [{ group: "", resources: ["secrets"] }] },
    { level: "Metadata", resources: [{ group: "", resources: ["configmaps"] }], namespaces: ["kube-public"] },
    {
      level: "RequestResponse",
      omitManagedFields: true,
      resources: [{ group: "", resources: ["configmaps", "configmaps/*"] }],
    },
    { level: "Request", resources: [{ group: "", resources: ["namespaces"], resourceNames: ["default"] }] },
    { level: "None", resources: [{ group: "", resources: ["namespaces"] }] },
    { level: "Metadata", omitStages: ["ResponseStarted"] },
  ],
};

const collection = "/api/v1/namespaces/default/configmaps";
const one = `${collection}/audited`;
const json = { "content-type": "application/json" };
const object = (data: object): string => JSON.stringify({ metadata: { name: "audited" }, data });
const patch = (type: string, body: string): WireRequest => ({
  method: "PATCH",
  path: `${one}?fieldManager=test&force=true`,
  headers: { "content-type": `application/${type}` },
  body,
});

const requests: readonly WireRequest[] = [
  { method: "POST", path: collection, headers: json, body: object({ a: "1" }) },
  { method: "POST", path: collection, headers: json, body: object({ a: "1" }) },
  { method: "GET", path: one },
  { method: "GET", path: `${collection}/missing` },
  { method: "GET", path: `${collection}?fieldSelector=metadata.name=audited` },
  { method: "GET", path: `${collection}?fieldSelector=metadata.name=audited&watch=1&timeoutSeconds=1` },
  { method: "PUT", path: one, headers: json, body: object({ a: "2" }) },
  patch("merge-patch+json", '{"data":{"b":"<&>"}}'),
  patch("json-patch+json", '[{"op":"add","path":"/data/c","value":"3"}]'),
  patch("strategic-merge-patch+json", '{"data":{"d":"4"}}'),
  { method: "POST", path: collection, headers: json, body: "{bad json" },
  { method: "POST", path: `${collection}?dryRun=All`, headers: json, body: '{"metadata":{"generateName":"g-"}}' },
  { method: "DELETE", path: one, headers: json, body: '{"propagationPolicy":"Background"}' },
  { method: "POST", path: "/api/v1/namespaces/default/secrets", headers: json, body: '{"metadata":{"name":"s"}}' },
  { method: "GET", path: "/api/v1/namespaces/default" },
  { method: "GET", path: "/api/v1/namespaces/kube-system" },
  { method: "GET", path: "/version" },
  { method: "GET", path: "/nonsense" },
  { method: "GET", path: "/healthz" },
  { method: "GET", path: one, headers: { "impersonate-user": "jane", "impersonate-group": "devs" } },
  { method: "GET", path: `${one}?x=1`, headers: { "user-agent": "test/1", "audit-id": "mine" } },
];

const registration = "/apis/admissionregistration.k8s.io/v1";
const audited = { matchLabels: { audited: "yes" } };
const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };

/** A policy with what it writes to the audit log, its binding, and webhooks that do the same. */
function configuration(hook: { readonly url: string; readonly caBundle: string }): readonly WireRequest[] {
  const post = (resource: string, body: object): WireRequest => ({
    method: "POST",
    path: `${registration}/${resource}`,
    headers: { ...json, "user-agent": "wait" },
    body: JSON.stringify(body),
  });
  const policyOf = (name: string, spec: object): WireRequest =>
    post("validatingadmissionpolicies", {
      metadata: { name },
      spec: { matchConstraints: { resourceRules: [rule], objectSelector: audited }, ...spec },
    });
  const bindingOf = (name: string, policyName: string, validationActions: readonly string[]): WireRequest =>
    post("validatingadmissionpolicybindings", { metadata: { name }, spec: { policyName, validationActions } });
  const webhook = (name: string, path: string, more: object = {}): object => ({
    name: `${name}.example.org`,
    clientConfig: { url: `${hook.url}${path}`, caBundle: hook.caBundle },
    rules: [rule],
    objectSelector: audited,
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    ...more,
  });
  const refused = { clientConfig: { url: "https://127.0.0.1:1/x" }, failurePolicy: "Ignore" };
  return [
    policyOf("annotated", {
      validations: [{ expression: "true" }, { expression: "object.data.a == 'z'", message: "not <z>" }],
      auditAnnotations: [
        { key: "a", valueExpression: "' value ' + object.data.a" },
        { key: "none", valueExpression: "null" },
        { key: "empty", valueExpression: "' '" },
      ],
    }),
    bindingOf("annotated", "annotated", ["Audit"]),
    bindingOf("again", "annotated", ["Warn"]),
    post("validatingwebhookconfigurations", {
      metadata: { name: "audited" },
      webhooks: [webhook("v1.audited", "/annotate"), webhook("v2.audited", "/", refused)],
    }),
    post("mutatingwebhookconfigurations", {
      metadata: { name: "audited" },
      webhooks: [
        webhook("m1.audited", "/patch", { reinvocationPolicy: "IfNeeded" }),
        webhook("m2.audited", "/", refused),
        webhook("m3.audited", "/annotate"),
      ],
    }),
  ];
}

const admitted: readonly WireRequest[] = ["Metadata", "RequestResponse"].map((level) => ({
  method: "POST",
  path: level === "Metadata" ? "/api/v1/namespaces/kube-public/configmaps" : collection,
  headers: json,
  body: JSON.stringify({ metadata: { name: "admitted", labels: { audited: "yes" } }, data: { a: "1" } }),
}));

const strangers: readonly WireRequest[] = [
  { method: "GET", path: collection },
  { method: "GET", path: collection, headers: { authorization: "Bearer nonsense" } },
];

async function sendAll(target: Target): Promise<void> {
  for (const request of requests) await send(target, request);
  await sendAdmitted(target);
  const { server, caPem } = target;
  for (const request of strangers) await send({ server, caPem }, request);
}

/** Requests that policies and webhooks annotate. */
async function sendAdmitted(target: Target): Promise<void> {
  const hook = await startWebhook({ mask: () => {} }, (review, path) =>
    path.startsWith("/patch")
      ? patching(review, [{ op: "add", path: "/data/b", value: "2" }], { auditAnnotations: { patched: "yes" } })
      : allow(review, { auditAnnotations: { seen: "yes" } }),
  );
  try {
    for (const request of configuration(hook)) {
      const { code, text } = await send(target, request);
      assert.equal(code, 201, text);
    }
    // Until the policies and webhooks are in effect.
    const [first] = admitted;
    for (let warnings = ""; !warnings.includes("not <z>") || !hook.called.some((path) => path.startsWith("/patch")); ) {
      const probe = { ...first, path: `${collection}?dryRun=All`, headers: { ...json, "user-agent": "wait" } };
      const { headers } = await send(target, probe as WireRequest);
      warnings = String(headers["warning"] ?? "");
      await delay(50);
    }
    await delay(300);
    for (const request of admitted) await send(target, request);
  } finally {
    await hook.stop();
  }
}

const times = ["requestReceivedTimestamp", "stageTimestamp"];

/** An event without what differs between any two servers. */
function comparable(line: string): Loose {
  const event = JSON.parse(line) as Loose;
  for (const name of times) assert.match(event[name], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/, name);
  if (event.auditID !== "mine") assert.match(event.auditID, /^[0-9a-f-]{36}$/);
  const masked = JSON.stringify({ ...event, auditID: "", requestReceivedTimestamp: "", stageTimestamp: "" });
  const text = masked
    .replaceAll(/"(uid|resourceVersion|creationTimestamp)":"[^"]*"/g, '"$1":""')
    .replaceAll(/X509SHA256=[0-9a-f]+/g, "X509SHA256=")
    .replaceAll(/"name":"g-[a-z0-9]{5}"/g, '"name":"g-"');
  return { order: Object.keys(event), ...(JSON.parse(text) as object) };
}

/** Whether an event is one of this test: those of controllers have other users. */
const isOurs = (event: Loose): boolean =>
  ["admin", "purlin-admin", "system:anonymous", undefined].includes(event.user.username) &&
  event.verb !== "" &&
  event.userAgent !== "wait";

const ours = (lines: readonly string[]): readonly Loose[] =>
  lines.filter((line) => isOurs(JSON.parse(line) as Loose)).map((line) => comparable(line.trimEnd()));

async function reference(file: string, policyFile: string): Promise<readonly Loose[]> {
  const flags = [`--audit-policy-file=${policyFile}`, `--audit-log-path=${file}`];
  const cluster = await startRealCluster({ apiserverFlags: flags });
  try {
    const { server, caPem, admin } = cluster;
    const target = { server, caPem, certPem: admin.certPem, keyPem: admin.keyPem };
    const path = "/api/v1/namespaces/default";
    while ((await send(target, { method: "GET", path, headers: { "user-agent": "wait" } })).code !== 200)
      await delay(50);
    await sendAll(target);
  } finally {
    await cluster.stop();
  }
  return ours(readFileSync(file, "utf8").trim().split("\n"));
}

async function embedded(directory: string): Promise<readonly Loose[]> {
  const lines: string[] = [];
  const audit = { policy: parseAuditPolicy(policy), write: (line: string) => void lines.push(line) };
  await using server = await startApiServer({ kinds: builtinKinds, directory, audit });
  const { url } = await server.listen();
  const { authority, admin } = server.certificates;
  await sendAll({ server: url, caPem: authority.certPem, certPem: admin.certPem, keyPem: admin.keyPem });
  return ours(lines);
}

async function compareServers(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "conformance-audit-"));
  try {
    const policyFile = join(directory, "policy.json");
    writeFileSync(policyFile, JSON.stringify(policy));
    const was = await reference(join(directory, "audit.log"), policyFile);
    const is = await embedded(join(directory, "data"));
    assert.equal(is.length, was.length, "as many events");
    for (const [index, event] of was.entries()) {
      assert.deepEqual(is[index], event, `${event.stage} of ${event.verb} ${event.requestURI}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (only.length === 0 || only.some((part) => title.includes(part))) test(title, compareServers);
