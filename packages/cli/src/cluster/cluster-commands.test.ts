// SPDX-License-Identifier: Apache-2.0
// purlin apply, get, patch, delete and trace, on a real API server.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import type { JsonObject } from "@purlin/kube-objects/json";
import { load } from "js-yaml";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {kind: Widget, plural: widgets, shortNames: [wd]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: string, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string, enum: [small, large]}
              note: {type: string}
`;
const widget = (name: string, spec: string): string => `apiVersion: example.org/v1
kind: Widget
metadata: {name: ${name}}
spec: ${spec}
`;

let folder: TempFolder;
let server: EmbeddedServer;
const purlin = (...args: string[]): Promise<Outcome> => runInProcess(args, { cwd: folder.path });

before(async () => {
  folder = tempFolder({
    "all/a-widget.yaml": widget("w", "{size: small, note: null}"),
    "all/z-crd.yaml": crd,
    "bad.yaml": `${widget("bad", "{size: huge}")}---\n${widget("odd", "{siez: small}")}---\n${widget("good", "{size: large}")}`,
    "unknown.yaml": "apiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: g}\n",
    "wrong.yaml":
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: nowhere\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  port: 80\n  name: x\n  debug: true\n",
    "team.yaml":
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n",
  });
  server = await startEmbeddedServer({ directory: join(folder.path, ".purlin"), port: 0, warn: () => {} });
  const kubeconfig = readFileSync(server.kubeconfig, "utf8");
  folder.write("elsewhere.yaml", kubeconfig.replace(server.url, "https://127.0.0.1:1"));
  folder.write("anonymous.yaml", kubeconfig.replaceAll(/^ +client-(certificate|key)-data: .*\n/gm, ""));
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("every command that reads a control plane takes --as, --as-group and --request-timeout", async () => {
  for (const args of [["get", "cm"], ["events"], ["describe", "cm"], ["delete", "cm", "c"]]) {
    const { exitCode, stderr } = await purlin(...args, "--as", "guest");
    const isForbidden = /forbidden: User "guest" cannot/.test(stderr);
    assert.deepEqual([exitCode, isForbidden], [1, true], `${args.join(" ")}: ${stderr}`);
  }
  const flags = ["--as", "root", "--as-group", "system:masters", "--request-timeout", "1m"];
  assert.deepEqual(await purlin("get", "ns", "default", "-o", "name", ...flags), {
    exitCode: 0,
    stdout: "namespace/default\n",
    stderr: "",
  });
  for (const args of [["trace"], ["explain"], ["diff"], ["top"], ["runs", "ls"], ["logs"]])
    assert.doesNotMatch((await purlin(...args, ...flags)).stderr, /unknown option/, args.join(" "));
  const alone = await purlin("trace", "--as-group", "a");
  assert.deepEqual(alone, { exitCode: 2, stdout: "", stderr: "error: --as-group: needs --as USER\n" });
  // A number is one of seconds, and zero lifts the limit, as for kubectl; more than a timer can wait is waited for as long as it can.
  for (const limit of ["30", "0", "0s", "100000h"]) {
    const { exitCode, stderr } = await purlin("get", "ns", "--request-timeout", limit);
    assert.deepEqual([exitCode, stderr], [0, ""], limit);
  }
  const wrong = await purlin("events", "--request-timeout", "soon");
  assert.deepEqual([wrong.exitCode, /--request-timeout soon: expected a duration/.test(wrong.stderr)], [2, true]);
});

test("--request-timeout ends a request that the API server does not answer", async () => {
  const silent = createServer(() => {});
  await once(silent.listen(0, "127.0.0.1"), "listening");
  const { port } = silent.address() as AddressInfo;
  folder.write(
    "silent.yaml",
    `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:${port}"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {}}]
current-context: a
`,
  );
  try {
    for (const command of ["trace", "explain", "diff", "events"]) {
      const { exitCode, stderr } = await purlin(command, "--kubeconfig", "silent.yaml", "--request-timeout", "200ms");
      assert.equal(exitCode, 1);
      assert.match(stderr, /GET \/version: the API server did not answer within 200ms: raise --request-timeout/);
    }
  } finally {
    silent.close();
    silent.closeAllConnections();
  }
});

test("objects are applied after what defines them, and again without a change", async () => {
  const first = await purlin("apply", "all");
  assert.deepEqual(first, {
    exitCode: 0,
    stdout: "CustomResourceDefinition widgets.example.org created\nWidget w created\n",
    stderr: "",
  });
  assert.match((await purlin("apply", "all")).stdout, /^CustomResource.* unchanged\nWidget w unchanged\n$/);
  folder.write("all/a-widget.yaml", widget("w", "{size: large}"));
  assert.match((await purlin("apply", "all")).stdout, /Widget w configured\n$/);
  assert.match((await purlin("apply", "team.yaml")).stdout, /^Namespace team created\nConfigMap team\/c created\n$/);
});

test("rejected objects are reported with their position, and the others are applied", async () => {
  const { exitCode, stdout, stderr } = await purlin("apply", "bad.yaml");
  assert.deepEqual([exitCode, stdout], [1, "Widget good created\n"]);
  assert.match(stderr, /^error: bad\.yaml:4:8: spec\.size: Unsupported value: "huge".*\n/);
  assert.match(stderr, /\nerror: bad\.yaml:9:8: \.spec\.siez: unknown field: check its name and indentation\n$/);
  const unknown = await purlin("apply", "unknown.yaml");
  assert.equal(
    unknown.stderr,
    'error: unknown.yaml:1:1: Gadget g: no matches for kind "Gadget" in version "example.org/v1": check the spelling, or apply the definition of the kind too\n',
  );
});

test("a missing namespace and a value of the wrong type are reported with their positions", async () => {
  const { exitCode, stderr } = await purlin("apply", "wrong.yaml");
  assert.equal(exitCode, 1);
  assert.deepEqual(stderr.split("\n").sort(), [
    "",
    "error: wrong.yaml:11:3: data.port: expected string, got 80",
    "error: wrong.yaml:13:3: data.debug: expected string, got true",
    'error: wrong.yaml:5:3: ConfigMap nowhere/a: namespace "nowhere" does not exist: create it, or correct metadata.namespace',
  ]);
});

test("types are known by all their names, and objects are shown as tables, YAML and JSON", async () => {
  for (const type of ["widgets", "widget", "Widget", "wd", "WIDGETS.example.org"]) {
    const { stdout } = await purlin("get", type, "w");
    assert.match(stdout, /^NAME +SIZE\nw +large\n$/, type);
  }
  assert.match((await purlin("get", "cm", "-A")).stdout, /^NAMESPACE +NAME +DATA +AGE\n(.*\n)*team +c +0 +\S+\n/);
  assert.match(
    (await purlin("get", "cm", "c", "-n", "team", "-o", "yaml")).stdout,
    /^apiVersion: v1\nkind: ConfigMap\nmetadata:\n {2}creationTimestamp: /,
  );
  const json = JSON.parse((await purlin("get", "namespaces", "-o", "json")).stdout) as {
    items: { metadata: object }[];
  };
  assert.ok(json.items.length >= 5);
  assert.ok(!json.items.some(({ metadata }) => "managedFields" in metadata));
  const names = await purlin("get", "widgets.example.org", "-o", "name");
  assert.deepEqual(names, { exitCode: 0, stdout: "widget.example.org/good\nwidget.example.org/w\n", stderr: "" });
  assert.equal((await purlin("get", "cm", "c", "-n", "team", "-o", "name")).stdout, "configmap/c\n");
});

test("an empty list is reported on stderr", async () => {
  const nothing = { exitCode: 0, stdout: "", stderr: "No resources found in default namespace.\n" };
  assert.deepEqual(await purlin("get", "pods"), nothing);
  assert.deepEqual(await purlin("get", "pods", "-o", "name"), nothing);
  const everywhere = await purlin("get", "pods", "-A");
  assert.equal(everywhere.stderr, "No resources found\n");
  const template = await purlin("get", "widget", "w", "-o", "jsonpath={.spec.absent}");
  assert.deepEqual(template, { exitCode: 0, stdout: "", stderr: "" }, "the object exists, the field does not");
});

test("a type and a name may be one word", async () => {
  assert.match((await purlin("get", "widget/w")).stdout, /^NAME +SIZE\nw +large\n$/);
  assert.match((await purlin("trace", "widget.example.org/w")).stdout, /\nWidget\/w \(default\) +- +- +\n$/);
  assert.equal((await purlin("patch", "widget/w", "spec: {note: x}")).stdout, "Widget w patched\n");
});

test("objects are applied from standard input, and errors name the position in it", async () => {
  const stdin = `${widget("piped", "{size: large}")}---\n${widget("bad", "{siez: small}")}`;
  const { exitCode, stdout, stderr } = await runInProcess(["apply", "-"], { cwd: folder.path, stdin });
  assert.deepEqual([exitCode, stdout], [1, "Widget piped created\n"]);
  assert.equal(stderr, "error: stdin:9:8: .spec.siez: unknown field: check its name and indentation\n");
  assert.equal((await purlin("delete", "widget/piped")).stdout, "Widget piped deleted\n");
});

test("a file that was saved from another object, or an older version of it, says what to take out of it", async () => {
  const again = async (text: string): Promise<Outcome> =>
    runInProcess(["apply", "-"], { cwd: folder.path, stdin: text });
  const saved = (await purlin("get", "widget", "w", "-o", "yaml")).stdout;
  assert.equal(
    (await again(saved)).stdout,
    "Widget default/w configured\n",
    "it is whose fields these are that changed",
  );
  const advice =
    "the stored object has another uid or resourceVersion: remove metadata.uid and metadata.resourceVersion from the file";
  const other = await again(saved.replace("name: w\n", "name: other\n"));
  assert.match(other.stderr, new RegExp(`^error: stdin:\\d+:3: Widget default/other: ${advice}\n$`));
  await purlin("patch", "widget", "w", "spec: {note: y}");
  const older = await again(saved.replace(/^ +uid: .*\n/m, ""));
  assert.match(older.stderr, new RegExp(`^error: stdin:\\d+:3: Widget default/w: ${advice}\n$`));
});

test("another context of a kubeconfig may be named", async () => {
  const here = readFileSync(join(folder.path, "anonymous.yaml"), "utf8").replace(
    /current-context: .*/,
    "current-context: away",
  );
  folder.write("two.yaml", here);
  const current = await purlin("get", "ns", "--kubeconfig", "two.yaml");
  assert.match(current.stderr, /has no context "away"/);
  const named = await purlin("get", "ns", "--kubeconfig", "two.yaml", "--context", "purlin");
  assert.match(named.stderr, /^error: forbidden: User "system:anonymous"/, "it was found, and answers");
});

test("what others wrote is shown without effect on the terminal", async () => {
  const event = (name: string, message: string): string =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace: "default" },
      involvedObject: { kind: "Widget", name: "w", namespace: "default" },
      reason: "Odd",
      message,
    });
  const { stdout } = await runInProcess(["apply", "-"], {
    cwd: folder.path,
    stdin: event("odd", "a\u001b[2Jb\u0007\nc"),
  });
  assert.equal(stdout, "Event default/odd created\n");
  assert.match((await purlin("get", "events")).stdout, / Odd +widget\/w +a\\x1b\[2Jb\\x07 c\n/);
});

test("a patch changes what it names, and null removes", async () => {
  assert.equal((await purlin("patch", "widget", "w", '{"spec": {"note": "hi"}}')).stdout, "Widget w patched\n");
  assert.match((await purlin("get", "widget", "w", "-o", "yaml")).stdout, /spec:\n {2}note: hi\n {2}size: large\n/);
  await purlin("patch", "widget", "w", "spec: {note: null}");
  assert.doesNotMatch((await purlin("get", "widget", "w", "-o", "yaml")).stdout, /note/);
});

test("a patch with a field that is not there names it, and not the whole object", async () => {
  const { exitCode, stderr } = await purlin("patch", "widget", "w", '{"spec": {"siez": "large", "note": "x"}}');
  assert.equal(stderr, 'error: invalid patch: unknown field "spec.siez": check the fields of Widget\n');
  assert.equal(exitCode, 1);
});

test("deletion waits until the object is gone, or reports its finalizers", async () => {
  await purlin("patch", "widget", "good", '{"metadata": {"finalizers": ["example.org/hold"]}}');
  const held = await purlin("delete", "widget", "good", "--timeout", "100ms");
  assert.equal(held.stderr, "error: Widget good is being deleted but still exists: check its metadata.finalizers\n");
  await purlin("patch", "widget", "good", '{"metadata": {"finalizers": null}}');
  assert.match((await purlin("delete", "widget", "good")).stderr, /not found: check the name and --namespace/);
  assert.equal((await purlin("delete", "widget", "w")).stdout, "Widget w deleted\n");
});

test("an object is changed in an editor, which opens again when the change is refused", async () => {
  await runInProcess(["apply", "-"], { cwd: folder.path, stdin: widget("edited", "{size: small, note: before}") });
  const edit = (editor: string, ...flags: readonly string[]): Promise<Outcome> => {
    const env = { EDITOR: editor, PATH: process.env["PATH"] };
    return runInProcess(["edit", "widget/edited", ...flags], { cwd: folder.path, env });
  };
  assert.equal((await edit("sed -i s/before/after/")).stdout, "Widget edited edited\n");
  assert.equal((await edit("true")).stdout, "Edit cancelled, Widget edited is unchanged.\n");
  const actions = async (editor: string): Promise<unknown> =>
    JSON.parse((await edit(editor, "-o", "json")).stdout).items.map(({ action }: { action: string }) => action);
  assert.deepEqual(await actions("sed -i s/after/later/"), ["edited"]);
  assert.deepEqual(await actions("sed -i s/later/after/"), ["edited"]);
  assert.deepEqual(await actions("true"), ["unchanged"]);
  assert.match((await edit("false")).stderr, /^error: editor "false" exited with 1: set \$EDITOR to another one\n$/);
  const refused = await edit("sed -i s/small/huge/");
  assert.match(
    refused.stderr,
    /^error: .*Unsupported value: "huge"[\s\S]*\nerror: no valid change was saved: your edits are in \S+\n$/,
  );
  const size = ["-o", "jsonpath={.spec.size} {.spec.note}"];
  assert.equal((await purlin("get", "widget", "edited", ...size)).stdout, "small after");
});

test("objects are found by labels, deleted by labels and files, and described", async () => {
  const labelled = (name: string): string =>
    widget(name, "{size: small}").replace(`{name: ${name}}`, `{name: ${name}, labels: {x: z}}`);
  folder.write("labelled.yaml", `${labelled("l1")}---\n${labelled("l2")}`);
  assert.match((await purlin("apply", "-f", "labelled.yaml")).stdout, /^Widget l1 created\nWidget l2 created\n$/);
  assert.equal(
    (await purlin("get", "wd", "-l", "x=z", "-o", "name")).stdout,
    "widget.example.org/l1\nwidget.example.org/l2\n",
  );
  assert.match(
    (await purlin("describe", "wd/l1")).stdout,
    /^Name: +l1\nNamespace: +default\nLabels: +x=z\n[\s\S]*\nSpec:\n {2}Size: +small\nEvents: +<none>\n$/,
  );
  for (const command of ["get", "describe", "delete"]) {
    const named = await purlin(command, "widgets", "l1", "-l", "x=other");
    assert.deepEqual(named, {
      exitCode: 1,
      stdout: "",
      stderr: "error: name cannot be provided when a selector is specified\n",
    });
    const asPair = "error: selectors and the all flag cannot be used when passing resource/name arguments\n";
    assert.equal((await purlin(command, "widgets/l1", "-l", "x=other")).stderr, asPair);
  }
  for (const command of ["get", "describe"]) {
    const everywhere = "error: a resource cannot be retrieved by name across all namespaces\n";
    assert.deepEqual(await purlin(command, "widgets", "l1", "-A"), { exitCode: 1, stdout: "", stderr: everywhere });
  }
  assert.equal((await purlin("delete", "widgets", "-l", "x=z")).stdout, "Widget l1 deleted\nWidget l2 deleted\n");
  await purlin("apply", "-f", "labelled.yaml");
  assert.equal((await purlin("delete", "-f", "labelled.yaml")).stdout, "Widget l2 deleted\nWidget l1 deleted\n");
  assert.equal((await purlin("delete", "-f", "labelled.yaml", "--ignore-not-found")).exitCode, 0);
});

test("with -o json and -o yaml, commands that write objects print one report, also of errors", async () => {
  const item = (name: string, action: string) => ({
    apiVersion: "example.org/v1",
    kind: "Widget",
    namespace: "default",
    name,
    action,
  });
  const report = (...items: readonly object[]) => ({ apiVersion: "cli.purlin.dev/v1", kind: "ActionReport", items });
  folder.write("j.yaml", `${widget("j1", "{size: small}")}---\n${widget("j2", "{size: small}")}`);
  const parsed = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await purlin(...args, "-o", "json")).stdout);
  assert.deepEqual(await parsed("apply", "j.yaml"), report(item("j1", "created"), item("j2", "created")));
  folder.write("j.yaml", `${widget("j1", "{size: large}")}---\n${widget("j2", "{size: small}")}`);
  assert.deepEqual(await parsed("apply", "j.yaml"), report(item("j1", "configured"), item("j2", "unchanged")));
  const yaml = (await purlin("patch", "widget", "j1", '{"spec": {"note": "x"}}', "-o", "yaml")).stdout;
  assert.deepEqual(load(yaml), report(item("j1", "patched")));
  assert.deepEqual(await parsed("delete", "widget", "j1", "j2"), report(item("j1", "deleted"), item("j2", "deleted")));
  const bad = await purlin("apply", "bad.yaml", "-o", "json");
  const { items, errors } = JSON.parse(bad.stdout) as { items: object[]; errors: { code: string; message: string }[] };
  assert.deepEqual([bad.exitCode, items], [1, [item("good", "created")]]);
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["INVALID_INPUT", "INVALID_INPUT"],
  );
  assert.match(errors[0]?.message ?? "", /^bad\.yaml:4:8: spec\.size: Unsupported value/);
  const absent = await purlin("delete", "widget", "absent", "-o", "json");
  assert.match(absent.stdout, /^\{\n {2}"errors": \[/);
  assert.equal(absent.exitCode, 1);
  const wrong = await purlin("apply", "j.yaml", "-o", "xml");
  assert.deepEqual([wrong.exitCode, wrong.stderr], [2, "error: --output xml: expected text, json or yaml\n"]);
  const asking = await purlin("apply", "j.yaml", "--confirm", "-o", "json");
  assert.deepEqual([asking.exitCode, /use it without -o json/.test(asking.stderr)], [2, true]);
});

test("describe -o json has the objects with their events; values of Secrets are not shown", async () => {
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: hunter22}\n";
  await runInProcess(["apply", "-"], { cwd: folder.path, stdin: secret });
  const { stdout } = await purlin("describe", "secret", "login", "-o", "json");
  const { kind, items } = JSON.parse(stdout) as { kind: string; items: { object: JsonObject; events: object[] }[] };
  assert.deepEqual([kind, items[0]?.object["data"], items[0]?.events], ["DescriptionList", { password: "***" }, []]);
  assert.match((await purlin("describe", "secret", "login")).stdout, /\nData:\n {2}Password: +\*\*\*\n/);
});

test("of several objects those that exist are shown, and the others are reported", async () => {
  const { exitCode, stdout, stderr } = await purlin("get", "cm", "c", "nope", "-n", "team", "-o", "name");
  assert.deepEqual([exitCode, stdout], [1, "configmap/c\n"]);
  assert.match(stderr, /^error: .*"nope" not found: check the name and --namespace\n$/);
});

test("version names this command and the server", async () => {
  assert.match(
    (await purlin("version")).stdout,
    /^Client Version: v\d\S+ \(Node v\d+\S*\)\nServer Version: v1\.\d+\S*\n$/,
  );
  assert.match((await purlin("version", "--client", "-o", "json")).stdout, /^\{\n {2}"clientVersion": \{/);
});

const refused: Record<string, { readonly args: readonly string[]; readonly exitCode: number; readonly says: RegExp }> =
  {
    NoType: {
      args: ["get", "zebra"],
      exitCode: 1,
      says: /^error: the server does not have a resource type "zebra": check the spelling, or apply its definition first\n$/,
    },
    CloseType: {
      args: ["get", "configmpas"],
      exitCode: 1,
      says: /^error: the server does not have a resource type "configmpas": did you mean configmaps\?\n$/,
    },
    NoObject: { args: ["get", "cm", "nope"], exitCode: 1, says: /"nope" not found: check the name and --namespace\n$/ },
    NoFormat: {
      args: ["get", "cm", "-o", "xml"],
      exitCode: 2,
      says: /^error: --output xml: expected table, wide, yaml, json, name or jsonpath=TEMPLATE\n$/,
    },
    NoPatch: {
      args: ["patch", "cm", "c", "1"],
      exitCode: 2,
      says: /^error: invalid patch: expected an object, such as /,
    },
    BadPatch: { args: ["patch", "cm", "c", "{"], exitCode: 1, says: /^error: the patch:1:\d+: invalid YAML/ },
    PatchNothing: {
      args: ["patch", "cm", "c", "{}"],
      exitCode: 1,
      says: /not found: check the name and --namespace\n$/,
    },
    RefusedPatch: {
      args: ["patch", "cm", "c", "-n", "team", '{"dta": {}}'],
      exitCode: 1,
      says: /^error: invalid patch: unknown field "dta": check the fields of ConfigMap\n$/,
    },
    NoTree: { args: ["trace", "-o", "xml"], exitCode: 2, says: /^error: --output xml: expected table, wide, json/ },
    NoNameToDelete: {
      args: ["diff", "--delete", "cm"],
      exitCode: 2,
      says: /^error: --delete cm: expected TYPE\/NAME: name the objects of ConfigMap\n$/,
    },
    NoControlPlane: {
      args: ["trace"],
      exitCode: 1,
      says: /^error: the API server runs no control plane: .*start one with purlin up/,
    },
    NoFolder: {
      args: ["get", "cm", "--data-dir", "nope"],
      exitCode: 1,
      says: /^error: no control plane found: nope\/kubeconfig does not exist: start a control plane with "purlin up"/,
    },
    NoKubeconfig: {
      args: ["get", "cm", "--kubeconfig", "nope"],
      exitCode: 2,
      says: /^error: cannot read --kubeconfig nope: no such file: check the path\n$/,
    },
    NoKubeconfigOutside: {
      args: ["get", "cm", "--kubeconfig", "/nope/kubeconfig"],
      exitCode: 2,
      says: /^error: cannot read --kubeconfig \/nope\/kubeconfig: no such file: check the path\n$/,
    },
    NotAKubeconfig: {
      args: ["get", "cm", "--kubeconfig", "unknown.yaml"],
      exitCode: 2,
      says: /^error: kubeconfig .*unknown\.yaml has no current-context/,
    },
    AKubeconfigFolder: {
      args: ["get", "cm", "--kubeconfig", "all"],
      exitCode: 2,
      says: /^error: cannot read the kubeconfig .*all: it is a folder: specify a file in it\n$/,
    },
    Unreachable: {
      args: ["get", "cm", "--kubeconfig", "elsewhere.yaml"],
      exitCode: 1,
      says: /^error: cannot reach https:\/\/127\.0\.0\.1:1: .*: check the server and credentials in elsewhere\.yaml\n$/,
    },
    Anonymous: {
      args: ["get", "cm", "--kubeconfig", "anonymous.yaml"],
      exitCode: 1,
      says: /^error: forbidden: User "system:anonymous" cannot get path "\/apis?"\n$/,
    },
    NoContext: {
      args: ["get", "cm", "--kubeconfig", "anonymous.yaml", "--context", "nope"],
      exitCode: 2,
      says: /^error: kubeconfig .*anonymous\.yaml has no context "nope"; it has "purlin"\n$/,
    },
    BothForms: {
      args: ["get", "-n", "team", "cm/c", "d"],
      exitCode: 2,
      says: /^error: use either TYPE NAME… or TYPE\/NAME…, not both: cm\/c d\n$/,
    },
    NotAPair: { args: ["describe", "cm/c/d"], exitCode: 2, says: /^error: expected TYPE\/NAME, not "cm\/c\/d"\n$/ },
    NoTemplate: {
      args: ["get", "cm", "-o", "jsonpath"],
      exitCode: 2,
      says: /^error: --output jsonpath: expected a template/,
    },
    BadTemplate: {
      args: ["get", "cm", "-o", "jsonpath={.a"],
      exitCode: 2,
      says: /^error: --output jsonpath=\{\.a: unclosed \{: add \}\n$/,
    },
    PatchType: {
      args: ["patch", "cm", "c", "{}", "--type", "x"],
      exitCode: 2,
      says: /^error: --type x: expected merge, json, strategic\n$/,
    },
    JsonPatchObject: {
      args: ["patch", "cm", "c", "{}", "--type", "json"],
      exitCode: 2,
      says: /^error: invalid patch: expected a list of operations/,
    },
    NoPatchAtAll: { args: ["patch", "cm", "c"], exitCode: 2, says: /^error: specify the patch, such as / },
    DeleteWhat: {
      args: ["delete", "cm"],
      exitCode: 2,
      says: /^error: specify what to delete: TYPE NAME, TYPE -l SELECTOR, or -f FILE\n$/,
    },
    ApplyWhat: { args: ["apply"], exitCode: 2, says: /^error: specify a file or folder/ },
    EditWhat: { args: ["edit", "cm"], exitCode: 2, says: /^error: specify one object: TYPE NAME\n$/ },
    NothingPiped: {
      args: ["apply", "-"],
      exitCode: 1,
      says: /^error: -: no objects found: nothing to apply\n$/,
    },
    NoManifest: {
      args: ["apply", "nope.yaml"],
      exitCode: 1,
      says: /^error: cannot read nope\.yaml: no such file/,
    },
  };
for (const [name, { args, exitCode, says }] of Object.entries(refused)) {
  test(`an error is one line: ${name}`, async () => {
    const outcome = await purlin(...args);
    assert.match(outcome.stderr, says);
    assert.deepEqual([outcome.exitCode, outcome.stdout, outcome.stderr.split("\n").length], [exitCode, "", 2]);
  });
}

test("a control plane that does not run is reported with the command that starts it", async () => {
  using gone = tempFolder();
  const other = await startEmbeddedServer({ directory: join(gone.path, ".purlin"), port: 0, warn: () => {} });
  await other[Symbol.asyncDispose]();
  const { exitCode, stderr } = await runInProcess(["get", "cm"], { cwd: gone.path });
  assert.equal(exitCode, 1);
  assert.match(
    stderr,
    /^error: cannot reach https:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.*: is the control plane of \.purlin\/kubeconfig running\? start it with "purlin up"\n$/,
  );
  const version = await runInProcess(["version"], { cwd: gone.path });
  assert.deepEqual([version.exitCode, version.stderr], [1, stderr]);
  assert.match(version.stdout, /^Client Version: v\S+ \(Node v\S+\)\n$/);
});

test("trace names the right that is missing, and does not say that there is no control plane", async () => {
  folder.write(
    "definitions.yaml",
    crd
      .replaceAll("example.org", "apiextensions.crossplane.io")
      .replaceAll("widgets", "compositeresourcedefinitions")
      .replace("Widget,", "CompositeResourceDefinition,")
      .replace("name: v1", "name: v2"),
  );
  assert.equal((await purlin("apply", "definitions.yaml")).exitCode, 0);
  for (const args of [["trace"], ["trace", "-o", "tree"]]) {
    const { exitCode, stderr } = await purlin(...args, "--as", "guest");
    assert.equal(exitCode, 1);
    assert.match(stderr, /^error: compositeresourcedefinitions\S* is forbidden: User "guest" cannot list resource/);
  }
});
