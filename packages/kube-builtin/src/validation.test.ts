// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../test/index.ts";

/** What kube-apiserver 1.36.3 said to the dry run of a new object. */
interface Answer {
  readonly path: string;
  /** Of some only the spec is written down. */
  readonly spec?: JsonObject;
  readonly object?: JsonObject;
  readonly code: number;
  readonly message?: string;
}

const answers = readFileSync(new URL("testdata/validation.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Answer);

let server: TestServer;

before(async () => {
  server = await startTestServer();
  await server.until("/api/v1/namespaces/default/serviceaccounts/default", ({ code }) => code === 200);
});
after(() => server[Symbol.asyncDispose]());

for (const { path, spec, object, code, message } of answers) {
  const sent: JsonObject = object ?? { spec: spec ?? {} };
  test(`as the reference: ${path.split("/").at(-1)} ${JSON.stringify(sent)}`, async () => {
    const body = { metadata: { name: "a" }, ...sent };
    const response = await server.send(`${path}?dryRun=All`, { method: "POST", body });
    const answer = answerValue(response) as JsonObject;
    assert.deepEqual([response.code, code === 201 ? undefined : answer["message"]], [code, message]);
  });
}

/** What the same server said to a merge patch of an object, after a first status was written. */
interface ChangeAnswer extends Answer {
  readonly object: JsonObject;
  readonly first?: JsonObject;
  readonly endpoint?: string;
  readonly change: JsonObject;
}

const changes = readFileSync(new URL("testdata/changes.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as ChangeAnswer);

const withoutUid = (text: unknown): string =>
  String(text).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uid>");

for (const [index, { path, object, first, endpoint, change, code, message }] of changes.entries()) {
  const title = `${path.split("/").at(-1)} ${JSON.stringify(object)} ${JSON.stringify(first ?? {})} ${JSON.stringify(change)}`;
  test(`a change as in the reference: ${title}`, async () => {
    const at = `${path}/change-${index}`;
    const headers = { "content-type": "application/merge-patch+json" };
    await server.post(path, { metadata: { name: `change-${index}` }, ...object });
    if (first) await server.send(`${at}/status`, { method: "PATCH", headers, body: { status: first } });
    const to = endpoint === undefined ? at : `${at}/${endpoint}`;
    const response = await server.send(to, { method: "PATCH", headers, body: change });
    const said = (answerValue(response) as JsonObject)["message"];
    assert.deepEqual(
      [response.code, code === 200 ? undefined : withoutUid(said)],
      [code, message && withoutUid(message)],
    );
  });
}

test("every kind with rules of its own is asked about, and both answers come", () => {
  const kinds = new Set(answers.map(({ path }) => path.split("/").at(-1)));
  assert.deepEqual([...kinds].sort(), [
    "certificatesigningrequests",
    "clusterroles",
    "configmaps",
    "controllerrevisions",
    "cronjobs",
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "daemonsets",
    "deployments",
    "deviceclasses",
    "endpoints",
    "endpointslices",
    "events",
    "flowschemas",
    "horizontalpodautoscalers",
    "ingressclasses",
    "ingresses",
    "ipaddresses",
    "jobs",
    "leases",
    "limitranges",
    "mutatingwebhookconfigurations",
    "namespaces",
    "networkpolicies",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "poddisruptionbudgets",
    "pods",
    "podtemplates",
    "priorityclasses",
    "prioritylevelconfigurations",
    "replicasets",
    "replicationcontrollers",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourcequotas",
    "resourceslices",
    "rolebindings",
    "roles",
    "runtimeclasses",
    "secrets",
    "serviceaccounts",
    "servicecidrs",
    "services",
    "statefulsets",
    "storageclasses",
    "validatingwebhookconfigurations",
    "volumeattachments",
    "volumeattributesclasses",
  ]);
  assert.deepEqual([...new Set(answers.map(({ code }) => code))].sort(), [201, 400, 403, 422]);
});
