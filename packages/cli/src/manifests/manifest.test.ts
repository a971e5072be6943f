// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { StatusError } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { TestIo } from "../../test/test-io.ts";
import { inApplyOrder } from "./apply-manifests.ts";
import { applyProblems } from "./apply-problem.ts";
import { findManifests, type Manifest, prepare, readManifests, skippedLine } from "./manifest.ts";

test("a folder stands for the YAML files in it and below, once each; hidden folders and modules do not count", async () => {
  using folder = tempFolder({
    "b.yaml": "",
    "a/c.yml": "",
    "a/notes.md": "",
    "a/package.json": "{}",
    ".hidden/x.yaml": "",
    "node_modules/m/x.yaml": "",
    "z.yaml": "",
  });
  const io = new TestIo({ cwd: folder.path });
  assert.deepEqual(await findManifests(["."], io), ["a/c.yml", "b.yaml", "z.yaml"]);
  assert.deepEqual(await findManifests(["b.yaml", "."], io), ["b.yaml", "a/c.yml", "z.yaml"]);
  assert.deepEqual(await findManifests(["a/package.json"], io), ["a/package.json"], "a file that is named is meant");
  const except = new Set(["a"]);
  assert.deepEqual(await findManifests(["."], io, { except }), ["b.yaml", "z.yaml"], "what is applied by hand is left");
  assert.deepEqual(await findManifests(["a"], io, { except }), ["a/c.yml"], "a folder that is named is meant");
});

test("package metadata is not applied, unless its file is given", async () => {
  const meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn}\n";
  const object = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
  using folder = tempFolder({ "fn/package/crossplane.yaml": `${meta}---\n${object}` });
  const io = new TestIo({ cwd: folder.path });
  const kindsIn = async (path: string): Promise<string[]> =>
    (await readManifests([path], io)).map(({ object: { kind } }) => kind);
  assert.deepEqual(await kindsIn("."), ["Namespace"]);
  assert.deepEqual(await kindsIn("fn/package/crossplane.yaml"), ["Function", "Namespace"]);
});

test("YAML of other programs in a folder is skipped and named; named itself, or half a manifest, it is an error", async () => {
  const object = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
  using folder = tempFolder({
    "a/docker-compose.yaml": "services: {web: {image: nginx}}\n",
    "a/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
    "a/playbook.yml": "- hosts: all\n",
    "a/empty.yaml": "# nothing\n",
    "a/team.yaml": object,
    "b/half.yaml": "kind: Namespace\nmetadata: {name: x}\n",
    "c/mixed.yaml": `${object}---\nvalues: 1\n`,
  });
  const io = new TestIo({ cwd: folder.path });
  const skipped: string[] = [];
  const onSkipped = (files: readonly string[]): void => void skipped.push(...files);
  const found = await readManifests(["a"], io, { onSkipped });
  assert.deepEqual(
    found.map(({ file }) => file),
    ["a/team.yaml"],
  );
  assert.deepEqual(skipped, ["a/docker-compose.yaml", "a/kustomization.yaml", "a/playbook.yml"]);
  assert.equal(
    skippedLine(["x.yaml", "y.yaml"]),
    "skipped x.yaml, y.yaml: not a Kubernetes manifest (no apiVersion and kind); list such files in .purlinignore",
  );
  for (const path of ["a/docker-compose.yaml", "b", "c"]) {
    await assert.rejects(readManifests([path], io, { onSkipped }), /apiVersion: required field is missing/, path);
  }
});

test(".purlinignore leaves files and folders out, like a .gitignore, from its folder down", async () => {
  using folder = tempFolder({
    ".purlinignore": "# comment\n\ncharts/\n/top.yaml\n*.draft.yaml\n!kept.draft.yaml\n",
    "top.yaml": "",
    "a.yaml": "",
    "b.draft.yaml": "",
    "kept.draft.yaml": "",
    "charts/x.yaml": "",
    "p/charts/x.yaml": "",
    "p/top.yaml": "",
    "p/deep/c.draft.yaml": "",
    "p/deep/d.yaml": "",
    "p/deep/.purlinignore": "d.yaml\n",
    "p/charts.yaml": "",
  });
  const io = new TestIo({ cwd: folder.path });
  assert.deepEqual(await findManifests(["."], io), ["a.yaml", "kept.draft.yaml", "p/charts.yaml", "p/top.yaml"]);
  folder.write("p/deep/e.yaml", "");
  assert.deepEqual(await findManifests(["p/deep"], io), ["p/deep/e.yaml"], "the rules above it count");
  assert.deepEqual(await findManifests(["top.yaml"], io), ["top.yaml"], "a file that is named is meant");
});

const text = `apiVersion: example.org/v1
kind: Thing
metadata:
  name: a
  annotations:
    purlin.dev/source: ../fn.ts
spec:
  input: # nothing
  list:
  - {x: 1, y: null}
`;

test("null members are dropped, and a source is seen from its file", async () => {
  using folder = tempFolder({ "platform/fn.yaml": text });
  const [manifest] = await readManifests(["platform"], new TestIo({ cwd: folder.path }));
  assert.deepEqual(manifest?.object, {
    apiVersion: "example.org/v1",
    kind: "Thing",
    metadata: { name: "a", annotations: { "purlin.dev/source": `${folder.path}/fn.ts` } },
    spec: { list: [{ x: 1 }] },
  });
  assert.equal(manifest?.at(["spec", "list", 0]), "platform/fn.yaml:10:5");
});

test("an absolute source stays, and an object without annotations is as written", () => {
  const metadata = { name: "a", annotations: { "purlin.dev/source": "/x/fn.ts" } };
  assert.deepEqual(prepare({ kind: "F", metadata }, "/y"), { kind: "F", metadata });
  assert.deepEqual(prepare({ kind: "F", metadata: { name: "a" } }, "/y"), { kind: "F", metadata: { name: "a" } });
});

test("what defines is applied before what is defined, and else as written", () => {
  const kinds: readonly (readonly [string, string])[] = [
    ["example.org/v1", "App"],
    ["v1", "Secret"],
    ["apiextensions.crossplane.io/v1", "Composition"],
    ["pkg.crossplane.io/v1", "Function"],
    ["v1", "Pod"],
    ["apiextensions.crossplane.io/v2", "CompositeResourceDefinition"],
    ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
    ["v1", "Namespace"],
    ["pkg.crossplane.io/v1beta1", "ImageConfig"],
  ];
  const manifests = kinds.map(([apiVersion, kind]) => manifestOf({ apiVersion, kind, metadata: { name: "a" } }));
  assert.deepEqual(
    inApplyOrder(manifests).map(({ object }) => object.kind),
    [
      "CustomResourceDefinition",
      "Namespace",
      "CompositeResourceDefinition",
      "Function",
      "ImageConfig",
      "Composition",
      "Secret",
      "App",
      "Pod",
    ],
  );
});

function manifestOf(object: KubeObject): Manifest {
  return { object, file: "f.yaml", at: (path = []) => `f.yaml:${path.join(".") || "top"}` };
}

function refusal(message: string, causes?: readonly { field?: string; message?: string }[]): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    code: 422,
    message,
    ...(causes === undefined ? {} : { details: { causes } }),
  });
}

const refusals: Record<string, { readonly error: Error; readonly expected: readonly string[] }> = {
  Fields: {
    error: refusal("no", [
      { field: "spec.list[1].x", message: "Required value" },
      { field: "metadata.labels", message: "Invalid value" },
    ]),
    expected: [
      "f.yaml:spec.list.1.x: spec.list[1].x: Required value",
      "f.yaml:metadata.labels: metadata.labels: Invalid value",
    ],
  },
  NoField: {
    error: refusal("the server said no", [{ field: "<nil>", message: "x" }, { message: "y" }]),
    expected: ["f.yaml:top: Thing ns/a: the server said no"],
  },
  UnknownFields: {
    error: refusal('strict decoding error: unknown field "spec.a", unknown field "spec.b[0].c"'),
    expected: [
      "f.yaml:spec.a: spec.a: unknown field: check its name and indentation",
      "f.yaml:spec.b.0.c: spec.b[0].c: unknown field: check its name and indentation",
    ],
  },
  UndeclaredFields: {
    error: refusal(
      "failed to create typed patch object (ns/a; example.org/v1, Kind=Thing): .spec.nope: field not declared in schema",
    ),
    expected: ["f.yaml:spec.nope: .spec.nope: unknown field: check its name and indentation"],
  },
  UndeclaredInItem: {
    error: refusal(
      'failed to create typed patch object (…): .spec.steps[step="b"].inptu: field not declared in schema',
    ),
    expected: ['f.yaml:spec.steps.1.inptu: .spec.steps[step="b"].inptu: unknown field: check its name and indentation'],
  },
  DuplicateItems: {
    error: refusal('failed to create typed patch object (…): .spec.steps: duplicate entries for key [step="a"]'),
    expected: [
      'f.yaml:spec.steps.2.step: spec.steps[2].step: duplicate value "a", also used by spec.steps[0]: make it unique',
    ],
  },
  ItemWithoutKey: {
    error: refusal(
      'failed to create typed patch object (…): .spec.steps: element 3: associative list with keys has an element that omits all key fields ["step"] (and doesn\'t have default values for any key fields)',
    ),
    expected: ["f.yaml:spec.steps.3.step: spec.steps[3].step: required field is missing: give it a unique value"],
  },
  ItemWithoutItsOnlyKey: {
    error: refusal(
      'failed to create typed patch object (…): .spec.steps: element 3: associative list with keys has an element that omits key field "step" (and doesn\'t have default value)',
    ),
    expected: ["f.yaml:spec.steps.3.step: spec.steps[3].step: required field is missing: give it a unique value"],
  },
  Other: { error: new Error("unreachable"), expected: ["f.yaml:top: Thing ns/a: unreachable"] },
};
for (const [name, { error, expected }] of Object.entries(refusals)) {
  test(`rejected objects are reported with their position: ${name}`, () => {
    const spec = { steps: [{ step: "a" }, { step: "b" }, { step: "a" }, {}] };
    const metadata = { name: "a", namespace: "ns" };
    const manifest = manifestOf({ apiVersion: "e/v1", kind: "Thing", metadata, spec });
    assert.deepEqual(applyProblems(manifest, error), expected);
  });
}
