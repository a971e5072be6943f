// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import { warningHeaders } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../test/index.ts";
import { nodeRules } from "./cluster/node-rules.ts";
import { ingressRules } from "./networking/ingress-rules.ts";
import { podRules } from "./pods/pod-rules.ts";
import { endpointsRules } from "./services/endpoint-rules.ts";
import { serviceRules } from "./services/service-rules.ts";
import { controllerRules } from "./workloads/template.ts";

/** What kube-apiserver 1.36.3 warned of at the dry run of a new object that it took. */
interface Answer {
  readonly path: string;
  readonly spec?: JsonObject;
  readonly object?: JsonObject;
  readonly warnings: readonly string[];
}

const answers = readFileSync(new URL("testdata/warnings.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Answer);

let server: TestServer;

before(async () => {
  server = await startTestServer();
  await server.until("/api/v1/namespaces/default/serviceaccounts/default", ({ code }) => code === 200);
});
after(() => server[Symbol.asyncDispose]());

for (const { path, spec, object, warnings } of answers) {
  const sent: JsonObject = object ?? { spec: spec ?? {} };
  test(`as the reference: ${path.split("/").at(-1)} ${JSON.stringify(sent)}`, async () => {
    const response = await server.send(`${path}?dryRun=All`, {
      method: "POST",
      body: { metadata: { name: "a" }, ...sent },
    });
    assert.equal(response.code, 201);
    assert.deepEqual(warningHeaders(response.warnings ?? []), warningHeaders(warnings));
  });
}

const old = { nodeSelector: { "beta.kubernetes.io/arch": "x" }, containers: [{ name: "c", image: "i" }] };
const template = { metadata: { labels: { a: "b" } }, spec: old };
const selector = { matchLabels: { a: "b" } };
const ending = { template: { spec: { ...old, restartPolicy: "Never" } } };

interface Change {
  readonly reason: string;
  readonly path: string;
  readonly spec: JsonObject;
  readonly change: JsonObject;
  /** How often the change warns of the label. */
  readonly warns: boolean;
}

const inApps = "/apis/apps/v1/namespaces/default";
const inBatch = "/apis/batch/v1/namespaces/default";
const changes: Record<string, Change> = {
  DeploymentSpec: {
    reason: "warnings about a template are repeated when the spec changes",
    path: `${inApps}/deployments`,
    spec: { selector, template },
    change: { spec: { minReadySeconds: 3 } },
    warns: true,
  },
  DeploymentLabels: {
    reason: "and not when anything else does",
    path: `${inApps}/deployments`,
    spec: { selector, template },
    change: { metadata: { labels: { x: "y" } } },
    warns: false,
  },
  DaemonSetSpec: {
    reason: "of a DaemonSet the template itself has to change",
    path: `${inApps}/daemonsets`,
    spec: { selector, template },
    change: { spec: { minReadySeconds: 3 } },
    warns: false,
  },
  DaemonSetTemplate: {
    reason: "and then there is a warning",
    path: `${inApps}/daemonsets`,
    spec: { selector, template },
    change: { spec: { template: { metadata: { labels: { x: "y" } } } } },
    warns: true,
  },
  Job: {
    reason: "a Job's spec",
    path: `${inBatch}/jobs`,
    spec: ending,
    change: { spec: { suspend: true } },
    warns: true,
  },
  CronJob: {
    reason: "a CronJob's spec",
    path: `${inBatch}/cronjobs`,
    spec: { schedule: "* * * * *", jobTemplate: { spec: ending } },
    change: { spec: { schedule: "1 * * * *" } },
    warns: true,
  },
  Pod: {
    reason: "changes of Pods give no warnings",
    path: "/api/v1/namespaces/default/pods",
    spec: old,
    change: { spec: { activeDeadlineSeconds: 5 } },
    warns: false,
  },
};

for (const [name, { reason, path, spec, change, warns }] of Object.entries(changes)) {
  test(`changes: ${name}: ${reason}`, async () => {
    const called = name.toLowerCase();
    const made = await server.send(path, { method: "POST", body: { metadata: { name: called }, spec } });
    assert.equal(made.code, 201);
    assert.equal(made.warnings?.length, 1);
    const headers = { "content-type": "application/merge-patch+json" };
    const changed = await server.send(`${path}/${called}`, { method: "PATCH", headers, body: change });
    assert.equal(changed.code, 200);
    assert.deepEqual(changed.warnings ?? [], warns ? made.warnings : []);
  });
}

test("a changed ReplicationController warns about the template it had", () => {
  const controller = (generation: number, seconds: number): JsonObject => ({
    metadata: { name: "r", generation },
    spec: { template: { spec: { terminationGracePeriodSeconds: seconds } } },
  });
  const warning =
    "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1";
  assert.deepEqual(controllerRules.warnings?.(controller(1, -1), undefined, ""), [warning]);
  assert.deepEqual(controllerRules.warnings?.(controller(2, -1), controller(1, 1), ""), []);
  assert.deepEqual(controllerRules.warnings?.(controller(2, 1), controller(1, -1), ""), [warning]);
  assert.deepEqual(controllerRules.warnings?.(controller(1, -1), controller(1, -1), ""), []);
});

const addressWarning = 'IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")';
const address = { ip: "FD00::1" };
const balanced = { status: { loadBalancer: { ingress: [address] } } };
const statuses: Readonly<Record<string, readonly [rules: KindRules, object: JsonObject, want: readonly string[]]>> = {
  Pod: [
    podRules(() => new Date(0)),
    { status: { podIPs: [address], hostIPs: [{ ip: "10.0.0.1" }, address] } },
    [`status.podIPs[0].ip: ${addressWarning}`, `status.hostIPs[1].ip: ${addressWarning}`],
  ],
  Ingress: [ingressRules, balanced, [`status.loadBalancer.ingress[0]: ${addressWarning}`]],
  Service: [
    serviceRules({ isAddressTaken: () => false, isPortTaken: () => false }),
    { spec: { externalIPs: ["FD00::1"] }, ...balanced },
    [`status.loadBalancer.ingress[0]: ${addressWarning}`],
  ],
  Node: [nodeRules, { spec: { externalID: "x" } }, []],
};

for (const [name, [rules, object, want]] of Object.entries(statuses)) {
  test(`the status of a ${name} warns only of its own addresses`, () => {
    assert.deepEqual(rules.warnings?.(object, object, "status"), want);
  });
}

test("of very many addresses only the first are looked at", () => {
  const addresses = Array.from({ length: 5000 }, () => address);
  const warnings = endpointsRules.warnings?.({ subsets: [{ addresses }] }, undefined, "") ?? [];
  assert.equal(warnings.length, 1000);
});
