// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects";
import { answerValue } from "../testing/test-request.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

/** What kube-apiserver 1.36.3 said to the dry run of a new object. */
interface Answer {
  readonly path: string;
  readonly spec: JsonObject;
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

for (const { path, spec, code, message } of answers) {
  test(`as the reference: ${path.split("/").at(-1)} ${JSON.stringify(spec)}`, async () => {
    const body = { metadata: { name: "a" }, spec };
    const response = await server.send(`${path}?dryRun=All`, { method: "POST", body });
    const answer = answerValue(response) as JsonObject;
    assert.deepEqual([response.code, code === 201 ? undefined : answer["message"]], [code, message]);
  });
}

test("every kind with rules of its own is asked about, and both answers come", () => {
  const kinds = new Set(answers.map(({ path }) => path.split("/").at(-1)));
  assert.deepEqual([...kinds].sort(), [
    "cronjobs",
    "daemonsets",
    "deployments",
    "jobs",
    "pods",
    "replicasets",
    "services",
    "statefulsets",
  ]);
  assert.deepEqual([...new Set(answers.map(({ code }) => code))].sort(), [201, 403, 422]);
});
