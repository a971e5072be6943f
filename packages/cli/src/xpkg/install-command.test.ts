// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { packageCrds } from "@purlin/package-manager";
import { type Outcome, runInProcess, TestIo } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { openCluster } from "../cluster/cluster-client.ts";
import { problemOf } from "./install-command.ts";

let folder: TempFolder;
let server: EmbeddedServer;
const purlin = (...args: string[]): Promise<Outcome> => runInProcess(args, { cwd: folder.path });
const image = "registry.example.org/acme/function-hello:v1";

before(async () => {
  const items = packageCrds({ functionRevisionSelectors: true });
  folder = tempFolder({ "crds.json": JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  server = await startEmbeddedServer({ directory: join(folder.path, ".purlin"), port: 0, warn: () => {} });
  const { exitCode, stderr } = await purlin("apply", "crds.json");
  assert.equal(exitCode, 0, stderr);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("a package is created under a name made from its repository", async () => {
  const made = await purlin("xpkg", "install", "function", image, "--manual-activation", "-r", "3");
  assert.deepEqual([made.exitCode, made.stderr], [0, ""]);
  assert.equal(
    made.stdout,
    "Function acme-function-hello created\nNext:\n  purlin get functions acme-function-hello\n",
  );
  const { stdout } = await purlin("get", "functions", "acme-function-hello", "-o", "json");
  const { spec } = JSON.parse(stdout) as { spec: Record<string, unknown> };
  assert.deepEqual(
    [spec["package"], spec["revisionActivationPolicy"], spec["revisionHistoryLimit"]],
    [image, "Manual", 3],
  );
  const again = await purlin("xpkg", "install", "Function", image);
  assert.equal(again.exitCode, 1);
  assert.match(again.stderr, /already exists: change it with purlin patch function acme-function-hello '\{"spec"/);
});

test("a package that is not ready in time is reported with the reason", async () => {
  const { exitCode, stdout, stderr } = await purlin(
    "xpkg",
    "install",
    "configuration",
    image,
    "c",
    "-w",
    "--timeout",
    "1ms",
  );
  assert.equal(exitCode, 1);
  assert.equal(stdout, "Configuration c created\n");
  assert.match(stderr, /error: Configuration c is not ready: not Installed: fix it, or increase --timeout\n$/);
});

test("with -o json, stdout is one document: what was created, or why it is not ready", async () => {
  const args = ["xpkg", "install", "configuration", image, "documented", "-o", "json"];
  const made = await purlin(...args);
  const apiVersion = "pkg.crossplane.io/v1";
  const items = [{ apiVersion, kind: "Configuration", name: "documented", action: "created" }];
  assert.deepEqual(JSON.parse(made.stdout), { apiVersion: "cli.purlin.dev/v1", kind: "ActionReport", items });
  const late = await purlin(...args.with(4, "late"), "--wait", "--timeout", "1ms");
  const message = "Configuration late is not ready: not Installed: fix it, or increase --timeout";
  assert.deepEqual([late.exitCode, JSON.parse(late.stdout)], [1, { errors: [{ code: "FAILED", message }] }]);
});

test("--wait ends when the package is installed and healthy, and prints what it waited for", async () => {
  const waiting = purlin("xpkg", "install", "provider", image, "p", "--wait");
  const patch = async (status: JsonObject): Promise<void> => {
    await using cluster = await openCluster({ args: [], options: {} }, new TestIo({ cwd: folder.path }));
    const path = "/apis/pkg.crossplane.io/v1/providers/p/status";
    const body = { status };
    const request = { method: "PATCH", path, body, contentType: "application/merge-patch+json" } as const;
    // The object may not be there yet.
    for (let done = false; !done; ) {
      done = await cluster.client.raw(request).then(
        () => true,
        (error: unknown) => {
          if (isNotFound(error)) return false;
          throw error;
        },
      );
    }
  };
  const condition = (type: string): JsonObject => ({
    type,
    status: "True",
    reason: "Fine",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });
  await patch({ conditions: [condition("Installed"), condition("Healthy")] });
  const { exitCode, stdout } = await waiting;
  assert.equal(exitCode, 0);
  assert.equal(stdout, "Provider p created\nProvider p is installed and healthy\n");
});

const refused: Record<string, { readonly args: string[]; readonly says: RegExp }> = {
  NoKind: { args: ["thing", image], says: /^error: unknown package kind "thing": use function, provider or conf/ },
  NoTag: {
    args: ["function", "registry.example.org/x"],
    says: /^error: .* names no image: it has neither tag nor digest/,
  },
  NoLimit: { args: ["function", image, "-r", "-1"], says: /^error: --revision-history-limit -1: expected a number/ },
  NoTime: { args: ["function", image, "--timeout", "x"], says: /^error: --timeout: expected a duration/ },
};
for (const [name, { args, says }] of Object.entries(refused)) {
  test(`refused in one line: ${name}`, async () => {
    const { exitCode, stdout, stderr } = await purlin("xpkg", "install", ...args);
    assert.match(stderr, says);
    assert.notEqual(exitCode, 0);
    assert.equal(stdout, "");
  });
}

test("a condition with a message wins over one that is not set", () => {
  const object = (conditions: JsonObject[]): Parameters<typeof problemOf>[0] => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: "f" },
    status: { conditions },
  });
  const installed = { type: "Installed", status: "True" };
  assert.equal(problemOf(object([])), "not Installed");
  const bad = { type: "Healthy", status: "False", reason: "Unhealthy", message: "no\nimage" };
  assert.equal(problemOf(object([bad])), "not Healthy: Unhealthy: no image");
  assert.equal(problemOf(object([installed, { type: "Healthy", status: "True" }])), undefined);
});
