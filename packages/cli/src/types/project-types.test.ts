// SPDX-License-Identifier: Apache-2.0
// The kinds that definitions define, and the folder of generated files: only what was generated is replaced or removed.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Manifest } from "../manifests/manifest.ts";
import { generatedMark } from "./generated-text.ts";
import { DefinitionsError, definesKinds, definitionKinds, findProjectTypes, writeTypes } from "./project-types.ts";

const manifest = (object: JsonObject, file = "a.yaml"): Manifest => ({
  object: object as never,
  file,
  at: (path = []) => `${file}:1:1${path.length === 0 ? "" : `(${path.join(".")})`}`,
});

interface Names {
  readonly group?: string;
  readonly kind?: string;
  readonly claim?: string;
  readonly versions?: readonly JsonObject[];
}

const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
const plural = (kind: string): string => `${kind.toLowerCase()}s`;

function xrd({ group = "example.org", kind = "App", claim, versions }: Names = {}): JsonObject {
  return {
    ...{ apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" },
    metadata: { name: `${plural(kind)}.${group}` },
    spec: {
      ...{ group, names: { kind, plural: plural(kind) } },
      ...(claim !== undefined && { claimNames: { kind: claim, plural: plural(claim) } }),
      versions: [...(versions ?? [{ name: "v1", served: true, referenceable: true, schema }])],
    },
  };
}

function crd({ group = "example.org", kind = "Box", versions }: Names = {}): JsonObject {
  return {
    ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
    metadata: { name: `${plural(kind)}.${group}` },
    spec: {
      ...{ group, scope: "Namespaced", names: { kind, plural: plural(kind) } },
      versions: [...(versions ?? [{ name: "v1", served: true, storage: true, schema }])],
    },
  };
}

const kindsOf = (...objects: readonly JsonObject[]): string[] =>
  definitionKinds(objects.map((one) => manifest(one))).kinds.map(
    ({ group, version, kind }) => `${group}/${version} ${kind}`,
  );
const problemsOf = (...objects: readonly JsonObject[]): readonly string[] =>
  definitionKinds(objects.map((one, index) => manifest(one, `${index}.yaml`))).problems;

describe("the kinds of definitions", () => {
  test("are composite resources, claims and custom resources, in versions that are served", () => {
    assert.deepEqual(kindsOf(crd()), ["example.org/v1 Box"]);
    assert.deepEqual(kindsOf(xrd()), ["example.org/v1 App"]);
    assert.deepEqual(kindsOf(xrd({ claim: "AppClaim" })).toSorted(), ["example.org/v1 App", "example.org/v1 AppClaim"]);
    const versions = [
      { name: "v1", served: true, storage: true, schema },
      { name: "v2", served: true, storage: false, schema },
      { name: "v3", served: false, storage: false, schema },
    ];
    assert.deepEqual(kindsOf(crd({ versions })), ["example.org/v1 Box", "example.org/v2 Box"]);
  });

  test("come from XRDs and CRDs of any version, and from nothing else", () => {
    assert.ok(definesKinds(manifest(xrd())));
    assert.ok(definesKinds(manifest({ ...xrd(), apiVersion: "apiextensions.crossplane.io/v2" })));
    assert.ok(definesKinds(manifest(crd())));
    for (const apiVersion of ["v1", "example.org/v1", "apiextensions.example.org/v1"]) {
      assert.equal(definesKinds(manifest({ ...xrd(), apiVersion })), false);
      assert.equal(definesKinds(manifest({ ...crd(), apiVersion })), false);
    }
    assert.deepEqual(kindsOf({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }), []);
  });

  test("that are defined twice are a problem at the second place", () => {
    assert.deepEqual(problemsOf(crd(), crd({ kind: "Other" }), crd()), [
      "2.yaml:1:1(spec.names.kind): spec.names.kind: example.org/v1 Box is also defined at 0.yaml:1:1(spec.names.kind): remove one of them",
    ]);
    assert.deepEqual(problemsOf(crd(), crd({ group: "other.org" })), []);
  });

  test("with names that no API server accepts are a problem, as names become file names", () => {
    const rows: readonly (readonly [object: JsonObject, says: RegExp])[] = [
      [
        crd({ group: "nodot" }),
        /^0\.yaml:1:1\(spec\.group\): spec\.group: must be a domain with a dot: correct the definition$/,
      ],
      [crd({ group: "../x.org" }), /^0\.yaml:1:1\(spec\.group\): spec\.group: .*: correct the definition$/],
      [crd({ kind: "a/b" }), /^0\.yaml:1:1\(spec\.names\.kind\): spec\.names\.kind: .*: correct the definition$/],
      [
        crd({ versions: [{ name: "../v1", served: true, storage: true, schema }] }),
        /^0\.yaml:1:1\(spec\.versions\): spec\.versions: name "\.\.\/v1": .*: correct the definition$/,
      ],
    ];
    for (const [object, says] of rows) {
      const problems = problemsOf(object);
      assert.equal(problems.length, 1, problems.join("\n"));
      assert.match(problems[0] ?? "", says);
    }
  });

  test("a misspelled keyword of a schema is a problem, and the kind is known", () => {
    const versions = [
      { name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: { type: "object", propertes: {} } } },
    ];
    assert.deepEqual(problemsOf(xrd({ versions })), [
      "0.yaml:1:1(spec.versions.0.schema.openAPIV3Schema.propertes): spec.versions[0].schema.openAPIV3Schema.propertes: unknown schema keyword: did you mean properties?",
    ]);
    assert.deepEqual(kindsOf(xrd({ versions })), ["example.org/v1 App"]);
  });

  test("problems are one error, a line each", () => {
    const error = new DefinitionsError(["a", "b"]);
    assert.deepEqual([error.name, error.message, error.problems], ["DefinitionsError", "a\nb", ["a", "b"]]);
  });
});

describe("the folder of generated files", () => {
  const generated = (text: string): string => `// ${generatedMark}\n${text}\n`;
  const file = (path: string, text: string) => ({ path, text: generated(text) });

  test("gets the files that differ, with their folders", async () => {
    using folder = tempFolder({ "types/v1.d.ts": generated("same") });
    const at = join(folder.path, "types");
    const result = await writeTypes(at, "types", [file("v1.d.ts", "same"), file("e.org/v1.d.ts", "new")]);
    assert.deepEqual(result, { written: ["e.org/v1.d.ts"], removed: [] });
    assert.equal(readFileSync(join(at, "e.org/v1.d.ts"), "utf8"), generated("new"));
    assert.deepEqual(readdirSync(join(at, "e.org")), ["v1.d.ts"], "nothing is left beside it");
    const again = await writeTypes(at, "types", [file("v1.d.ts", "same"), file("e.org/v1.d.ts", "new")]);
    assert.deepEqual(again, { written: [], removed: [] });
  });

  test("loses generated files that are no longer wanted, with folders that are then empty", async () => {
    using folder = tempFolder({
      "old.org/v1.d.ts": generated("old"),
      "mixed.org/v1.d.ts": generated("old"),
      "mixed.org/mine.ts": "mine",
      "old.schema.json": `{"$comment": "${generatedMark}"}`,
      "mine.d.ts": "export {};",
      "notes.txt": generated("not a type"),
    });
    const { removed } = await writeTypes(folder.path, ".", [file("v1.d.ts", "new")]);
    assert.deepEqual(removed, ["mixed.org/v1.d.ts", "old.org/v1.d.ts", "old.schema.json"]);
    assert.equal(existsSync(join(folder.path, "old.org")), false);
    assert.deepEqual(readdirSync(folder.path).toSorted(), ["mine.d.ts", "mixed.org", "notes.txt", "v1.d.ts"]);
  });

  test("keeps its types where only schemas are written", async () => {
    using folder = tempFolder({ "e.org/v1.d.ts": generated("types") });
    const schemas = [{ path: "a.schema.json", text: `{"$comment": "${generatedMark}"}` }];
    assert.deepEqual(await writeTypes(folder.path, ".", schemas), { written: ["a.schema.json"], removed: [] });
    assert.ok(existsSync(join(folder.path, "e.org/v1.d.ts")));
  });

  test("with a file of the user in the way is not touched at all", async () => {
    using folder = tempFolder({ "b.d.ts": "mine", "stale.d.ts": generated("old") });
    await assert.rejects(writeTypes(folder.path, "types", [file("a.d.ts", "new"), file("b.d.ts", "new")]), {
      name: "UserError",
      message: "types/b.d.ts: not generated by purlin types: move it away, or choose another folder with --out",
    });
    assert.deepEqual(readdirSync(folder.path).toSorted(), ["b.d.ts", "stale.d.ts"]);
  });

  test("that cannot be made is an error with its name", async () => {
    using folder = tempFolder({ file: "" });
    await assert.rejects(
      writeTypes(join(folder.path, "file/types"), "file/types", [file("a.d.ts", "x")]),
      /file\/types/,
    );
    mkdirSync(join(folder.path, "taken.d.ts"));
    await assert.rejects(writeTypes(folder.path, ".", [file("taken.d.ts", "x")]), { name: "UserError" });
  });
});

describe("the types of a project", () => {
  const meta = "meta/v1.d.ts";
  const find = async (files: Readonly<Record<string, string>>) => {
    using folder = tempFolder(files);
    const found = await findProjectTypes(join(folder.path, "types"), { cwd: folder.path });
    return found && { ...found, folder: "", sources: found.sources.map((one) => one.replace(folder.path, "")) };
  };

  test("are found with their sources, seen from their folder", async () => {
    const files = {
      [`types/${meta}`]: "",
      "types/manifests.schema.json": '{"x-purlin-sources": ["../platform", "../a.yaml"]}',
    };
    assert.deepEqual(await find(files), { folder: "", shown: "types", sources: ["/platform", "/a.yaml"] });
  });

  test("are missing where a file is, or the sources are not known", async () => {
    const schemaOf = (text: string) => ({ [`types/${meta}`]: "", "types/manifests.schema.json": text });
    for (const text of ["{}", "[]", "{", '{"x-purlin-sources": "a"}', '{"x-purlin-sources": [1]}']) {
      assert.equal(await find(schemaOf(text)), undefined, text);
    }
    assert.equal(await find({ "types/manifests.schema.json": '{"x-purlin-sources": []}' }), undefined);
    assert.equal(await find({}), undefined);
  });
});
