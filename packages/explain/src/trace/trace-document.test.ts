// SPDX-License-Identifier: Apache-2.0
// Trees of packages with their dependencies, connection Secrets and documents, without a server.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { app, made, memoryClient, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import {
  type TraceNode,
  type TraceOptions,
  traceDocument,
  traceDot,
  traceNames,
  traceTree,
  withoutSecrets,
} from "./trace-tree.ts";

const leaf = (object: KubeObject, error?: unknown): TraceNode => ({
  object,
  children: [],
  ...(error === undefined ? {} : { error }),
});
const trace = (
  root: KubeObject,
  objects: readonly KubeObject[],
  options: Partial<TraceOptions> = {},
): Promise<TraceNode> =>
  traceTree(root, {
    client: memoryClient([root, ...objects], { served: ["FunctionRevision", "ConfigurationRevision"] }),
    ...options,
  });
const titles = ({ object, children }: TraceNode, indent = ""): string[] => [
  `${indent}${object.kind} ${object.metadata.name}`,
  ...children.flatMap((child) => titles(child, `${indent}  `)),
];

describe("dependencies of packages", () => {
  const pkg = (kind: string, name: string): KubeObject =>
    withConditions(made(`pkg.crossplane.io/v1/${kind}`, name), [], { currentRevision: `${name}-1` });
  const revision = (kind: string, name: string, desiredState = "Active"): KubeObject =>
    made(`pkg.crossplane.io/v1/${kind}Revision`, name, {
      metadata: { labels: { "pkg.crossplane.io/package": name.replace(/-\d$/, "") } },
      spec: { desiredState },
    });
  const entry = (name: string, kind: string, ...dependencies: readonly string[]): JsonObject => ({
    name: `${name}-1`,
    source: `r/${name}`,
    kind,
    dependencies: dependencies.map((one) => ({ package: `r/${one}` })),
  });
  const lock = made("pkg.crossplane.io/v1beta1/Lock", "lock", {
    packages: [
      entry("platform", "Configuration", "network", "fn"),
      entry("network", "Configuration", "fn", "absent"),
      entry("fn", "Function"),
    ],
  });
  const root = pkg("Configuration", "platform");
  const installed = [
    lock,
    pkg("Configuration", "network"),
    pkg("Function", "fn"),
    revision("Configuration", "platform-1"),
    revision("Configuration", "platform-0", "Inactive"),
    revision("Configuration", "network-1"),
    revision("Function", "fn-1"),
  ];

  test("each package is shown once, after the active revision", async () => {
    assert.deepEqual(titles(await trace(root, installed)), [
      "Configuration platform",
      "  ConfigurationRevision platform-1",
      "  Function fn",
      "    FunctionRevision fn-1",
      "  Configuration network",
      "    ConfigurationRevision network-1",
    ]);
  });

  test("or each time", async () => {
    assert.deepEqual(titles(await trace(root, installed, { packageDependencies: "all", packageRevisions: "none" })), [
      "Configuration platform",
      "  Function fn",
      "  Configuration network",
      "    Function fn",
    ]);
  });

  test("or not at all, with all revisions", async () => {
    assert.deepEqual(titles(await trace(root, installed, { packageDependencies: "none", packageRevisions: "all" })), [
      "Configuration platform",
      "  ConfigurationRevision platform-1",
      "  ConfigurationRevision platform-0",
    ]);
  });

  test("without a Lock there are none", async () => {
    assert.deepEqual(titles(await trace(root, installed.slice(1), { packageRevisions: "none" })), [
      "Configuration platform",
    ]);
  });

  test("a Lock of Crossplane 1 has type instead of kind", async () => {
    const old = {
      ...lock,
      packages: [entry("platform", "", "fn"), { name: "fn-1", source: "r/fn", type: "Function" }],
    };
    const tree = await trace(root, [old, ...installed.slice(1)], { packageRevisions: "none" });
    assert.deepEqual(titles(tree), ["Configuration platform", "  Function fn"]);
  });
});

describe("composed resources", () => {
  const ref = (kind: string, name: string): JsonObject => ({ apiVersion: "v1", kind, name });

  test("are ordered by type and name; the connection Secret is last, and only if it is wanted", async () => {
    const xr = app("web", {
      crossplane: { resourceRefs: [ref("Secret", "b"), ref("ConfigMap", "z"), ref("Secret", "a")] },
      writeConnectionSecretToRef: { name: "conn" },
    });
    const objects = [made("v1/Secret", "default/a"), made("v1/Secret", "default/conn")];
    const shown = ["App web", "  ConfigMap z", "  Secret a", "  Secret b"];
    assert.deepEqual(titles(await trace(xr, objects)), shown);
    const tree = await trace(xr, objects, { connectionSecrets: true });
    assert.deepEqual(titles(tree), [...shown, "  Secret conn"]);
    assert.deepEqual(
      tree.children.map(({ error }) => error instanceof Error && error.message),
      ['no matches for kind "ConfigMap" in version "v1"', false, 'Secret "b" not found', false],
    );
  });

  test("a connection Secret of a cluster-scoped composite resource has a namespace of its own", async () => {
    const wide = made("example.org/v1/XShop", "x", {
      spec: { writeConnectionSecretToRef: { name: "conn", namespace: "team" } },
    });
    const tree = await trace(wide, [made("v1/Secret", "team/conn")], { connectionSecrets: true });
    assert.equal(tree.children[0]?.object.metadata.uid, "uid-conn");
  });

  test("two that compose each other are shown to 20 levels, then with an error", async () => {
    const nested = (name: string, other: string): KubeObject =>
      app(name, { crossplane: { resourceRefs: [{ apiVersion: "example.org/v1", kind: "App", name: other }] } });
    let node: TraceNode | undefined = await trace(nested("a", "b"), [nested("b", "a")]);
    let depth = 0;
    for (; node.children[0] !== undefined; node = node.children[0]) depth += 1;
    assert.equal(depth, 21);
    assert.equal((node.error as Error).message, "not shown: nested more than 20 levels");
  });

  test("a trace that is stopped throws", async () => {
    const xr = app("web", { crossplane: { resourceRefs: [ref("Secret", "a")] } });
    const reason = new Error("interrupted");
    await assert.rejects(trace(xr, [], { signal: AbortSignal.abort(reason) }), reason);
  });
});

describe("documents", () => {
  const states: Readonly<Record<string, readonly [TraceNode, string]>> = {
    "a missing object": [leaf(app("a"), new Error("gone")), "missing"],
    "an object in deletion": [leaf(app("a", {}, { deletionTimestamp: secondsAgo(1) })), "deleting"],
    "a ready composite resource": [
      leaf(
        withConditions(app("a"), [
          ["Synced", "True"],
          ["Ready", "True"],
        ]),
      ),
      "ready",
    ],
    "a ready one with a condition of its own": [
      leaf(
        withConditions(app("a"), [
          ["Synced", "True"],
          ["Ready", "True"],
          ["Backed", "False"],
        ]),
      ),
      "ready",
    ],
    "a failing one": [leaf(withConditions(app("a"), [["Synced", "False"]])), "failed"],
    "an object without conditions": [leaf(made("v1/ConfigMap", "default/a")), "none"],
  };
  for (const [title, [node, state]] of Object.entries(states)) {
    test(`the state of ${title}`, () => assert.equal(memberAt(traceDocument(node), ["purlin", "state"]), state));
  }

  test("an error that is not from an API server is a status with code 500", () => {
    assert.deepEqual(traceDocument(leaf(app("a"), new Error("connection reset")))["error"], {
      ErrStatus: {
        status: "Failure",
        message: "connection reset",
        reason: "Unknown",
        details: { group: "example.org", kind: "App", name: "a" },
        code: 500,
      },
    });
  });

  test("a kind that is not served is not found", async () => {
    const xr = app("web", { crossplane: { resourceRefs: [{ apiVersion: "v1", kind: "ConfigMap", name: "a" }] } });
    const [child] = traceDocument(await trace(xr, []))["children"] as JsonObject[];
    const status = memberAt(child ?? {}, ["error", "ErrStatus"]) as JsonObject;
    assert.deepEqual([status["code"], status["reason"]], [404, "NotFound"]);
  });

  test("the last run is added where there is one", () => {
    const tree: TraceNode = { object: app("a"), children: [leaf(app("b"))] };
    const document = traceDocument(tree, ({ metadata }) => (metadata.name === "b" ? "run-7" : undefined));
    const [child] = document["children"] as JsonObject[];
    assert.equal(memberAt(document, ["purlin", "lastRun"]), undefined);
    assert.equal(memberAt(child ?? {}, ["purlin", "lastRun"]), "run-7");
  });

  test("names are listed once, with the group unless it is the core one", () => {
    const secret = leaf(made("v1/Secret", "default/s"));
    assert.deepEqual(traceNames([{ object: app("a"), children: [secret, secret] }, secret]), [
      "app.example.org/a",
      "secret/s",
    ]);
  });

  test("a graph has one node for each place, and quotes what needs it", () => {
    const dot = traceDot([
      { object: made("example.org/v1/XShop", 'a"b'), children: [leaf(app("c"), new Error("x"))] },
      leaf(
        withConditions(app("d"), [
          ["Ready", "True"],
          ["Synced", "False"],
        ]),
      ),
    ]);
    assert.equal(
      dot,
      [
        "graph  {",
        '\tn1[label="Name: XShop/a\\"b\\nApiVersion: example.org/v1\\nReady: \\nSynced: \\nError: "];',
        '\tn2[label="Name: App/c\\nApiVersion: example.org/v1\\nNamespace: default\\nReady: \\nSynced: \\nError: x"];',
        "\tn1--n2;",
        '\tn3[label="Name: App/d\\nApiVersion: example.org/v1\\nNamespace: default\\nReady: True\\nSynced: False\\nError: "];',
        "}",
        "",
      ].join("\n"),
    );
  });
});

describe("Secrets", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";

  test("show their keys and no values, also not those of kubectl", () => {
    const secret = made("v1/Secret", "default/s", {
      metadata: { annotations: { [annotation]: '{"data":{"a":"eA=="}}', other: "kept" } },
      type: "Opaque",
      data: { a: "eA==", b: "" },
      stringData: { c: "x" },
    });
    const before = structuredClone(secret);
    const shown = withoutSecrets(secret);
    assert.deepEqual(shown["data"], { a: "***", b: "***" });
    assert.deepEqual(shown["stringData"], { c: "***" });
    assert.deepEqual(shown.metadata.annotations, { [annotation]: "***", other: "kept" });
    assert.equal(shown["type"], "Opaque");
    assert.deepEqual(secret, before);
  });

  test("of other groups, and other kinds, are shown as they are", () => {
    for (const object of [
      made("example.org/v1/Secret", "default/s", { data: { a: "b" } }),
      made("v1/ConfigMap", "a", { data: { a: "b" } }),
    ]) {
      assert.equal(withoutSecrets(object), object);
    }
    assert.deepEqual(withoutSecrets(made("v1/Secret", "default/s")), made("v1/Secret", "default/s"));
  });
});
