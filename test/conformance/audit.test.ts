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

const strangers: readonly WireRequest[] = [
  { method: "GET", path: collection },
  { method: "GET", path: collection, headers: { authorization: "Bearer nonsense" } },
];

async function sendAll(target: Target): Promise<void> {
  for (const request of requests) await send(target, request);
  const { server, caPem } = target;
  for (const request of strangers) await send({ server, caPem }, request);
}

const times = ["requestReceivedTimestamp", "stageTimestamp"];

/** An event without what differs between any two servers. */
function comparable(line: string): Loose {
  // Which rule of constrained impersonation allowed it: the embedded server has the older rule alone.
  const { authenticationMetadata: _, ...event } = JSON.parse(line) as Loose;
  for (const name of times) assert.match(event[name], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/, name);
  if (event.auditID !== "mine") assert.match(event.auditID, /^[0-9a-f-]{36}$/);
  const masked = JSON.stringify({ ...event, auditID: "", requestReceivedTimestamp: "", stageTimestamp: "" });
  const text = masked
    .replaceAll(/"(uid|resourceVersion|creationTimestamp)":"[^"]*"/g, '"$1":""')
    .replaceAll(/X509SHA256=[0-9a-f]+/g, "X509SHA256=")
    .replaceAll(/"name":"g-[a-z0-9]{5}"/g, '"name":"g-"');
  return { order: Object.keys(event), ...(JSON.parse(text) as object) };
}

/** The events of this test: those of controllers have other users. */
const isOurs = (event: Loose): boolean =>
  ["admin", "purlin-admin", "system:anonymous", undefined].includes(event.user.username) && event.verb !== "";

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
  return readFileSync(file, "utf8").trim().split("\n").map(comparable);
}

async function embedded(directory: string): Promise<readonly Loose[]> {
  const lines: string[] = [];
  const audit = { policy: parseAuditPolicy(policy), write: (line: string) => void lines.push(line) };
  await using server = await startApiServer({ kinds: builtinKinds, directory, audit });
  const { url } = await server.listen();
  const { authority, admin } = server.certificates;
  await sendAll({ server: url, caPem: authority.certPem, certPem: admin.certPem, keyPem: admin.keyPem });
  return lines.map((line) => line.trimEnd()).map(comparable);
}

test(title, { skip: only.length > 0 && !only.some((part) => title.includes(part)) }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "conformance-audit-"));
  try {
    const policyFile = join(directory, "policy.json");
    writeFileSync(policyFile, JSON.stringify(policy));
    const theirs = await reference(join(directory, "audit.log"), policyFile);
    const ours = await embedded(join(directory, "data"));
    const chosen = (events: readonly Loose[]): readonly Loose[] =>
      events.filter((event) => isOurs(event) && event.userAgent !== "wait");
    const [was, is] = [chosen(theirs), chosen(ours)];
    assert.equal(is.length, was.length, "as many events");
    for (const [index, event] of was.entries()) {
      assert.deepEqual(is[index], event, `${event.stage} of ${event.verb} ${event.requestURI}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
