// SPDX-License-Identifier: Apache-2.0
// Commands that follow objects and measure them, on one API server without controllers.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { eventually } from "@purlin/kube-controller/testing";
import { printJson } from "@purlin/kube-objects/json";
import { type Outcome, runInProcess, TestIo } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { run } from "../run.ts";

let folder: TempFolder;
let server: EmbeddedServer;
const purlin = (...args: string[]): Promise<Outcome> => runInProcess(args, { cwd: folder.path });
const apply = async (stdin: string): Promise<void> => {
  const { exitCode, stderr } = await runInProcess(["apply", "-f", "-"], { cwd: folder.path, stdin });
  assert.equal(exitCode, 0, stderr);
};

const kind = (group: string, name: string, plural: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.${group}, annotations: {api-approved.kubernetes.io: unapproved, a test}}
spec:
  group: ${group}
  scope: Namespaced
  names: {kind: ${name}, plural: ${plural}}
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`;
const event = (name: string, about: string, more: string): string => `apiVersion: v1
kind: Event
metadata: {name: ${name}, namespace: default}
involvedObject: {${about}, namespace: default}
${more}
`;
const shop = (region: string): string => `apiVersion: e.org/v1beta1
kind: Shop
metadata: {name: shop, namespace: default}
spec:
  region: ${region}
  writeConnectionSecretToRef: {name: login}
  crossplane: {resourceRefs: [{apiVersion: v1, kind: ConfigMap, name: settings}]}
`;

before(async () => {
  folder = tempFolder();
  server = await startEmbeddedServer({ directory: join(folder.path, ".purlin"), port: 0, warn: () => {} });
  await apply(
    [kind("e.org", "Shop", "shops"), kind("metrics.k8s.io", "PodMetrics", "pods")]
      .join("---\n")
      .replaceAll("unapproved, a test", '"unapproved, a test"'),
  );
  const now = new Date().toISOString().replace(/\.\d+/, "");
  await apply(
    [
      shop("eu"),
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n",
      "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: default}\nstringData: {password: canary}\n",
      event(
        "a",
        "kind: Shop, name: shop, apiVersion: e.org/v1beta1",
        `type: Warning\nreason: Slow\nmessage: waits\nlastTimestamp: "${now}"`,
      ),
      event(
        "b",
        "kind: ConfigMap, name: settings, apiVersion: v1",
        `type: Normal\nreason: Made\nmessage: here\nlastTimestamp: "${now}"`,
      ),
      event(
        "c",
        "kind: ConfigMap, name: other, apiVersion: v1",
        'type: Normal\nreason: Made\nmessage: there\nlastTimestamp: "2020-01-01T00:00:00Z"',
      ),
    ].join("---\n"),
  );
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const eventNames = async (...args: string[]): Promise<string[]> =>
  (await purlin("events", "-o", "name", ...args)).stdout.trim().split("\n").sort();

test("events are chosen by object, what is below it, type, reason and time", async () => {
  assert.deepEqual(await eventNames(), ["event/a", "event/b", "event/c"]);
  assert.deepEqual(await eventNames("--for", "shop/shop"), ["event/a"]);
  assert.deepEqual(await eventNames("--for", "shop/shop", "--below"), ["event/a", "event/b"]);
  assert.deepEqual(await eventNames("--types", "Warning"), ["event/a"]);
  assert.deepEqual(await eventNames("--reasons", "Made,Other"), ["event/b", "event/c"]);
  assert.deepEqual(await eventNames("--reasons", "Made", "--since", "1h"), ["event/b"]);
  const { items } = JSON.parse((await purlin("events", "-o", "json")).stdout) as { readonly items: readonly object[] };
  assert.equal(items.length, 3);
  assert.match(
    (await purlin("events", "--for", "shop/shop")).stdout,
    /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n\S+ +Warning +Slow +Shop\/shop +waits\n$/,
  );
  const types = await purlin("events", "--types", "Warning,Fatal");
  assert.deepEqual([types.exitCode, types.stderr], [2, "error: --types Fatal: expected Normal or Warning\n"]);
  const wrong = await purlin("events", "--below");
  assert.deepEqual([wrong.exitCode, wrong.stderr], [2, "error: --below: specify the object with --for\n"]);
});

test("trace shows columns and connection secrets, also under Crossplane's name", async () => {
  const { stdout } = await purlin("trace", "shop", "shop", "--columns", "REGION=.spec.region");
  assert.match(
    stdout,
    /^NAME +REGION +STATUS\nShop\/shop \(default\) +eu +\n└─ ConfigMap\/settings \(default\) +- +\n$/,
  );
  const columns = async (text: string) =>
    (await purlin("trace", "shop", "shop", "--columns", text)).stdout.split("\n")[1];
  const [filter, texts] = [
    ".metadata.managedFields[?(@.manager!='a,b')].operation",
    `{.metadata['name','namespace']}{","}`,
  ];
  assert.match(
    (await columns(`READY,RESOURCE,OWNER=${filter},BOTH=${texts},REGION=.spec.region`)) ?? "",
    /^Shop\/shop \(default\) +- + \S+ +shop default, +eu +$/,
  );
  const names = async (...args: string[]) => (await purlin(...args, "-o", "name")).stdout;
  assert.equal(await names("trace", "shop", "shop"), "shop.e.org/shop\nconfigmap/settings\n");
  assert.equal(
    await names("resource", "trace", "shop/shop", "-s"),
    "shop.e.org/shop\nconfigmap/settings\nsecret/login\n",
  );
  assert.equal(await names("resource", "trace", "shop", "shop", "-c", "purlin"), await names("trace", "shop/shop"));
  const secret = await purlin("trace", "shop", "shop", "-s", "-o", "json");
  assert.doesNotMatch(secret.stdout, /canary|Y2FuYXJ5/);
});

const crd = (group: string, name: string, scope: string): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${name.toLowerCase()}s.${group}}
spec:
  group: ${group}
  scope: ${scope}
  names: {kind: ${name}, plural: ${name.toLowerCase()}s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`;
const conditions = (...all: readonly (readonly [type: string, status: string, reason: string, message?: string])[]) =>
  `status: {conditions: [${all.map(([type, status, reason, message = ""]) => `{type: ${type}, status: "${status}", reason: ${reason}, message: "${message}", lastTransitionTime: "2026-01-01T00:00:00Z"}`).join(", ")}]}\n`;
const synced = ["Synced", "True", "ReconcileSuccess"] as const;

/** What `crossplane resource trace` of version 2.5.0 printed for these objects. */
const traced = {
  "claim web": `NAME                               SYNCED   READY   STATUS
Claim/web (default)                True     False   Waiting: Claim is waiting for composite resource to become Ready
└─ X/web-x                         False    True    ReconcileError: ...${"a".repeat(60)} end
   ├─ Unknown/u                    -        -       Error: no matches for kind "Unknown" in version "e.org/v1"
   ├─ X/nested                     True     False   Creating: Unready resources: a, b
   ├─ ConfigMap/absent (default)   -        -       Error: configmaps "absent" not found
   └─ ConfigMap/there (default)    -        -       
`,
  "x nested": `NAME       SYNCED   READY   STATUS
X/nested   True     False   Creating: Unready resources: a, b
`,
  "function fn": `NAME                       VERSION   INSTALLED   HEALTHY   STATE    STATUS                   
Function/fn                v2        True        True      -        HealthyPackageRevision   
└─ FunctionRevision/fn-2   v2        -           True      Active   HealthyPackageRevision   
`,
};

test("tables of a claim, a composite resource, a package and missing objects are those of Crossplane", async () => {
  const [at, x] = ["metadata: {namespace: default, name:", "apiVersion: t.org/v1\nkind: X\nmetadata:"];
  const pkg = "apiVersion: pkg.crossplane.io/v1\nkind:";
  const refs = [
    "{apiVersion: v1, kind: ConfigMap, name: there, namespace: default}",
    "{apiVersion: v1, kind: ConfigMap, name: absent, namespace: default}",
    "{apiVersion: t.org/v1, kind: X, name: nested}, {apiVersion: e.org/v1, kind: Unknown, name: u}",
  ];
  const waits = ["Ready", "False", "Waiting", "Claim is waiting for composite resource to become Ready"] as const;
  const failed = ["Synced", "False", "ReconcileError", `cannot compose resources: ${"a".repeat(70)} end`] as const;
  const healthy = ["Healthy", "True", "HealthyPackageRevision"] as const;
  await apply(
    [
      `${crd("t.org", "Claim", "Namespaced")}---\n${crd("t.org", "X", "Cluster")}`,
      crd("pkg.crossplane.io", "Function", "Cluster"),
      crd("pkg.crossplane.io", "FunctionRevision", "Cluster"),
      `apiVersion: t.org/v1\nkind: Claim\n${at} web}\nspec: {resourceRef: {apiVersion: t.org/v1, kind: X, name: web-x}}\n${conditions(synced, waits)}`,
      `${x} {name: web-x}\nspec: {resourceRefs: [${refs.join(", ")}]}\n${conditions(failed, ["Ready", "True", "Available"])}`,
      `${x} {name: nested}\nspec: {}\n${conditions(synced, ["Ready", "False", "Creating", "Unready resources: a, b"])}`,
      `apiVersion: v1\nkind: ConfigMap\n${at} there}\n`,
      `${pkg} Function\nmetadata: {name: fn}\nspec: {package: "registry.example.org/a/fn:v2"}\n${conditions(["Installed", "True", "ActivePackageRevision"], healthy)}`,
      `${pkg} FunctionRevision\nmetadata: {name: fn-1, labels: {pkg.crossplane.io/package: fn}}\nspec: {desiredState: Inactive, image: "registry.example.org/a/fn:v1", revision: 1}\n`,
      `${pkg} FunctionRevision\nmetadata: {name: fn-2, labels: {pkg.crossplane.io/package: fn}}\nspec: {desiredState: Active, image: "registry.example.org/a/fn:v2", revision: 2}\n${conditions(healthy)}`,
    ].join("---\n"),
  );
  for (const [object, table] of Object.entries(traced)) {
    const { exitCode, stdout, stderr } = await purlin("trace", ...object.split(" "));
    assert.deepEqual([exitCode, stderr, stdout], [0, "", table]);
  }
});

test("a type with a typing error is answered with the closest one, and half a name with what is expected", async () => {
  for (const [args, exitCode, says] of [
    [["trace", "shp", "shop"], 1, 'the server does not have a resource type "shp": did you mean shop?'],
    [["explain", "shopps/shop"], 1, 'the server does not have a resource type "shopps": did you mean shops?'],
    [
      ["trace", "zebra"],
      1,
      'the server does not have a resource type "zebra": check the spelling, or apply its definition first',
    ],
    [["trace", "shop/"], 2, 'expected TYPE/NAME, not "shop/"'],
    [["diff", "--delete", "shopps/shop"], 2, 'the server does not have a resource type "shopps": did you mean shops?'],
  ] as const)
    assert.deepEqual(await purlin(...args), { exitCode, stdout: "", stderr: `error: ${says}\n` });
});

test("trace prints names and messages with escape codes as harmless text in every format", async () => {
  const attack = "\\u001b]0;owned\\u0007\\u001b[2J";
  await apply(`apiVersion: e.org/v1beta1
kind: Shop
metadata: {name: hostile, namespace: default, annotations: {note: "${attack}"}}
spec: {crossplane: {resourceRefs: [{apiVersion: v1, kind: ConfigMap, name: "gone${attack}"}]}}
status: {conditions: [{type: Synced, status: "False", reason: ReconcileError, message: "no ${attack} way"}]}
`);
  for (const format of ["table", "wide", "dot", "json", "yaml", "name"]) {
    const { exitCode, stdout, stderr } = await purlin("trace", "shop", "hostile", "-o", format);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /hostile/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal would obey.
    assert.doesNotMatch(stdout + stderr, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/, format);
  }
  assert.equal((await purlin("delete", "shop", "hostile")).exitCode, 0);
});

test("trace --watch prints each change, and ends when the object is deleted", async () => {
  const io = new TestIo({ cwd: folder.path });
  const watching = run(["trace", "shop", "shop", "-w", "--columns", "REGION=.spec.region"], io);
  await eventually("the line", () => /Shop\/shop \(default\) +eu +\n/.test(io.stdout.text));
  await apply(shop("us"));
  await eventually("the line", () => /Shop\/shop \(default\) +us +\n/.test(io.stdout.text));
  const documents = new TestIo({ cwd: folder.path });
  const json = run(["trace", "shop", "shop", "-w", "-o", "json"], documents);
  await eventually("the document", () => documents.stdout.text.endsWith("\n}\n"));
  await apply(shop("fr"));
  await eventually("another document", () => /^}\n{\n.*"region": "fr".*\n}\n$/ms.test(documents.stdout.text));
  assert.equal((await purlin("delete", "shop", "shop")).exitCode, 0);
  assert.equal(await watching, 0);
  assert.equal(await json, 0);
  const regions = documents.stdout.text
    .split(/(?<=^}\n)/m)
    .map((text) => /"region": "(..)"/.exec(printJson(JSON.parse(text), { indent: 1 }))?.[1]);
  assert.deepEqual([...new Set(regions)], ["us", "fr"], "each change is a whole document");
  const none = await purlin("trace", "shops", "-w");
  assert.deepEqual(none, { exitCode: 0, stdout: "", stderr: "No resources found\n" });
  assert.equal(io.stdout.text.match(/ConfigMap\/settings/g)?.length, 1, "lines that did not change are not repeated");
});

test("trace --output tree --watch prints the whole tree again for each change and event", async () => {
  const at = "apiVersion: t.org/v1\nkind: Page\nmetadata: {namespace: default, name: home}\n";
  const spec = "spec: {crossplane: {resourceRefs: [{apiVersion: v1, kind: ConfigMap, name: settings}]}}\n";
  const page = (status: string, reason: string) => `${at}${spec}${conditions(synced, ["Ready", status, reason])}`;
  const definitions = crd("apiextensions.crossplane.io", "CompositeResourceDefinition", "Cluster");
  await apply([definitions.replace("name: v1,", "name: v2,"), crd("t.org", "Page", "Namespaced")].join("---\n"));
  await apply(`apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: pages.t.org}
spec: {group: t.org, scope: Namespaced, names: {kind: Page, plural: pages}, versions: [{name: v1, served: true, referenceable: true}]}
${conditions(["Established", "True", "WatchingCompositeResource"])}`);
  await apply(page("False", "Creating"));
  const uid = (await purlin("get", "page", "home", "-o", "jsonpath={.metadata.uid}")).stdout;
  const [io, terminal] = [new TestIo({ cwd: folder.path }), new TestIo({ cwd: folder.path, isTTY: true })];
  const watching = [io, terminal].map((one) => run(["trace", "page", "home", "-w", "-o", "tree"], one));
  const trees = (): readonly string[] => io.stdout.text.split(/^(?=\S Page default\/home)/m);
  const last = (): string => trees().at(-1) ?? "";
  await eventually("the tree", () => /^Ready +False +Creating/m.test(last()));
  assert.match(last(), /^… Page default\/home .*\n(?:.*\n)*└─ · ConfigMap default\/settings\n/);
  await apply(page("True", "Available"));
  await eventually("another tree", () => /^✓ Page (?:.*\n)*Ready +True +Available/.test(last()));
  assert.match(last(), /└─ · ConfigMap default\/settings\n/, "lines that did not change are printed, too");
  await eventually("a screen", () => terminal.stdout.text.includes("\x1b[0J"));
  const about = `kind: Page, name: home, apiVersion: t.org/v1, uid: ${uid}`;
  await apply(event("d", about, "type: Normal\nreason: Opened\nmessage: hello"));
  await eventually("the event", () => /^Normal +Opened +\S+ +hello$/m.test(last()));
  const printed = trees().length;
  await apply(`${at.replace("home", "other")}${spec}`);
  assert.equal((await purlin("delete", "page", "home")).exitCode, 0);
  assert.deepEqual(await Promise.all(watching), [0, 0]);
  assert.equal(trees().length, printed, "a tree that did not change is not printed again");
  assert.match(io.stdout.text, /\n\n✓ Page default\/home/, "a blank line is between trees");
  const none = await purlin("trace", "shops", "-w", "-o", "tree");
  assert.deepEqual(none, { exitCode: 0, stdout: "", stderr: "No resources found\n" });
});

test("top on a cluster has the columns of crossplane cluster top", async () => {
  const pod = (name: string, label: string): string =>
    `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: default, labels: {${label}}}\nspec: {containers: [{name: a, image: b}]}\n`;
  const usage = (name: string, cpu: string, memory: string): string =>
    `apiVersion: metrics.k8s.io/v1beta1\nkind: PodMetrics\nmetadata: {name: ${name}, namespace: default}\ncontainers: [{name: a, usage: {cpu: ${cpu}, memory: ${memory}}}]\n`;
  await apply(
    [
      pod("fn", "pkg.crossplane.io/function: fn"),
      pod("core", "app.kubernetes.io/part-of: crossplane"),
      pod("other", "app: other"),
      usage("fn", "1500000n", "20480Ki"),
      usage("core", "12m", "34Mi"),
    ].join("---\n"),
  );
  const { stdout, stderr } = await purlin("cluster", "top", "-s", "-n", "default");
  assert.equal(
    stdout,
    `Nr of Crossplane pods: 2
Crossplane: 1
Function: 1
Memory: 54Mi
CPU(cores): 14m

TYPE        NAMESPACE  NAME  CPU(cores)  MEMORY
crossplane  default    core  12m         34Mi
function    default    fn    2m          20Mi
`,
    stderr,
  );
  assert.equal(
    (await purlin("top", "functions", "-n", "default")).stdout,
    "TYPE      NAMESPACE  NAME  CPU(cores)  MEMORY\nfunction  default    fn    2m          20Mi\n",
  );
  const xrs = await purlin("top", "xrs", "-n", "default");
  assert.deepEqual(
    [xrs.exitCode, xrs.stderr],
    [1, "error: top xrs: only a control plane of purlin up counts reconciles; on a cluster use purlin runs ls\n"],
  );
  const missing = await purlin("top", "functions", "--interval", "soon");
  assert.deepEqual(
    [missing.exitCode, missing.stderr],
    [2, 'error: --interval: expected a duration such as 30s or 1m30s, not "soon"\n'],
  );
});
