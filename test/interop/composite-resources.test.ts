// SPDX-License-Identifier: Apache-2.0
// The tests of composite resources that run on the embedded server, word for word, on a real kube-apiserver and etcd.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const preload = new URL("serve-tests-from-kubernetes.ts", import.meta.url).href;
const composition = new URL("../../packages/composition/src/", import.meta.url);
const files = [
  "composite/fresh-composite.test.ts",
  "composite/reconcile-lifecycle.test.ts",
  "composite/reconcile-selection.test.ts",
  "composite/reconcile-revision.test.ts",
  "composite/reconcile-compose.test.ts",
  "composite/reconcile-status.test.ts",
  "composite/reconcile-connection.test.ts",
  "composite/reconcile-claims.test.ts",
  "composite/reconcile-functions.test.ts",
  "composite/error-conditions.test.ts",
  "composite/apply/require-alive.test.ts",
  "composite/crash.test.ts",
  "composite/engine.test.ts",
  "render/render-equals-control-plane.test.ts",
];

for (const file of files) {
  test(`on kube-apiserver: ${file}`, async () => {
    const path = fileURLToPath(new URL(file, composition));
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const child = spawn(process.execPath, ["--import", preload, path], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [said] = await Promise.all([text(child.stdout), once(child, "exit")]);
    assert.equal(child.exitCode, 0, said);
    assert.match(said, /pass [1-9]/, "some tests ran");
  });
}
