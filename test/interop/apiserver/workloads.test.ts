// SPDX-License-Identifier: Apache-2.0
// Helm and kubectl wait for the simulated workloads of `purlin up`, as they would on a cluster.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { helm } from "../../../tools/peers/kube-clients.ts";
import { kubernetes } from "../../../tools/peers/kubernetes.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { type PurlinProcess, startPurlin } from "../../e2e/harness/purlin-process.ts";
import { runProgram } from "./run-program.ts";

const chart = join(import.meta.dirname, "workloads/chart");
const directory = mkdtempSync(join(tmpdir(), "client-workloads-"));
let plane: PurlinProcess;

before(async () => {
  plane = startPurlin("up", "--data-dir", directory);
  await plane.says("workloads are simulated");
});
after(async () => {
  await plane.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Runs `helm …` or `kubectl …`; `CHART` stands for the chart's folder. Fails unless the exit code is as expected. */
async function run(command: string, exitCode = 0): Promise<string> {
  const [name = "", ...words] = command.split(" ");
  const home = join(directory, "helm");
  const result = await runProgram({
    program: join(installed(name === "helm" ? helm : kubernetes, cacheDirectory), name),
    args: [`--kubeconfig=${join(directory, "kubeconfig")}`, ...words.map((word) => (word === "CHART" ? chart : word))],
    env: { HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home },
  });
  assert.equal(result.exitCode, exitCode, `${command}\n${result.stdout}${result.stderr}`);
  return result.stdout + result.stderr;
}

test("helm --wait returns when the workloads of a chart are ready", async () => {
  await run("helm install shop CHART --wait --timeout=120s");
  assert.match(await run("kubectl rollout status deployment/shop --timeout=120s"), /successfully rolled out/);
  // The autoscaler has raised the Deployment to its minimum.
  await run("kubectl wait deployment/shop --for=jsonpath={.status.readyReplicas}=2 --timeout=60s");
  await run("kubectl wait job/shop-migrate --for=condition=Complete --timeout=60s");
  await run("kubectl wait pvc/shop --for=jsonpath={.status.phase}=Bound --timeout=60s");
  const address = "{.status.loadBalancer.ingress[0].ip}";
  assert.match(await run(`kubectl get ingress/shop -o jsonpath=${address}`), /^198\.1[89]\./);
  assert.match(await run("kubectl get networkpolicy/shop -o name"), /networkpolicy/);
});

test("helm --wait fails for an image that cannot be pulled, and a rollback repairs it", async () => {
  const failure = await run("helm upgrade shop CHART --set outcome=ImagePullBackOff --wait --timeout=6s", 1);
  assert.match(failure, /Deployment/);
  assert.match(await run("kubectl get pods -l app=shop"), /ImagePullBackOff/);
  assert.match(await run("kubectl rollout status deployment/shop --timeout=1s", 1), /timed out/);
  await run("helm rollback shop 1 --force-conflicts --wait --timeout=120s");
  assert.match(await run("kubectl rollout status deployment/shop --timeout=60s"), /successfully rolled out/);
});

test("kubectl drain evicts within the disruption budget, and Pods return when the node is uncordoned", async () => {
  // The budget lets one of two Pods go; the other may only follow when a new one runs, which a cordoned node does not take.
  assert.match(await run("kubectl drain simulated-node --timeout=12s", 1), /disruption budget/);
  assert.match(await run("kubectl get node simulated-node"), /SchedulingDisabled/);
  await run("kubectl delete pdb shop");
  assert.match(await run("kubectl drain simulated-node --timeout=60s"), /drained/);
  assert.match(await run("kubectl get pods -l app=shop"), /Pending/);
  await run("kubectl uncordon simulated-node");
  assert.match(await run("kubectl rollout status deployment/shop --timeout=60s"), /successfully rolled out/);
  await run("helm uninstall shop --wait --timeout=60s");
  await run("kubectl wait pod -l app=shop --for=delete --timeout=60s");
});
