// SPDX-License-Identifier: Apache-2.0
// What kubectl prints when it asks the embedded server for something that needs containers, of which it runs none.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type ApiServer, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { kubernetes } from "../../../tools/peers/kubernetes.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { type ProgramResult, runProgram } from "./run-program.ts";

const directory = mkdtempSync(join(tmpdir(), "kubectl-containers-"));
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [{ name: "main", image: "example.org/web:1", ports: [{ containerPort: 80 }] }] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
};
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: { ports: [{ port: 80 }] },
};

let server: ApiServer;
before(async () => {
  server = await startApiServer({ kinds: builtinKinds, directory: join(directory, "data") });
  const { kubeconfig } = await server.listen();
  writeFileSync(join(directory, "kubeconfig"), kubeconfig, { mode: 0o600 });
  for (const object of [pod, service]) {
    assert.equal((await kubectl(["create", "-f", "-"], JSON.stringify(object))).exitCode, 0);
  }
  const status = JSON.stringify({ status: pod.status });
  const patched = await kubectl(["patch", "pod", "web", "--subresource=status", "--type=merge", "-p", status]);
  assert.equal(patched.exitCode, 0, patched.stderr);
});
after(async () => {
  await server?.close();
  rmSync(directory, { recursive: true, force: true });
});

function kubectl(args: readonly string[], input?: string): Promise<ProgramResult> {
  const flags = [`--kubeconfig=${join(directory, "kubeconfig")}`, `--cache-dir=${join(directory, "cache")}`];
  return runProgram({
    program: join(installed(kubernetes, cacheDirectory), "kubectl"),
    args: [...flags, "--namespace=default", ...args],
    input,
    env: { HOME: directory, LC_ALL: "C" },
  });
}

const because = "this API server runs no containers";
const rows: readonly { readonly args: string; readonly says: string }[] = [
  { args: "logs web", says: `cannot get the logs of pod "web": ${because}` },
  { args: "exec web -- ls", says: `cannot execute a command in pod "web": ${because}` },
  { args: "attach web", says: `cannot attach to pod "web": ${because}` },
  { args: "port-forward pod/web :80", says: `cannot forward ports to pod "web": ${because}` },
  { args: "cp web:/etc/hosts hosts", says: `cannot execute a command in pod "web": ${because}` },
  {
    args: "get --raw /api/v1/namespaces/default/services/web/proxy/index.html",
    says: `cannot proxy requests to service "web": ${because}`,
  },
  { args: "logs absent", says: 'pods "absent" not found' },
  { args: "get --raw /api/v1/namespaces/default/pods/absent/log", says: 'pods "absent" not found' },
];

for (const { args, says } of rows) {
  test(`kubectl ${args}`, async () => {
    const { exitCode, stderr } = await kubectl(args.split(" "));
    assert.equal(exitCode, 1, stderr);
    assert.ok(stderr.includes(says), `"${says}" is missing in: ${stderr}`);
  });
}

test("kubectl debug adds a container to a Pod", async () => {
  const added = await kubectl(["debug", "web", "--image=example.org/debug:1", "--container=debugger"]);
  assert.equal(added.exitCode, 0, added.stderr);
  const images = "-ojsonpath={.spec.ephemeralContainers[*].image}";
  assert.equal((await kubectl(["get", "pod", "web", images])).stdout, "example.org/debug:1");
});
