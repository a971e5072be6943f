// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import type { SandboxSupport } from "@purlin/function-process";
import { plainStyle, runInProcess, TestIo } from "../../test/test-io.ts";
import { createStyle } from "../terminal/style.ts";
import {
  createTypesRefresher,
  greeting,
  kubeconfigWarning,
  logPath,
  nextSteps,
  sandboxWarning,
} from "./run-control-plane.ts";

const io = (env: Record<string, string> = {}): TestIo => new TestIo({ cwd: "/projects/shop", env });

test("the kubeconfig is shown by its shorter path", () => {
  const of = (kubeconfig: string): string => greeting({ url: "https://127.0.0.1:6443", kubeconfig }, plainStyle, io());
  assert.equal(
    of("/projects/shop/.purlin/kubeconfig"),
    "✓ control plane at https://127.0.0.1:6443 (kubeconfig .purlin/kubeconfig)",
  );
  assert.equal(of("/data/kubeconfig"), "✓ control plane at https://127.0.0.1:6443 (kubeconfig /data/kubeconfig)");
});

test("functions without a sandbox are worth a warning, with what they share", () => {
  const warning = (sandbox: object): string | undefined => sandboxWarning(sandbox as SandboxSupport, plainStyle);
  assert.equal(warning({ isSupported: true }), undefined);
  assert.equal(
    warning({ isSupported: false, reason: "bwrap is missing" }),
    "! functions of packages run without a sandbox: bwrap is missing; they share this machine's network; install bubblewrap to isolate them",
  );
  assert.equal(
    warning({ isSupported: false, reason: "bwrap is missing", network: {} }),
    "! functions of packages run without a sandbox: bwrap is missing; install bubblewrap to isolate them",
  );
});

test("a $KUBECONFIG of another control plane is worth a warning", () => {
  const warning = (env: Record<string, string>): string | undefined =>
    kubeconfigWarning("/projects/shop/.purlin/kubeconfig", plainStyle, io(env));
  assert.equal(warning({}), undefined);
  assert.equal(warning({ KUBECONFIG: "/projects/shop/.purlin/kubeconfig" }), undefined);
  assert.equal(
    warning({ KUBECONFIG: "/other/config" }),
    '! $KUBECONFIG is set: other commands use it instead of this control plane; run "unset KUBECONFIG" there, or add --data-dir .purlin',
  );
});

test("the next steps are those beside the manifests, else those that are always possible", () => {
  using folder = tempFolder({ "a/NEXT.md": "Try this.\n", "b/NEXT.md": "Then that.\n", "c/x.yaml": "" });
  const here = new TestIo({ cwd: folder.path });
  const usual = join(folder.path, ".purlin");
  assert.equal(nextSteps(["a", "b", "c"], usual, here), "Try this.\n\nThen that.");
  assert.match(nextSteps(["c"], usual, here), /^From another terminal:\n\n {2}\S+ trace /);
});

test("the next steps name the data directory where commands do not find it", () => {
  using folder = tempFolder({
    "a/NEXT.md": "`kubectl` works with `.purlin/kubeconfig`.\n",
    "p/purlin.yaml": "dataDir: own\n",
  });
  const of = (cwd: string, directory: string): string =>
    nextSteps([join(folder.path, "a")], directory, new TestIo({ cwd, env: { PURLIN_DATA_DIR: directory } }));
  assert.equal(of(folder.path, join(folder.path, ".purlin")), "kubectl works with .purlin/kubeconfig.");
  assert.equal(
    of(folder.path, "/data/$&"),
    'kubectl works with /data/$&/kubeconfig.\n\nThese commands need the data directory: add --data-dir /data/$&, or first run "export PURLIN_DATA_DIR=/data/$&".',
  );
  const project = join(folder.path, "p");
  assert.equal(of(project, join(project, "own")), "kubectl works with own/kubeconfig.");
});

test("the log is in the data directory", () => {
  assert.equal(logPath("/d"), join("/d", "purlin.log"));
});

const xrd = (properties: string): string => `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.e.org}
spec:
  group: e.org
  names: {kind: App, plural: apps}
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, ${properties}}}}}}
`;

const before = xrd("properties: {before: {type: string}}");
const after = xrd("properties: {after: {type: string}}");

function refresher(
  folder: TempFolder,
  paths: readonly string[],
): { readonly said: string[]; refresh(): Promise<void> } {
  const io = new TestIo({ cwd: folder.path });
  const said: string[] = [];
  const style = createStyle(io.stdout, io.env);
  return { said, refresh: createTypesRefresher({ paths, io, style, say: (text) => said.push(text) }) };
}

test("types follow the definitions from which they were generated, and nothing is written when nothing changed", async () => {
  using folder = tempFolder({
    "shop/platform/xrd.yaml": before,
    "shop/elsewhere.yaml": before.replaceAll("e.org", "f.org"),
  });
  const cwd = join(folder.path, "shop");
  assert.equal((await runInProcess(["types", "platform"], { cwd })).exitCode, 0);
  const { said, refresh } = refresher(folder, ["shop"]);
  const module = join(cwd, "types/e.org/v1.d.ts");
  utimesSync(module, 1, 1);
  await refresh();
  assert.deepEqual(said, []);
  assert.equal(statSync(module).mtimeMs, 1000);
  folder.write("shop/platform/xrd.yaml", after);
  await refresh();
  assert.deepEqual(said, ["✓ refreshed shop/types/e.org/v1.d.ts, shop/types/manifests.schema.json"]);
  assert.match(readFileSync(module, "utf8"), /after\?: string/);
  assert.ok(!existsSync(join(cwd, "types/f.org")), "only what was asked for");
  await refresh();
  assert.equal(said.length, 1);
});

test("a mistake is reported once, and the types stay until it is corrected", async () => {
  using folder = tempFolder({ "xrd.yaml": before });
  await runInProcess(["types"], { cwd: folder.path });
  const { said, refresh } = refresher(folder, ["."]);
  folder.write("xrd.yaml", xrd("propertes: {}"));
  await refresh();
  await refresh();
  assert.equal(said.length, 1);
  assert.match(
    said[0] ?? "",
    /^! types not refreshed: xrd\.yaml:8:\d+: spec\.\S+\.propertes: unknown schema keyword: did you mean properties\?$/,
  );
  assert.match(readFileSync(join(folder.path, "types/e.org/v1.d.ts"), "utf8"), /before\?: string/);
  folder.write("xrd.yaml", after);
  await refresh();
  assert.match(said[1] ?? "", /^✓ refreshed types\/e\.org\/v1\.d\.ts/);
});

test("definitions that are not valid YAML are reported once, too", async () => {
  using folder = tempFolder({ "xrd.yaml": before });
  await runInProcess(["types"], { cwd: folder.path });
  const { said, refresh } = refresher(folder, []);
  folder.write("xrd.yaml", "a: [\n");
  await refresh();
  await refresh();
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /^! types not refreshed: xrd\.yaml:2:1: invalid YAML/);
});

for (const [name, spoil] of Object.entries({
  NoFolder: (path: string) => rmSync(join(path, "types"), { recursive: true }),
  NoSources: (path: string) => rmSync(join(path, "types/manifests.schema.json")),
  NotGenerated: (path: string) => rmSync(join(path, "types/meta"), { recursive: true }),
})) {
  test(`a project without generated types gets none: ${name}`, async () => {
    using folder = tempFolder({ "xrd.yaml": before });
    await runInProcess(["types"], { cwd: folder.path });
    spoil(folder.path);
    folder.write("xrd.yaml", after);
    const { said, refresh } = refresher(folder, ["."]);
    await refresh();
    assert.deepEqual(said, []);
    assert.ok(!existsSync(join(folder.path, "types/meta")) || name === "NoSources");
  });
}
