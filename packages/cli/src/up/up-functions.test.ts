// SPDX-License-Identifier: Apache-2.0
// Functions of a whole control plane: broken, changed, hanging, upgraded and killed.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { eventually } from "@purlin/kube-controller/testing";
import { claimsExample, edit, functionPackage, image, purlin, untilSettings, up } from "../../test/function-folder.ts";

const functionManifest = (name: string, more: string): string =>
  `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: ${name}\n${more}`;
const annotated = (path: string): string =>
  `  annotations: {purlin.dev/source: ${path}}\nspec: {package: example.org/x:v1}\n`;

test("--wait never succeeds while a function cannot run, and everything says why", async () => {
  using folder = tempFolder({
    "broken.ts": "export const handler = {\n",
    "functions/broken.yaml": functionManifest("broken", annotated("../broken.ts")),
    "functions/missing.yaml": functionManifest("missing", annotated("../missing.ts")),
    "functions/unfetchable.yaml": functionManifest("unfetchable", "spec: {package: 127.0.0.1:9/acme/x:v1}\n"),
  });
  // The second time the functions are there from the start.
  for (const path of [["."], []]) {
    await using waiting = up(folder, ...path, "--wait", "--timeout", "6s");
    const closed = once(waiting.child, "close");
    await waiting.next("stderr", /not ready after 6s:\n/);
    await waiting.nextAll("stderr", [
      /^ {2}Function broken: broken\.ts:\d+/m,
      /^ {2}Function missing: missing\.ts: file not found/m,
      /^ {2}Function unfetchable: Failing: Installed: UnpackingPackage: .*127\.0\.0\.1:9/m,
    ]);
    await closed;
    assert.equal(waiting.child.exitCode, 1);
  }
  await using running = up(folder);
  await running.next("stdout", /Function broken: broken\.ts:/);
  assert.match((await purlin(folder, "logs", "missing")).stdout, /ERROR {2}missing\.ts: file not found/);
  assert.match(
    readFileSync(join(folder.path, ".purlin/purlin.log"), "utf8"),
    /"msg":"function failed","function":"missing"/,
  );
  const traced = await purlin(folder, "trace", "-o", "tree", "function", "missing");
  assert.match(traced.stdout, /^✗ Function missing {2}Failing\n.*Healthy: SourceFailed: missing\.ts: file not found/);
  assert.match(traced.stdout, /Warning +SourceFailed.*missing\.ts: file not found/);
  assert.match((await purlin(folder, "trace", "-o", "tree")).stdout, /✗ Function unfetchable {2}Failing\n/);
  // The source is written at last.
  writeFileSync(join(folder.path, "missing.ts"), "export default async () => ({});\n");
  await running.next("stdout", /Function missing: serving/);
  while (!/Healthy +True/.test((await purlin(folder, "trace", "-o", "tree", "function", "missing")).stdout))
    await setTimeout(50);
});

/** Calls and reconciles of the control plane are counted, and the process of its function is measured. */
async function topShows(folder: TempFolder): Promise<void> {
  const found = await eventually("a measurement of the function", async () => {
    const { stdout } = await purlin(folder, "top", "-o", "json", "--interval", "10ms");
    const { functions, xrs } = JSON.parse(stdout) as {
      readonly functions: readonly Record<string, number>[];
      readonly xrs: readonly { readonly composite: string; readonly reconciles: number }[];
    };
    const own = functions.find((one) => String(one["function"]) === "claims-app" && (one["memoryBytes"] ?? 0) > 0);
    const xr = xrs.find(({ composite }) => composite.startsWith("XApp/shop"));
    return own === undefined || xr === undefined ? undefined : { own, xr };
  });
  const { own, xr } = found;
  assert.ok((own["calls"] ?? 0) > 0 && (own["p95Seconds"] ?? 0) > 0, JSON.stringify(own));
  assert.ok(xr.reconciles > 0);
  const { stdout } = await purlin(folder, "cluster", "top", "-s", "--interval", "10ms");
  assert.match(
    stdout,
    /^Nr of processes: 3\nFunction: 2\nPurlin: 1\nMemory: \d+Mi\nCPU\(cores\): \d+m\n\nTYPE +NAMESPACE +NAME +CPU\(cores\) +MEMORY +CALLS +CALLS\/S +P50 +P95 +ERRORS\npurlin +- +purlin +\d+m +\d+Mi +- +- +- +- +-\nfunction +- +claims-app +\d+m +\d+Mi +\d+ /,
  );
}

test("a function is reloaded with everything it composes; a broken version is shown and changes nothing", async () => {
  using folder = claimsExample();
  edit(folder, "src/app.ts", (text) => `${text}\nthis is not TypeScript\n`);
  await using running = up(folder, "claims");
  await running.nextAll("stdout", [
    /Function claims-app: claims\/src\/app\.ts:\d+:\d+: /,
    /XApp shop-\w+: Failing: .*Synced: .*Function "claims-app": claims\/src\/app\.ts:/,
  ]);
  edit(folder, "src/app.ts", (text) => text.replace("\nthis is not TypeScript\n", ""));
  await running.next("stdout", /Everything is ready\./);
  await topShows(folder);

  edit(folder, "src/app.ts", (text) =>
    text.replace("not known yet", "?").replace("data: { image,", "data: { image, note: 'new',"),
  );
  await untilSettings(folder, /note: new/);
  edit(folder, "src/app.ts", (text) => `throw new Error("never");\n${text}`);
  await running.next(
    "stdout",
    /Function claims-app: claims\/src\/app\.ts:1:7: never \(the last working version keeps serving\)/,
  );
  await purlin(folder, "patch", "app", "shop", image("shop-v2"));
  await untilSettings(folder, /shop:v2/);
  assert.equal(await running.stop(), 0);
});

test("a function that hangs is named on the XR, and the fix that is saved is used at once", async () => {
  using folder = claimsExample();
  await using running = up(folder, "claims");
  await running.next("stdout", /Everything is ready\./);
  const [works, hangs] = ["= (req, ctx) => {", "= async (req, ctx) => {\n  await new Promise(() => {});"];
  edit(folder, "src/app.ts", (text) => text.replace(works, hangs));
  const waiting = /waiting for Function "claims-app" in pipeline step "[^"]+" since \d{4}-\d\d-\d\dT[\d:]+Z/;
  await running.next("stdout", new RegExp(`XApp shop-\\w+: Waiting: .*Synced: WaitingForFunction: ${waiting.source}`));
  assert.match((await purlin(folder, "trace", "-o", "tree", "app", "shop")).stdout, waiting);
  edit(folder, "src/app.ts", (text) => text.replace(hangs, works).replace("{ image,", "{ image, note: 'new',"));
  await untilSettings(folder, /note: new/);
  const composite = /XApp (shop-\S+)/.exec((await purlin(folder, "trace", "-o", "tree")).stdout)?.[1] ?? "";
  const traced = (await purlin(folder, "trace", "-o", "tree", "xapp", composite)).stdout;
  assert.doesNotMatch(traced, /deadline/i, "the call that hung ended before its deadline");
  const ofType = await purlin(folder, "trace", "-o", "tree", "app");
  assert.match(ofType.stdout, /^\S App default\/shop .*\n└─ \S XApp shop-/, "all of a type are shown as trees");
  assert.doesNotMatch(ofType.stdout, /CONDITION|EVENT/, "conditions and events are those of a named object");
  const none = await purlin(folder, "trace", "-o", "tree", "app", "-n", "other");
  assert.deepEqual([none.stdout, none.stderr], ["", "No resources found\n"]);
  const runs = (...words: readonly string[]) => purlin(folder, "runs", "ls", ...words);
  assert.match((await runs("xapp")).stdout, /XApp\/shop-/);
  assert.equal((await runs("-n", "other")).stderr, "No runs found.\n");
});

test("an upgrade of a package reaches its composite resources at once", async () => {
  const source = (version: string): string => `import { response } from "@purlin/function-sdk";
export default (req: never) => {
  const rsp = response.to(req);
  const metadata = { name: "made", namespace: "default" };
  response.setDesiredComposedResource(rsp, "made", { apiVersion: "v1", kind: "ConfigMap", metadata, data: { version: "${version}" } }, { ready: true });
  return rsp;
};
`;
  using folder = functionPackage({ "src/function.ts": source("v1"), "platform.yaml": platform });
  await using running = up(folder);
  const [, registry = ""] = await running.next("stdout", /registry at (\S+)/);
  await running.next("stdout", /The control plane is ready\./);
  const publish = async (version: string): Promise<void> => {
    folder.write("src/function.ts", source(version));
    const file = `${version}.xpkg`;
    const built = await purlin(folder, "xpkg", "build", "-f", "package", "--function", "src/function.ts", "-o", file);
    assert.equal(built.exitCode, 0, built.stderr);
    const image = `${registry}/acme/f:${version}`;
    assert.equal((await purlin(folder, "xpkg", "push", "-f", file, image)).exitCode, 0);
    folder.write("function.yaml", functionManifest("f", `spec: {package: "${image}"}\n`));
    assert.equal((await purlin(folder, "apply", "function.yaml")).exitCode, 0);
  };
  const made = async (version: string): Promise<void> => {
    const isMade = async (): Promise<boolean> =>
      (await purlin(folder, "get", "configmap", "made", "-o", "yaml")).stdout.includes(`version: ${version}`);
    while (!(await isMade())) await setTimeout(50);
  };
  await publish("v1");
  assert.equal((await purlin(folder, "apply", "platform.yaml")).stderr, "");
  await made("v1");
  await publish("v2");
  // It is not polled before tomorrow: see its annotation.
  await made("v2");
  await replayOnNextRevision(folder);
});

/** W9: what `crossplane-diff` takes is the tag of the Function's package, without its runtime config. */
test("a function runs from the digest and with the environment of its revision, live and in a preview on this machine", async () => {
  const source = (version: string): string => `import { response } from "@purlin/function-sdk";
export default (req: never) => {
  const rsp = response.to(req);
  const data = { version: "${version}", mode: process.env.MODE ?? "none", name: process.env.FUNCTION_NAME };
  response.setDesiredComposedResource(rsp, "made", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "made", namespace: "default" }, data }, { ready: true });
  return rsp;
};
`;
  const config = (mode: string): string => `apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata: {name: modes}
spec:
  deploymentTemplate:
    spec:
      selector: {}
      template:
        spec:
          containers:
          - name: package-runtime
            env:
            - {name: MODE, value: ${mode}}
            - {name: FUNCTION_NAME, value: another}
            - {name: HIDDEN, valueFrom: {secretKeyRef: {name: a, key: b}}}
`;
  using folder = functionPackage({ "platform.yaml": platform, "config.yaml": config("gold") });
  await using running = up(folder);
  const [, registry = ""] = await running.next("stdout", /registry at (\S+)/);
  await running.next("stdout", /The control plane is ready\./);
  const image = `${registry}/acme/f:stable`;
  const push = async (version: string): Promise<void> => {
    folder.write("src/function.ts", source(version));
    const words = ["-f", "package", "--function", "src/function.ts", "-o", `${version}.xpkg`];
    assert.equal((await purlin(folder, "xpkg", "build", ...words)).exitCode, 0);
    assert.equal((await purlin(folder, "xpkg", "push", "-f", `${version}.xpkg`, image)).exitCode, 0);
  };
  await push("v1");
  const wanted = `spec: {package: "${image}", runtimeConfigRef: {name: modes}}\n`;
  folder.write("function.yaml", functionManifest("f", wanted));
  assert.equal((await purlin(folder, "apply", "config.yaml", "function.yaml", "platform.yaml")).exitCode, 0);
  const made = async (...texts: readonly string[]): Promise<void> => {
    await eventually(`the object has ${texts.join(", ")}`, async () => {
      const { stdout } = await purlin(folder, "get", "configmap", "made", "-o", "yaml");
      return texts.every((text) => stdout.includes(text));
    });
  };
  await made("version: v1", "mode: gold", "name: f\n");

  const preview = await purlin(folder, "diff", "platform.yaml", "--functions", "local");
  assert.equal(preview.exitCode, 0, preview.stdout + preview.stderr);
  assert.match(preview.stderr, /runs without HIDDEN: values from other objects are not passed/);
  // The tag moves; the revision stays, and its digest is not noted.
  await push("v2");
  const moved = await purlin(folder, "diff", "platform.yaml", "--functions", "local");
  assert.equal(moved.exitCode, 1, moved.stdout);
  assert.match(
    moved.stderr,
    /FunctionRevision "f-\w+": \S+:stable is another image now \(sha256:\w+\): name the image/,
  );
  const live = await purlin(folder, "diff", "platform.yaml", "--functions", "live");
  assert.equal(live.exitCode, 0, live.stdout + live.stderr);

  // A change of the runtime config restarts the function with it.
  folder.write("config.yaml", config("silver"));
  assert.equal((await purlin(folder, "apply", "config.yaml")).exitCode, 0);
  await made("version: v1", "mode: silver");
});

/** A run of the revision before is replayed on the one that serves now, and the output names both. */
async function replayOnNextRevision(folder: TempFolder): Promise<void> {
  const runs = await eventually("runs of both revisions", async () => {
    const { stdout } = await purlin(folder, "runs", "ls", "thing/a", "-o", "json");
    const { items } = JSON.parse(stdout) as {
      readonly items: readonly { readonly id: string; readonly outcome: string }[];
    };
    const composed = items.filter(({ outcome }) => outcome === "composed");
    return composed.length > 1 && composed;
  });
  const replayed = await purlin(folder, "runs", "replay", runs.at(-1)?.id ?? "");
  assert.equal(replayed.exitCode, 3, replayed.stdout + replayed.stderr);
  assert.match(replayed.stderr, /^note: the run used revision f-\w+; this is f-\w+$/m);
  assert.match(replayed.stdout, /data\.version: "v1" -> "v2"/);
}

const platform = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: things.e.org}
spec:
  group: e.org
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: e.org/v1, kind: Thing}
  mode: Pipeline
  pipeline:
  - {step: make, functionRef: {name: f}}
---
apiVersion: e.org/v1
kind: Thing
metadata: {name: a, annotations: {crossplane.io/poll-interval: 24h}}
spec: {}
`;

test("a function that is killed is started again by itself", async () => {
  using folder = claimsExample();
  edit(
    folder,
    "src/app.ts",
    (text) => `import { writeFileSync } from "node:fs";\nwriteFileSync("pid", String(process.pid));\n${text}`,
  );
  await using running = up(folder, "claims");
  await running.next("stdout", /Everything is ready\./);
  const pid = Number(readFileSync(join(folder.path, "pid"), "utf8"));
  process.kill(pid, "SIGKILL");
  // The screen shows states, and a restart may be over before the next one is drawn.
  await eventually(
    "another process serves",
    () => Number(readFileSync(join(folder.path, "pid"), "utf8") || pid) !== pid,
  );
  await purlin(folder, "patch", "app", "shop", image("shop-v2"));
  await untilSettings(folder, /shop:v2/);
});
