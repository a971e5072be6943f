// SPDX-License-Identifier: Apache-2.0
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { javascriptClient, pythonClient } from "../../../tools/peers/kube-clients.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, ownGroup, widgets, withOwnWidgets } from "../harness/fixtures.ts";
import { goClients } from "../harness/go-clients.ts";
import type { Session } from "../harness/session.ts";

const programs = join(import.meta.dirname, "..", "programs");
const alone = { alone: true };

async function informers(s: Session, watchList: boolean): Promise<void> {
  await s.program("informers end up with what the server has", {
    program: await goClients(),
    args: ["informers", s.server.kubeconfig, s.namespace],
    env: { KUBE_FEATURE_WatchListClient: String(watchList) },
    patienceMs: 280_000,
  });
}

/** A kind whose memory starts after the version that comes back, on a server that has forgotten what was before. */
async function afterForgetting(s: Session): Promise<string> {
  const { body } = await s.get(widgets(s), { quiet: true });
  await withOwnWidgets(s);
  await s.server.compact();
  return body.metadata.resourceVersion;
}

const widgetYaml = (size: number): string =>
  `apiVersion: example.org/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  size: ${size}\n`;

export const programCases: readonly Case[] = [
  scenario("leader election", async (s) => {
    await s.program("two candidates", {
      program: await goClients(),
      args: ["election", s.server.kubeconfig, s.namespace],
      patienceMs: 240_000,
    });
  }),

  scenario("informers that stream their lists", (s) => informers(s, true)),

  scenario("informers that list and watch", (s) => informers(s, false)),

  scenario("kubectl on objects", async (s) => {
    await s.kubectl(["create", "configmap", "a", "--from-literal=x=1"]);
    await s.kubectl(["create", "configmap", "a", "--from-literal=x=1"]);
    await s.kubectl(["get", "configmap", "a", "-o", "jsonpath={.data}"]);
    await s.kubectl(["get", "configmaps", "-o", "name"]);
    await s.kubectl(["get", "configmaps"]);
    await s.kubectl(["label", "configmap", "a", "tier=front"]);
    await s.kubectl(["label", "configmap", "a", "tier=back"]);
    await s.kubectl(["label", "configmap", "a", "tier=back", "--overwrite"]);
    await s.kubectl(["annotate", "configmap", "a", "note=hello"]);
    await s.kubectl(["get", "configmaps", "-l", "tier=back", "--show-labels"]);
    await s.kubectl(["patch", "configmap", "a", "-p", '{"data":{"y":"2"}}']);
    await s.kubectl(["patch", "configmap", "a", "--type=json", "-p", '[{"op":"remove","path":"/data/y"}]']);
    await s.kubectl(["edit", "configmap", "a"], { env: { KUBE_EDITOR: "sed -i s/x:.*/x:\\ edited/" } });
    await s.kubectl(["edit", "configmap", "a"], { env: { KUBE_EDITOR: "true" } });
    await s.kubectl(["get", "configmap", "a", "-o", "jsonpath={.data.x}"]);
    await s.kubectl(["describe", "configmap", "a"]);
    await s.kubectl(["get", "configmap", "missing"]);
    await s.kubectl(["get", "nonsense"]);
    await s.kubectl(["delete", "configmap", "a"]);
    await s.kubectl(["delete", "configmap", "a"]);
    await s.kubectl(["delete", "configmap", "a", "--ignore-not-found"]);
    await s.kubectl(["create", "deployment", "d", "--image=example.org/d:1", "--replicas=0"]);
    await s.kubectl(["set", "image", "deployment/d", "d=example.org/d:2"]);
    await s.kubectl(["get", "deployment", "d", "-o", "wide"]);
    await s.kubectl(["create", "secret", "generic", "s", "--from-literal=p=q"]);
    await s.kubectl(["create", "serviceaccount", "sa"]);
    await s.kubectl(["create", "role", "r", "--verb=get", "--resource=configmaps"]);
    await s.kubectl(["create", "rolebinding", "rb", "--role=r", `--serviceaccount=${s.namespace}:sa`]);
    await s.kubectl(["get", "secrets,roles,rolebindings"]);
    await s.kubectl(["auth", "can-i", "create", "configmaps"]);
    await s.kubectl(["replace", "-f", "-"], {
      input: JSON.stringify({ ...configMap("none"), apiVersion: "v1", kind: "ConfigMap" }),
    });
  }),

  scenario("kubectl applies, compares and waits", async (s) => {
    await s.kubectl(["diff", "-f", "-"], { input: widgetYaml(1) });
    await s.kubectl(["apply", "-f", "-"], { input: widgetYaml(1) });
    await s.kubectl(["apply", "-f", "-"], { input: widgetYaml(1) });
    await s.kubectl(["diff", "-f", "-"], { input: widgetYaml(1) });
    const changed = await s.kubectl(["diff", "-f", "-"], { input: widgetYaml(2), quiet: true });
    const lines = changed.stdout.split("\n").filter((text) => /^[-+] /.test(text));
    s.note("a change shows in the difference", { exitCode: changed.exitCode, lines });
    await s.kubectl(["apply", "-f", "-"], { input: widgetYaml(2) });
    await s.kubectl(["get", "widgets.example.org"]);
    await s.kubectl(["get", "wd.example.org", "w", "-o", "wide"]);
    await s.kubectl(["wait", "widgets.example.org/w", "--for=condition=Ready", "--timeout=1s"]);
    const ready = { status: { conditions: [{ type: "Ready", status: "True" }] } };
    const waiting = s.kubectl(["wait", "widgets.example.org/w", "--for=condition=Ready", "--timeout=60s"]);
    await s.patch(`${widgets(s, "w")}/status`, "merge", ready, { quiet: true });
    await waiting;
    await s.kubectl(["wait", "widgets.example.org/w", "--for=jsonpath={.spec.size}=2", "--timeout=60s"]);
    await s.kubectl([
      "patch",
      "widgets.example.org",
      "w",
      "--subresource=status",
      "--type=merge",
      "-p",
      '{"status":{"phase":"Done"}}',
    ]);
    await s.kubectl(["wait", "widgets.example.org/w", "--for=jsonpath={.status.phase}=Done", "--timeout=60s"]);
    await s.patch(widgets(s, "w"), "merge", { metadata: { finalizers: ["example.org/wait"] } }, { quiet: true });
    await s.kubectl(["delete", "widgets.example.org", "w", "--wait=false"]);
    const gone = s.kubectl(["wait", "widgets.example.org/w", "--for=delete", "--timeout=60s"], { quiet: true });
    await s.patch(widgets(s, "w"), "merge", { metadata: { finalizers: null } }, { quiet: true });
    // What it prints says whether it was gone before the command had looked.
    const { exitCode, stderr } = await gone;
    s.note("a wait for its end", { exitCode, stderr });
    await s.kubectl(["wait", "widgets.example.org/w", "--for=delete", "--timeout=60s"]);
  }),

  scenario("kubectl deletes with and without dependents", async (s) => {
    for (const cascade of ["foreground", "background", "orphan"]) {
      const owner = `owner-${cascade}`;
      const { body } = await s.post(core(s, "configmaps"), configMap(owner), { quiet: true });
      const reference = {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: owner,
        uid: body.metadata.uid,
        blockOwnerDeletion: true,
      };
      const child = {
        ...configMap(`child-${cascade}`),
        metadata: { name: `child-${cascade}`, ownerReferences: [reference] },
      };
      await s.post(core(s, "configmaps"), child, { quiet: true });
      await s.kubectl(["delete", "configmap", owner, `--cascade=${cascade}`]);
      if (cascade === "background")
        await s.until(core(s, "configmaps", `child-${cascade}`), ({ code }) => code === 404);
      await s.kubectl(["get", "configmap", `child-${cascade}`, "-o", "jsonpath={.metadata.ownerReferences}"]);
    }
    await s.kubectl(["create", "configmap", "x"]);
    await s.kubectl(["delete", "configmaps", "--all"]);
    await s.kubectl(["get", "configmaps"]);
  }),

  scenario("kubectl watches", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    /** A watch that ends itself when it has shown this much; nothing may change before it has shown what there is. */
    const watch = (args: readonly string[], lines: number): { listed: Promise<void>; shown: Promise<string> } => {
      const listed = Promise.withResolvers<void>();
      const isEnough = (stdout: string): boolean => {
        if (/\ba\b/.test(stdout)) listed.resolve();
        return stdout.split("\n").length > lines;
      };
      const ended = s.kubectl([...args, "-w", "--output-watch-events"], { quiet: true, isEnough });
      ended.then(() => listed.resolve(), listed.reject);
      return { listed: listed.promise, shown: ended.then(({ stdout }) => stdout) };
    };
    const all = watch(["get", "configmaps"], 4);
    const one = watch(["get", "configmap", "a", "-o", "name"], 3);
    await Promise.all([all.listed, one.listed]);
    await s.patch(core(s, "configmaps", "a"), "merge", { data: { b: "2" } }, { quiet: true });
    await s.delete(core(s, "configmaps", "a"), undefined, { quiet: true });
    s.note("what a watch of all shows", await all.shown);
    s.note("what a watch of one shows", await one.shown);
  }),

  scenario(
    "the JavaScript client",
    async (s) => {
      const old = await afterForgetting(s);
      const directory = installed(javascriptClient, cacheDirectory);
      // It runs from the client's folder, where Node finds its imports.
      copyFileSync(join(programs, "node-client.mjs"), join(directory, "conformance.mjs"));
      const args = ["conformance.mjs", s.server.kubeconfig, s.namespace, `${ownGroup(s)}/v1`, old];
      await s.program("CRUD and an informer", { program: process.execPath, args, directory });
    },
    alone,
  ),

  scenario(
    "the Python client",
    async (s) => {
      const old = await afterForgetting(s);
      const program = join(installed(pythonClient, cacheDirectory), "bin", "python");
      const args = [join(programs, "python-client.py"), s.server.kubeconfig, s.namespace, `${ownGroup(s)}/v1`, old];
      await s.program("CRUD and a watch", { program, args });
    },
    alone,
  ),
];
