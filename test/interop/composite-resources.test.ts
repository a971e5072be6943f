// SPDX-License-Identifier: Apache-2.0
// The tests of composite resources, their definitions and rollouts that run on the embedded server, unchanged, on a real
// kube-apiserver and etcd.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const preload = new URL("serve-tests-from-kubernetes.ts", import.meta.url).href;
const packages = new URL("../../packages/", import.meta.url);
const files = [
  "composition/src/composite/engine.test.ts",
  "composition/src/composite/fresh-composite.test.ts",
  "composition/src/composite/reconcile-lifecycle.test.ts",
  "composition/src/composite/reconcile-selection.test.ts",
  "composition/src/composite/reconcile-revision.test.ts",
  "composition/src/composite/reconcile-compose.test.ts",
  "composition/src/composite/reconcile-status.test.ts",
  "composition/src/composite/reconcile-connection.test.ts",
  "composition/src/composite/reconcile-claims.test.ts",
  "composition/src/composite/reconcile-functions.test.ts",
  "composition/src/composite/error-conditions.test.ts",
  "composition/src/composite/apply/require-alive.test.ts",
  "composition/src/composite/crash.test.ts",
  "composition/src/managed/managed-resources.test.ts",
  "composition/src/render/render-equals-control-plane.test.ts",
  "control-plane/src/changed-definitions.test.ts",
  "preview/src/preview.test.ts",
];

// Each file has a cluster of its own and mostly waits for it.
describe("on kube-apiserver", { concurrency: 3 }, () => {
  for (const file of files) {
    test(file, async () => {
      const path = fileURLToPath(new URL(file, packages));
      const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
      const child = spawn(process.execPath, ["--import", preload, path], { env, stdio: ["ignore", "pipe", "inherit"] });
      const [said] = await Promise.all([text(child.stdout), once(child, "exit")]);
      assert.equal(child.exitCode, 0, said);
      assert.match(said, /pass [1-9]/, "some tests ran");
    });
  }
});
