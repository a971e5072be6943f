// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import {
  create,
  type FunctionHandler,
  type JsonObject,
  Resource,
  request,
  response,
  Struct,
} from "@purlin/function-sdk";
import { invokeToStable, newRequest, startTestServer } from "@purlin/function-sdk/testing";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { parseYaml } from "../files/yaml-file.ts";

const xr = `apiVersion: bench.example.org/v1
kind: App
metadata:
  namespace: ns1
  name: one
spec:
  size: 3
`;
const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: comp
spec:
  compositeTypeRef:
    apiVersion: bench.example.org/v1
    kind: App
  mode: Pipeline
  pipeline:
  - step: t
    functionRef:
      name: fn
`;
const functionAt = (port: number): string => `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: fn
  annotations:
    render.crossplane.io/runtime: Development
    render.crossplane.io/runtime-development-target: localhost:${port}
`;

interface RenderTest {
  readonly args?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly paths?: readonly string[];
}

/** Serves a function in plaintext and renders with the command. */
async function render(t: TestContext, handler: FunctionHandler, wish: RenderTest = {}): Promise<Outcome> {
  const server = await startTestServer(handler);
  t.after(() => server.stop(0));
  using folder = tempFolder({
    "xr.yaml": xr,
    "composition.yaml": composition,
    "functions.yaml": functionAt(server.port),
    ...wish.files,
  });
  const paths = wish.paths ?? ["xr.yaml", "composition.yaml", "functions.yaml"];
  return await runInProcess(["render", ...paths, ...(wish.args ?? [])], { cwd: folder.path });
}

const compose: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  for (const name of ["b", "a"]) {
    const object = { apiVersion: "v1", kind: "ConfigMap", data: { from: name } };
    response.setDesiredComposedResource(rsp, name, object, {
      ready: request.getObservedComposedResources(req).has(name),
    });
  }
  response.normal(rsp, "hello");
  return rsp;
};
const documentsOf = ({ stdout }: Outcome): Record<string, unknown>[] =>
  parseYaml(stdout, "stdout").map(({ value }) => value as Record<string, unknown>);
/** A part of the XR that was printed. */
const partOf = (outcome: Outcome, part: "spec" | "status"): Record<string, unknown> =>
  (documentsOf(outcome)[0]?.[part] ?? {}) as Record<string, unknown>;
const kindsOf = (outcome: Outcome): unknown[] => documentsOf(outcome).map(({ kind }) => kind);

test("the XR, then resources by their name in the pipeline, each document begun by ---", async (t) => {
  const outcome = await render(t, compose);
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  assert.equal(
    outcome.stdout,
    `---
apiVersion: bench.example.org/v1
kind: App
metadata:
  name: one
  namespace: ns1
spec:
  crossplane:
    resourceRefs:
    - apiVersion: v1
      kind: ConfigMap
      name: one-4ebc6899ad23
    - apiVersion: v1
      kind: ConfigMap
      name: one-79fb1cca832f
status:
  conditions:
  - lastTransitionTime: "2024-01-01T00:00:00Z"
    reason: WatchCircuitClosed
    status: "True"
    type: Responsive
  - lastTransitionTime: "2024-01-01T00:00:00Z"
    reason: ReconcileSuccess
    status: "True"
    type: Synced
  - lastTransitionTime: "2024-01-01T00:00:00Z"
    message: 'Unready resources: a, b'
    reason: Creating
    status: "False"
    type: Ready
---
apiVersion: v1
data:
  from: a
kind: ConfigMap
metadata:
  annotations:
    crossplane.io/composition-resource-name: a
  generateName: one-
  labels:
    crossplane.io/composite: one
  name: one-79fb1cca832f
  namespace: ns1
  ownerReferences:
  - apiVersion: bench.example.org/v1
    blockOwnerDeletion: true
    controller: true
    kind: App
    name: one
    uid: cef6964f-86a5-59d0-aba6-397c0ce9e111
---
apiVersion: v1
data:
  from: b
kind: ConfigMap
metadata:
  annotations:
    crossplane.io/composition-resource-name: b
  generateName: one-
  labels:
    crossplane.io/composite: one
  name: one-4ebc6899ad23
  namespace: ns1
  ownerReferences:
  - apiVersion: bench.example.org/v1
    blockOwnerDeletion: true
    controller: true
    kind: App
    name: one
    uid: cef6964f-86a5-59d0-aba6-397c0ce9e111
`,
  );
});

test("-r adds results in their order, -c the context last, -x the input's spec", async (t) => {
  const outcome = await render(t, compose, { args: ["-r", "-c", "-x", "--context-values", 'env={"tier": "dev"}'] });
  const documents = documentsOf(outcome);
  const rest = documents.slice(3);
  assert.deepEqual(
    rest.map(({ kind, severity, reason, message }) => [kind, severity, reason, String(message)]),
    [
      ["Result", "Normal", "SelectComposition", "Successfully selected composition: comp"],
      ["Result", "Normal", "ComposeResources", 'Pipeline step "t": hello'],
      ["Result", "Normal", "ComposeResources", 'Composed resource "a" is not yet ready'],
      ["Result", "Normal", "ComposeResources", 'Composed resource "b" is not yet ready'],
      ["Context", undefined, undefined, "undefined"],
    ],
  );
  assert.deepEqual(documents.at(-1)?.["fields"], { env: { tier: "dev" } });
  assert.equal(partOf(outcome, "spec")["size"], 3);
});

test("--output json prints the same objects as one List", async (t) => {
  const inYaml = documentsOf(await render(t, compose, { args: ["-r", "-c"] }));
  const outcome = await render(t, compose, { args: ["-r", "-c", "--output", "json"] });
  assert.deepEqual(JSON.parse(outcome.stdout), { apiVersion: "v1", kind: "List", items: inYaml });
  const other = await render(t, compose, { args: ["--output", "xml"] });
  assert.deepEqual([other.exitCode, other.stdout], [2, ""]);
  assert.match(other.stderr, /--output xml: expected yaml or json/);
});

test("the output of a render is the observed state of the next", async (t) => {
  const first = await render(t, compose, { args: ["-r"] });
  const second = await render(t, compose, { files: { "observed.yaml": first.stdout }, args: ["-o", "observed.yaml"] });
  assert.equal(second.exitCode, 0, second.stderr);
  const conditions = partOf(second, "status")["conditions"] as { type: string; status: string }[];
  assert.equal(conditions.find(({ type }) => type === "Ready")?.status, "True");
});

test("context files, over which values win", async (t) => {
  const context: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.setDesiredCompositeStatus(rsp, { got: JSON.stringify(req.context?.value) });
    return rsp;
  };
  const outcome = await render(t, context, {
    files: { "a.json": '{"from": "file"}', "b.yaml": "from: file\n" },
    args: ["--context-files", "a=a.json", "--context-files", "b=b.yaml", "--context-values", "b=7"],
  });
  assert.deepEqual(JSON.parse(String(partOf(outcome, "status")["got"])), { a: { from: "file" }, b: 7 });
});

test("required resources and credentials come from files", async (t) => {
  const wants: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.requireResources(rsp, "it", {
      apiVersion: "v1",
      kind: "ConfigMap",
      matchName: "cm",
      namespace: "default",
    });
    const found = request.getRequiredResources(req, "it").length;
    const credentials = [...(req.credentials.keys() ?? [])].join();
    response.setDesiredCompositeStatus(rsp, { found, credentials });
    return rsp;
  };
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default}\nstringData: {key: v}\n";
  const withCredentials = `${composition}    credentials:\n    - {name: aws, source: Secret, secretRef: {namespace: default, name: s}}\n`;
  const outcome = await render(t, wants, {
    files: {
      "objects/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm, namespace: default}\n",
      "secrets.yaml": secret,
      "composition.yaml": withCredentials,
    },
    args: ["-e", "objects", "--function-credentials", "secrets.yaml"],
  });
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  const { found, credentials } = partOf(outcome, "status");
  assert.deepEqual([found, credentials], [1, "aws"]);
});

test("a function gets the schema of a built-in kind from render, from a call and from the test harness", async (t) => {
  const wants: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.requireSchema(rsp, "known", "apps/v1", "Deployment");
    response.requireSchema(rsp, "unknown", "example.org/v1", "Deployment");
    const known = request.getRequiredSchema(req, "known") ?? null;
    const unknown = request.lookupRequiredSchema(req, "unknown").state;
    response.setDesiredCompositeStatus(rsp, { known, unknown });
    return rsp;
  };
  const server = await startTestServer(wants);
  t.after(() => server.stop(0));
  const stable = await invokeToStable(wants, newRequest());
  const composite = stable.response.desired?.composite?.resource?.value ?? {};
  const { known, unknown } = (composite["status"] ?? {}) as Record<string, JsonObject>;
  assert.ok(known?.["properties"]);
  const rendered = partOf(await render(t, wants), "status");
  assert.deepEqual([rendered["known"], rendered["unknown"]], [known, unknown]);
  using folder = tempFolder({ "request.yaml": "{}\n" });
  const args = ["--target", `localhost:${server.port}`, "--insecure", "--request", "request.yaml"];
  const called = await runInProcess(["function", "call", ...args], { cwd: folder.path });
  assert.equal(called.exitCode, 0, called.stderr);
  const desired = documentsOf(called)[0]?.["desired"] as { composite: { resource: { status: JsonObject } } };
  assert.deepEqual(desired.composite.resource.status, { known, unknown });
});

const fails: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  response.warning(rsp, "careful");
  response.fatal(rsp, "boom");
  return rsp;
};

test("a fatal ends with 1, one line on stderr and nothing on stdout", async (t) => {
  const { exitCode, stdout, stderr } = await render(t, fails);
  assert.deepEqual([exitCode, stdout], [1, ""]);
  assert.match(stderr, /^error: cannot render App "one": .*pipeline step "t" returned a fatal result: boom\n$/);
});

test("a fatal prints nothing on stdout with -r either", async (t) => {
  const { exitCode, stdout } = await render(t, fails, { args: ["-r", "-c", "-x"] });
  assert.deepEqual([exitCode, stdout], [1, ""]);
});

test("what a cluster refuses is printed, with a warning on stderr", async (t) => {
  const nameless: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    rsp.desired?.resources.set("", create(Resource, { resource: Struct.from({ apiVersion: "v1", data: {} }) }));
    return rsp;
  };
  const outcome = await render(t, nameless);
  assert.equal(outcome.exitCode, 0);
  const [, resource] = documentsOf(outcome);
  assert.deepEqual([resource?.["apiVersion"], resource?.["kind"], resource?.["data"]], ["v1", "", {}]);
  const prefix = "warning: a cluster refuses this XR: cannot";
  assert.match(
    outcome.stderr,
    new RegExp(`^${prefix} use a desired .* without a name: .*\n${prefix} .*: object has no kind\n$`),
  );
});

const unnamed = [
  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations: {crossplane.io/composition-resource-name: a}\n",
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}\n",
  "apiVersion: v1\nkind: ConfigMap\n",
];
test("observed objects without a name are read, and none of them is observed", async (t) => {
  const observes: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.setDesiredCompositeStatus(rsp, { seen: [...request.getObservedComposedResources(req).keys()] });
    return rsp;
  };
  const named = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  annotations: {crossplane.io/composition-resource-name: b}\n`;
  const outcome = await render(t, observes, {
    files: { "observed.yaml": [...unnamed, named].join("---\n") },
    args: ["-o", "observed.yaml"],
  });
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  assert.deepEqual(partOf(outcome, "status")["seen"], ["b"]);
});

test("an XRD among the inputs counts, and a claim is rendered as its composite resource", async (t) => {
  const xrd = `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xapps.bench.example.org}
spec:
  group: bench.example.org
  names: {kind: XApp, plural: xapps}
  claimNames: {kind: App, plural: apps}
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]
`;
  const outcome = await render(t, (req, ctx) => ctx.to(req), {
    files: { "composition.yaml": `${xrd}---\n${composition.replace("kind: App", "kind: XApp")}` },
  });
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  assert.deepEqual(kindsOf(outcome), ["XApp"]);
});

const mistakes: Readonly<Record<string, { reason: string; wish: RenderTest; says: RegExp; exitCode?: number }>> = {
  WrongKind: {
    reason: "the Composition's own line",
    wish: { files: { "xr.yaml": xr.replace("kind: App", "kind: Other") } },
    says: /^error: composition\.yaml:8:5: composition's compositeTypeRef\.kind \(App\) does not match XR's kind \(Other\)\n$/,
  },
  MissingFunction: {
    reason: "the line of its step",
    wish: { files: { "composition.yaml": composition.replace("name: fn", "name: gone") } },
    says: /^error: composition\.yaml:13:7: step "t" uses function "gone", which is not among FUNCTIONS: add it there\n$/,
  },
  Uncallable: {
    reason: "what to add",
    wish: { files: { "functions.yaml": "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: fn\n" } },
    says: /^error: functions\.yaml:3:1: Function "fn" has no endpoint that render can call: run it and add the annotation/,
  },
  ConnectionRefused: {
    reason: "at once, not after the timeout",
    wish: { args: ["-a", "render.crossplane.io/runtime-development-target=localhost:1"] },
    says: /^error: cannot render App "one": .*pipeline step "t": Function "fn": cannot call localhost:1: connection refused/,
  },
  BadTarget: {
    reason: "the line of the annotation",
    wish: { files: { "functions.yaml": functionAt(0).replace("localhost:0", "nowhere") } },
    says: /^error: functions\.yaml:7:5: render\.crossplane\.io\/runtime-development-target: expected host:port, such as/,
  },
  ForeignObserved: {
    reason: "the line of the owner",
    wish: {
      files: {
        "o.yaml":
          "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  ownerReferences:\n  - {apiVersion: v1, kind: O, name: o, uid: u9, controller: true}\n",
      },
      args: ["-o", "o.yaml"],
    },
    says: /^error: o\.yaml:5:3: observed ConfigMap "x" is controlled by O "o" \(UID u9\), not by the XR/,
  },
  TwoCompositions: {
    reason: "both places",
    wish: { files: { "composition.yaml": `${composition}---\n${composition}` } },
    says: /^error: composition\.yaml:16:1: found a second Composition; the first is at composition\.yaml:2:1: specify a file with only one\n$/,
  },
  NoComposition: {
    reason: "the path",
    wish: { paths: ["xr.yaml", "xr.yaml", "functions.yaml"] },
    says: /^error: xr\.yaml: no Composition found: check the path\n$/,
  },
  OtherXrd: {
    reason: "the definition that was named is of another kind",
    wish: { args: ["--xrd", "functions.yaml"] },
    says: /^error: functions\.yaml: it does not define App of bench\.example\.org\/v1, which the Composition is for\n$/,
  },
  BadPair: {
    reason: "the flag",
    wish: { args: ["--context-values", "nothing"] },
    says: /^error: --context-values: expected key=value, not "nothing"\n$/,
    exitCode: 2,
  },
  BadTimeout: {
    reason: "the flag",
    wish: { args: ["--timeout", "soon"] },
    says: /^error: --timeout: expected a duration/,
    exitCode: 2,
  },
  BrokenYaml: {
    reason: "file and line",
    wish: { files: { "xr.yaml": "a: [1\nb: 2\n" } },
    says: /^error: xr\.yaml:2:1: invalid YAML/,
  },
};

for (const [name, { reason, wish, says, exitCode = 1 }] of Object.entries(mistakes)) {
  test(`a mistake is reported with its position, ${name}: ${reason}`, async (t) => {
    const outcome = await render(t, compose, wish);
    assert.match(outcome.stderr, says);
    assert.deepEqual([outcome.exitCode, outcome.stdout], [exitCode, ""]);
  });
}

test("a step that selects a revision is served by its Function, with a warning, if there are no revisions", async (t) => {
  const selecting = `${composition}    functionRevisionSelector: {matchLabels: {channel: alpha}}\n`;
  const outcome = await render(t, compose, { files: { "composition.yaml": selecting } });
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  assert.equal(
    outcome.stderr,
    'warning: step "t" uses functionRevisionSelector, but FUNCTIONS has no FunctionRevision of Function "fn": running the Function itself\n',
  );
});

test("a source file is run for the render", async (t) => {
  const source = `export default (req, ctx) => {
  const rsp = ctx.to(req);
  rsp.desired ??= { resources: new Map() };
  return rsp;
};
`;
  const functions =
    "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: fn\n  annotations:\n    purlin.dev/source: ./fn.ts\n";
  const outcome = await render(t, compose, { files: { "functions.yaml": functions, "fn.ts": source } });
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  assert.deepEqual(kindsOf(outcome), ["App"]);
  assert.equal(outcome.stderr, "");
});

test("what a source file prints goes to stderr, after the name of its function and without control characters", async (t) => {
  const source = `console.log("loaded");
export default (req, ctx) => {
  console.error("called\\u001b[2J\\nwith", 2);
  process.stdout.write("no line feed");
  return ctx.to(req);
};
`;
  const functions =
    "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: fn\n  annotations:\n    purlin.dev/source: ./fn.ts\n";
  const outcome = await render(t, compose, { files: { "functions.yaml": functions, "fn.ts": source } });
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  assert.deepEqual(kindsOf(outcome), ["App"]);
  // Two streams: their order is not known.
  const lines = outcome.stderr.trimEnd().split("\n").sort();
  assert.deepEqual(lines, ["fn: called\\x1b[2J", "fn: loaded", "fn: no line feed", "fn: with 2"]);
});
