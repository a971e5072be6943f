// SPDX-License-Identifier: Apache-2.0
// Deletions of what Usages protect, by the commands, on an API server without controllers of compositions.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { createUsageGuard, keptCrds } from "@purlin/composition";
import { eventually } from "@purlin/kube-controller/testing";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";

let folder: TempFolder;
let server: EmbeddedServer;
const purlin = (...args: readonly string[]): Promise<Outcome> => runInProcess(args, { cwd: folder.path });
const apply = async (...objects: readonly unknown[]): Promise<void> => {
  const stdin = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  const { exitCode, stderr } = await runInProcess(["apply", "-f", "-"], { cwd: folder.path, stdin });
  assert.equal(exitCode, 0, stderr);
};
const get = async (type: string, name: string): Promise<Record<string, unknown> | undefined> => {
  const { exitCode, stdout } = await purlin("get", type, name, "-o", "json");
  return exitCode === 0 ? (JSON.parse(stdout) as Record<string, unknown>) : undefined;
};
const metadata = (name: string) => ({ name, namespace: "default" });
const protection = "protection.crossplane.io/v1beta1";
const usage = (name: string, used: string) => ({
  apiVersion: protection,
  kind: "Usage",
  metadata: metadata(name),
  spec: { of: { apiVersion: "v1", kind: "ConfigMap", resourceRef: { name: used } }, reason: "billing reads it" },
});
const boxes = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "boxes.e.org" },
  spec: {
    group: "e.org",
    scope: "Namespaced",
    names: { kind: "Box", plural: "boxes" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

before(async () => {
  folder = tempFolder();
  const directory = join(folder.path, ".purlin");
  server = await startEmbeddedServer({ directory, port: 0, warn: () => {}, guardDelete: createUsageGuard() });
  await apply(boxes, ...keptCrds());
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("a composite resource with a Usage is deleted in the foreground, and waits for what is in use", async () => {
  const resourceRefs = [
    { apiVersion: "v1", kind: "ConfigMap", name: "child" },
    { apiVersion: protection, kind: "Usage", name: "holds" },
  ];
  await apply({
    apiVersion: "e.org/v1",
    kind: "Box",
    metadata: metadata("box"),
    spec: { crossplane: { resourceRefs } },
  });
  const { uid = "" } = ((await get("box", "box"))?.["metadata"] ?? {}) as { uid?: string };
  const owner = { apiVersion: "e.org/v1", kind: "Box", name: "box", uid, controller: true, blockOwnerDeletion: true };
  const child = { apiVersion: "v1", kind: "ConfigMap", metadata: { ...metadata("child"), ownerReferences: [owner] } };
  await apply(child, usage("holds", "child"));
  const waiting = await purlin("delete", "box", "box", "--timeout", "1s");
  assert.deepEqual(waiting, {
    exitCode: 1,
    stdout: "",
    stderr:
      "error: Box box is being deleted but still exists: it waits for its dependents, one of which may be in use: see purlin explain box.e.org/box -n default\n",
  });
  const text = "cannot be deleted: Usage default/holds says that billing reads it";
  const { stdout } = await purlin("explain", "configmap/child");
  assert.ok(stdout.includes(`ConfigMap default/child: ${text}`), stdout);
  const above = await purlin("explain", "box/box");
  assert.ok(above.stdout.includes(`E58 IN_USE: ConfigMap default/child ${text}`), above.stdout);
  // The garbage collector tries again when the last Usage is gone.
  await purlin("delete", "usages.protection.crossplane.io", "holds");
  await eventually("the composite resource is gone", async () => (await get("box", "box")) === undefined);
  assert.equal(await get("configmap", "child"), undefined);
});

test("a used object is not deleted, and a file with its Usage is, from the end to the beginning", async () => {
  const used = { apiVersion: "v1", kind: "ConfigMap", metadata: metadata("used") };
  await apply(used, usage("keeps", "used"));
  const { exitCode, stderr } = await purlin("delete", "configmap", "used");
  assert.equal(exitCode, 1);
  assert.equal(
    stderr,
    'error: admission webhook "nousages.protection.crossplane.io" denied the request: This resource is in-use by 1 usage(s), including the *v1beta1.Usage "keeps" (in namespace "default") with reason: "billing reads it".\n',
  );
  folder.write("all.yaml", [used, usage("keeps", "used")].map((object) => JSON.stringify(object)).join("\n---\n"));
  const both = await purlin("delete", "-f", "all.yaml");
  assert.deepEqual([both.exitCode, both.stdout], [0, "Usage keeps deleted\nConfigMap used deleted\n"], both.stderr);
});
