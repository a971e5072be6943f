// SPDX-License-Identifier: Apache-2.0
// Helm installs a chart with a kind of its own, upgrades, rolls back and uninstalls it, on both servers.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { helm } from "../../../tools/peers/kube-clients.ts";
import { kubernetes } from "../../../tools/peers/kubernetes.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { TextMask } from "./masked-text.ts";
import { type ProgramResult, runProgram } from "./run-program.ts";
import { type Server, startTwoServers, type TwoServers } from "./two-servers.ts";

let servers: TwoServers;
before(async () => {
  servers = await startTwoServers();
});
after(() => servers[Symbol.asyncDispose]());

const chart = join(import.meta.dirname, "chart");
const shown = "deploy,svc,sa,role,rolebinding,trees,cm";
const state = `kubectl get ${shown} -l 'app.kubernetes.io/managed-by=Helm' -o name`;
const details =
  "kubectl get deploy/fruit tree/fruit -o jsonpath='{range .items[*]}{.spec.replicas}{.spec.fruit} {end}'";

/** Commands, one after the other; `CHART` stands for the chart's folder. */
const steps: readonly string[] = [
  "helm install fruit CHART --create-namespace",
  "helm install fruit CHART",
  "kubectl wait crd trees.orchard.example.org --for=condition=Established --timeout=120s",
  state,
  details,
  "kubectl get cm fruit-extra fruit-hook -o jsonpath='{.items[*].data}'",
  "helm list",
  "helm status fruit",
  "helm upgrade fruit CHART --set replicas=7 --dry-run=server",
  "helm upgrade fruit CHART --set replicas=5,fruit=pear,extra=false",
  state,
  details,
  "helm upgrade fruit CHART --set fruit=stone",
  "helm history fruit -o json",
  "kubectl scale deploy fruit --replicas=9",
  "helm rollback fruit 1",
  "helm rollback fruit 1 --force-conflicts",
  state,
  details,
  "helm get values fruit -o yaml",
  "helm get manifest fruit",
  "helm upgrade --install other CHART --set extra=false --timeout=120s --wait=hookOnly",
  "kubectl get secrets -o name",
  "helm uninstall fruit",
  "helm uninstall fruit",
  "helm uninstall other",
  state,
  "kubectl get crd trees.orchard.example.org -o name",
];

async function runAll(server: Server): Promise<[string, ProgramResult][]> {
  const mask = new TextMask([
    [server.url, "<server>"],
    [chart, "<chart>"],
  ]);
  const results: [string, ProgramResult][] = [];
  for (const step of steps) {
    const { exitCode, stdout, stderr } = await run(server, step);
    const text = mask.mask(times(stdout));
    // Helm shows the resources of a release in the order of a Go map.
    const lines = step.startsWith("helm status") ? text.split("\n").sort().join("\n") : text;
    results.push([step, { exitCode, stdout: lines, stderr: mask.mask(times(stderr)) }]);
  }
  return results;
}

function run(server: Server, step: string): Promise<ProgramResult> {
  const [name, ...args] = [...step.matchAll(/(?:[^\s']|'[^']*')+/g)].map(([word]) => word.replaceAll("'", ""));
  const peer = name === "helm" ? helm : kubernetes;
  const flags = [`--kubeconfig=${server.kubeconfig}`, "--namespace=orchard"];
  const home = join(server.directory, "helm");
  return runProgram({
    program: join(installed(peer, cacheDirectory), name ?? ""),
    args: [...flags, ...args.map((word) => (word === "CHART" ? chart : word))],
    env: { HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home, TZ: "UTC" },
  });
}

/** Helm prints times in two more forms. */
function times(text: string): string {
  return text
    .replaceAll(/20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000 UTC/g, "<time>")
    .replaceAll(/[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d 20\d\d/g, "<time>")
    .replaceAll(/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, "<time>")
    .replaceAll(/time=\S+/g, "time=<time>");
}

test("helm sees no difference", async (t) => {
  const [ours, theirs] = await Promise.all([runAll(servers.embedded), runAll(servers.real)]);
  for (const [index, [step, expected]] of theirs.entries()) {
    await t.test(`${index + 1}. ${step}`, () => assert.deepEqual(ours[index]?.[1], expected));
  }
  const failed = theirs.filter(([, { exitCode }]) => exitCode !== 0).map(([step]) => step);
  assert.deepEqual(failed, [
    "helm install fruit CHART",
    "helm upgrade fruit CHART --set fruit=stone",
    // Another field manager owns the replicas since they were scaled.
    "helm rollback fruit 1",
    "helm uninstall fruit",
  ]);
});
