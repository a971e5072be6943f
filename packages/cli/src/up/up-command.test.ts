// SPDX-License-Identifier: Apache-2.0
// Whole control planes in processes of their own.
import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { functionPackage } from "../testing/function-package.ts";
import { type PurlinProcess, spawnPurlin } from "../testing/spawn-purlin.ts";
import { type TempFolder, tempFolder } from "../testing/temp-folder.ts";
import { type Outcome, runInProcess } from "../testing/test-io.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** A copy of the quickstart that a test may change, in a folder where functions find the SDK. */
function quickstart(): TempFolder {
  const folder = tempFolder({ "package.json": '{"type":"module"}' });
  cpSync(join(root, "examples/quickstart"), join(folder.path, "quickstart"), {
    recursive: true,
    filter: (path) => !path.includes("node_modules"),
  });
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(join(root, "packages/function-sdk"), join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

function edit(folder: TempFolder, file: string, change: (text: string) => string): void {
  const path = join(folder.path, "quickstart", file);
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

function up(folder: TempFolder, ...args: string[]): PurlinProcess {
  return spawnPurlin(["up", ...args], { cwd: folder.path });
}

const purlin = (folder: TempFolder, ...args: string[]): Promise<Outcome> => runInProcess(args, { cwd: folder.path });

/** The claim's image, in its own words. */
const image = (word: string): string => `{"spec": {"image": "${word}"}}`;

test("the quickstart becomes ready, tells what to try, and each of these works", async () => {
  using folder = quickstart();
  await using running = up(folder, "quickstart");
  await running.next("stdout", /control plane at https:\/\/127\.0\.0\.1:\d+ \(kubeconfig \.purlin\/kubeconfig\)/);
  await running.next("stdout", /applied 8 objects of quickstart\n/);
  await running.next("stdout", /Everything is ready\.\n/);
  await running.next("stdout", /npx purlin trace app shop/);

  const namespace = await purlin(folder, "get", "namespace", "crossplane-system", "-o", "name");
  assert.equal(namespace.stdout, "namespace/crossplane-system\n", "the namespace that guides and packages expect");
  const traced = await purlin(folder, "trace", "app", "shop");
  assert.equal(traced.stderr, "");
  assert.match(
    traced.stdout,
    /^✓ App default\/shop {2}Ready.*\n└─ ✓ XApp shop-\w+ {2}Ready.*\n {3}├─ ✓ XDatabase shop-\S+ {2}Ready\n {3}│ {2}└─ · ConfigMap default\/shop-\S+\n/,
  );
  assert.match(traced.stdout, / {3}└─ · Secret default\/shop-login\n/);
  assert.match(traced.stdout, /\nImageFound +True +Available\n/);
  const data = JSON.parse((await purlin(folder, "trace", "app/shop", "-o", "json")).stdout) as Record<string, unknown>;
  assert.deepEqual([data["kind"], data["name"], data["state"]], ["App", "shop", "ready"]);
  assert.deepEqual(JSON.parse((await purlin(folder, "trace", "-o", "json")).stdout), [data]);
  const part = await purlin(folder, "trace", "configmap", "shop-settings");
  assert.equal(part.stdout, "· ConfigMap default/shop-settings\n", "what composes nothing is not said to wait");

  assert.equal((await purlin(folder, "patch", "app", "shop", image("shop-v9"))).stdout, "App shop patched\n");
  await running.nextAll("stdout", [
    /App default\/shop: Ready.*: ImageFound: NotFound: There is no image "shop-v9"\./,
    /XApp shop-\w+: Failing: Synced: ReconcileError: .*There is no image "shop-v9"\./,
  ]);
  const broken = await purlin(folder, "trace", "app", "shop");
  assert.match(broken.stdout, /^! App default\/shop {2}Ready, DatabaseReady\n/);
  assert.match(broken.stdout, /\nWarning +ReconcileError.*There is no image "shop-v9"/);
  await purlin(folder, "patch", "app", "shop", image("shop-v2"));
  await running.next("stdout", /App default\/shop: Ready, (ImageFound, DatabaseReady|DatabaseReady, ImageFound)\n/);
  await untilSettings(folder, /registry\.example\.org\/shop:v2/);

  assert.equal((await purlin(folder, "delete", "app", "shop")).stdout, "App shop deleted\n");
  await running.next("stdout", /Secret default\/shop-login: gone/);
  assert.equal((await purlin(folder, "apply", "quickstart/claim.yaml")).stdout, "App default/shop created\n");
  await running.next("stdout", /App default\/shop: Ready, /);
  assert.equal(await running.stop(), 0);
  await running.next("stdout", /Stopping\. What was stored stays\./);
});

async function untilSettings(folder: TempFolder, pattern: RegExp): Promise<void> {
  while (!pattern.test((await purlin(folder, "get", "configmap", "shop-settings", "-o", "yaml")).stdout)) {
    await setTimeout(50);
  }
}

test("--wait ends with 0 when all is ready, and everything is there the next time", async () => {
  using folder = quickstart();
  for (const _ of [1, 2]) {
    await using running = up(folder, "quickstart", "--wait");
    await running.next("stdout", /everything is ready/);
    await once(running.child, "close");
    assert.equal(running.child.exitCode, 0);
  }
});

test("--wait ends with 1 and the reasons when the time is up", async () => {
  using folder = quickstart();
  edit(folder, "claim.yaml", (text) => text.replace("shop-v1", "shop-v7"));
  await using running = up(folder, "quickstart");
  await running.next("stdout", /App default\/shop: Waiting: .*ImageFound: NotFound: There is no image "shop-v7"\./);
  assert.equal(await running.stop(), 0);
  await using waiting = up(folder, "--wait", "--timeout", "3s");
  const closed = once(waiting.child, "close");
  await waiting.next("stderr", /not ready after 3 s:\n/);
  await waiting.next(
    "stderr",
    /^ {2}App default\/shop: Waiting: .*ImageFound: NotFound: There is no image "shop-v7"\./m,
  );
  await waiting.next("stderr", /^ {2}XApp shop-\w+: Failing: .*There is no image "shop-v7"\./m);
  await closed;
  assert.equal(waiting.child.exitCode, 1);
});

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
  for (const path of [["functions"], []]) {
    await using waiting = up(folder, ...path, "--wait", "--timeout", "6s");
    const closed = once(waiting.child, "close");
    await waiting.next("stderr", /not ready after 6 s:\n/);
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
  const traced = await purlin(folder, "trace", "function", "missing");
  assert.match(traced.stdout, /^✗ Function missing {2}Failing\n.*Healthy: SourceFailed: missing\.ts: file not found/);
  assert.match(traced.stdout, /Warning +SourceFailed.*missing\.ts: file not found/);
  assert.match((await purlin(folder, "trace")).stdout, /✗ Function unfetchable {2}Failing\n/);
  // The source is written at last.
  writeFileSync(join(folder.path, "missing.ts"), "export default async () => ({});\n");
  await running.next("stdout", /Function missing: serving/);
  while (!/Healthy +True/.test((await purlin(folder, "trace", "function", "missing")).stdout)) await setTimeout(50);
});

test("a function is reloaded with everything it composes; a broken version is shown and changes nothing", async () => {
  using folder = quickstart();
  edit(folder, "src/app.ts", (text) => `${text}\nthis is no TypeScript\n`);
  await using running = up(folder, "quickstart");
  await running.nextAll("stdout", [
    /Function quickstart-app: quickstart\/src\/app\.ts:\d+:\d+: /,
    /XApp shop-\w+: Failing: Synced: .*Function "quickstart-app": quickstart\/src\/app\.ts:/,
  ]);
  edit(folder, "src/app.ts", (text) => text.replace("\nthis is no TypeScript\n", ""));
  await running.next("stdout", /Everything is ready\./);

  edit(folder, "src/app.ts", (text) =>
    text.replace("not known yet", "?").replace("data: { image,", "data: { image, note: 'new',"),
  );
  await untilSettings(folder, /note: new/);
  edit(folder, "src/app.ts", (text) => `throw new Error("never");\n${text}`);
  await running.next(
    "stdout",
    /Function quickstart-app: quickstart\/src\/app\.ts:1:7: never \(the last good version keeps serving\)/,
  );
  await purlin(folder, "patch", "app", "shop", image("shop-v2"));
  await untilSettings(folder, /shop:v2/);
  assert.equal(await running.stop(), 0);
});

test("a function that hangs is named on the XR, and the fix that is saved is used at once", async () => {
  using folder = quickstart();
  await using running = up(folder, "quickstart");
  await running.next("stdout", /Everything is ready\./);
  const [works, hangs] = ["= (req, ctx) => {", "= async (req, ctx) => {\n  await new Promise(() => {});"];
  edit(folder, "src/app.ts", (text) => text.replace(works, hangs));
  const waiting = /waiting for Function "quickstart-app" in pipeline step "[^"]+" since \d{4}-\d\d-\d\dT[\d:]+Z/;
  await running.next("stdout", new RegExp(`XApp shop-\\w+: Waiting: Synced: WaitingForFunction: ${waiting.source}`));
  assert.match((await purlin(folder, "trace", "app", "shop")).stdout, waiting);
  edit(folder, "src/app.ts", (text) => text.replace(hangs, works).replace("{ image,", "{ image, note: 'new',"));
  await untilSettings(folder, /note: new/);
  const composite = /XApp (shop-\S+)/.exec((await purlin(folder, "trace")).stdout)?.[1] ?? "";
  const traced = (await purlin(folder, "trace", "xapp", composite)).stdout;
  assert.doesNotMatch(traced, /deadline/i, "the call that hung ended before its deadline");
});

test("a manifest that is saved is applied again; what is refused is told with file, line and field", async () => {
  using folder = quickstart();
  await using running = up(folder, "quickstart");
  await running.next("stdout", /Everything is ready\./);
  edit(folder, "claim.yaml", (text) => text.replace("shop-v1", "shop-v2"));
  await running.next("stdout", /applied 1 object of quickstart\/claim\.yaml\n/);
  await untilSettings(folder, /shop:v2/);
  edit(folder, "claim.yaml", (text) => `${text}  size: medium\n`);
  await running.next("stdout", /error: quickstart\/claim\.yaml:9:3: spec\.size: Unsupported value: "medium"/);
  edit(folder, "claim.yaml", (text) => text.replace("size: medium", "siez: large"));
  await running.next("stdout", /error: quickstart\/claim\.yaml:9:3: \.spec\.siez: unknown field/);
  edit(folder, "claim.yaml", (text) => text.replace("siez: large", "  - : ["));
  await running.next("stdout", /error: quickstart\/claim\.yaml:\d+:\d+: not valid YAML: /);
});

test("an XRD that makes no kind, and mistakes in its schema, are reported where they are written", async () => {
  const xrd = (schema: string): string => `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: things.e.org}
spec:
  group: e.org
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            ${schema}
`;
  const object = "apiVersion: e.org/v1\nkind: Thing\nmetadata: {name: a}\n";
  using folder = tempFolder({
    "good.yaml": xrd("properties: {size: {type: string}}"),
    "misspelled.yaml": xrd("propertes: {size: {type: string}}"),
    "broken.yaml": `${xrd("properties: {size: {type: strng}}")}---\n${object}`,
  });
  await using running = up(folder);
  await running.next("stdout", /The control plane is ready\./);
  const misspelled = await purlin(folder, "apply", "misspelled.yaml");
  assert.deepEqual([misspelled.exitCode, misspelled.stdout], [1, ""]);
  assert.match(
    misspelled.stderr,
    /^error: misspelled\.yaml:17:13: spec\.\S+\.propertes: unknown schema keyword: did you mean properties\?\n$/,
  );
  for (const _ of ["created", "unchanged"]) {
    const broken = await purlin(folder, "apply", "broken.yaml");
    assert.equal(broken.exitCode, 1);
    assert.match(
      broken.stderr,
      /^error: broken\.yaml:17:33: CompositeResourceDefinition things\.e\.org: .*Unsupported value: "strng"/m,
    );
    assert.match(
      broken.stderr,
      /^error: broken\.yaml:19:1: Thing a: CompositeResourceDefinition things\.e\.org does not offer it: /m,
    );
  }
  assert.equal(
    (await purlin(folder, "apply", "good.yaml")).stdout,
    "CompositeResourceDefinition things.e.org configured\n",
  );
  const updated = await purlin(folder, "apply", "broken.yaml");
  assert.equal(updated.exitCode, 1, "also where the kind is served as it was before");
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
});

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

test("what is removed from the files is named with the command that deletes it; --prune deletes it", async () => {
  const map = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
  using folder = tempFolder({
    "m/a.yaml": `${map("one")}---\n${map("two")}`,
    "m/b.yaml": map("three"),
    "m/values.yaml": "replicas: 2\n",
  });
  {
    await using running = up(folder, "m");
    await running.next("stdout", /skipped m\/values\.yaml: not a Kubernetes manifest/);
    await running.next("stdout", /applied 3 objects of m\n/);
    folder.write("m/a.yaml", map("one"));
    await running.next("stdout", /applied 1 object of m\/a\.yaml\n/);
    const [, command = ""] = await running.next(
      "stdout",
      /ConfigMap default\/two is no longer in the files\. To delete it: (.*)\n/,
    );
    assert.equal(command, "purlin delete configmap two");
    await purlin(folder, ...command.split(" ").slice(1));
    assert.equal(await running.stop(), 0);
  }
  rmSync(join(folder.path, "m/b.yaml"));
  await using again = up(folder, "m", "--prune");
  await again.next("stdout", /deleted ConfigMap default\/three, which is no longer in the files/);
  const names = (await purlin(folder, "get", "configmaps", "-o", "name")).stdout;
  assert.deepEqual([names.includes("one"), names.includes("three")], [true, false]);
});

test("a folder has one control plane, and the second is told so", async () => {
  using folder = quickstart();
  await using first = up(folder);
  await first.next("stdout", /The control plane is ready\./);
  await using second = up(folder);
  const closed = once(second.child, "close");
  await second.next("stderr", /^error: --data-dir .*\.purlin: .*in use.*\n/);
  await closed;
  assert.equal(second.child.exitCode, 1);
});

test("Ctrl-C ends it in good order, also when npm sends it on", async () => {
  using folder = tempFolder();
  await using running = up(folder);
  await running.next("stdout", /The control plane is ready\./);
  const closed = once(running.child, "close");
  for (let i = 0; i < 2; i++) running.child.kill("SIGINT");
  await running.next("stdout", /Stopping\. What was stored stays\./);
  await closed;
  assert.deepEqual([running.child.exitCode, running.child.signalCode], [0, null]);
});

test("a port that is taken is told", async (t) => {
  using folder = tempFolder();
  const taken = createServer().listen({ host: "127.0.0.1", port: 0 });
  await once(taken, "listening");
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  await using running = up(folder, "--port", String(port));
  const closed = once(running.child, "close");
  await running.next("stderr", new RegExp(`^error: port ${port} is taken: choose another one with --port`));
  await closed;
  assert.equal(running.child.exitCode, 1);
});

test("kill -9 leaves no function behind, and the next start goes on where it was", async () => {
  using folder = quickstart();
  edit(
    folder,
    "src/app.ts",
    (text) => `import { writeFileSync } from "node:fs";\nwriteFileSync("pid", String(process.pid));\n${text}`,
  );
  const running = up(folder, "quickstart");
  await running.next("stdout", /Everything is ready\./);
  const pid = Number(readFileSync(join(folder.path, "pid"), "utf8"));
  assert.ok(isAlive(pid));
  running.child.kill("SIGKILL");
  await once(running.child, "close");
  while (isAlive(pid)) await setTimeout(20);
  rmSync(join(folder.path, "pid"));
  await using again = up(folder, "--wait");
  await again.next("stdout", /everything is ready/);
});

test("a function that is killed is started again by itself", async () => {
  using folder = quickstart();
  edit(
    folder,
    "src/app.ts",
    (text) => `import { writeFileSync } from "node:fs";\nwriteFileSync("pid", String(process.pid));\n${text}`,
  );
  await using running = up(folder, "quickstart");
  await running.next("stdout", /Everything is ready\./);
  const pid = Number(readFileSync(join(folder.path, "pid"), "utf8"));
  process.kill(pid, "SIGKILL");
  await running.next("stdout", /Function quickstart-app: the function ended by itself \(SIGKILL\)/);
  await running.next("stdout", /Function quickstart-app: serving/);
  await purlin(folder, "patch", "app", "shop", image("shop-v2"));
  await untilSettings(folder, /shop:v2/);
});

test("what is wrong with the files is told before anything is started", async () => {
  using folder = tempFolder({ "bad.yaml": "kind: ConfigMap\n", "empty/readme.txt": "" });
  const cases: Record<string, { readonly args: readonly string[]; readonly exitCode: number; readonly says: RegExp }> =
    {
      NoObject: {
        args: ["bad.yaml"],
        exitCode: 1,
        says: /^error: bad\.yaml:1:1: apiVersion: expected a text, but it is missing/,
      },
      NoSuchPath: { args: ["nope"], exitCode: 1, says: /^error: cannot read nope: there is no such file/ },
      NothingThere: { args: ["empty"], exitCode: 1, says: /^error: empty: no file in there ends in \.yaml or \.yml/ },
      BadPort: { args: ["--port", "x"], exitCode: 2, says: /^error: --port x: expected a whole number/ },
      BadTimeout: { args: ["--timeout", "soon"], exitCode: 2, says: /^error: --timeout: expected a duration/ },
    };
  for (const [name, { args, exitCode, says }] of Object.entries(cases)) {
    const outcome = await purlin(folder, "up", ...args);
    assert.deepEqual([name, outcome.exitCode, outcome.stdout], [name, exitCode, ""]);
    assert.match(outcome.stderr, says);
  }
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
