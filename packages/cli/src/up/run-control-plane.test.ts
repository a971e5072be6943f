// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { SandboxSupport } from "@purlin/function-process";
import { plainStyle, TestIo } from "../../test/test-io.ts";
import { greeting, kubeconfigWarning, logPath, nextSteps, sandboxWarning } from "./run-control-plane.ts";

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
