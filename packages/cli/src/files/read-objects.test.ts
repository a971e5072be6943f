// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import { readObjects } from "./read-objects.ts";

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;

test("a folder is read by file name, with lists opened", async () => {
  using folder = tempFolder({
    "objects/b.yaml": `${configMap("b1")}---\n${configMap("b2")}`,
    "objects/a.json": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}',
    "objects/c.yml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: c}}\n",
    "objects/notes.txt": "not an object",
  });
  const objects = await readObjects("objects", new TestIo({ cwd: folder.path }));
  assert.deepEqual(
    objects.map(({ object, at }) => [(object["metadata"] as { name: string }).name, at(["metadata", "name"])]),
    [
      ["a", "objects/a.json:1:51"],
      ["b1", "objects/b.yaml:4:3"],
      ["b2", "objects/b.yaml:9:3"],
      ["c", "objects/c.yml:4:45"],
    ],
  );
});

test("one file is as good as a folder", async () => {
  using folder = tempFolder({ "one.yaml": configMap("one") });
  assert.equal((await readObjects("one.yaml", new TestIo({ cwd: folder.path }))).length, 1);
});

const bad: Record<string, { readonly files: Record<string, string>; readonly path: string; readonly says: string }> = {
  NoSuchFolder: { files: {}, path: "nope", says: "cannot read nope: no such file: check the path" },
  NothingInside: {
    files: { "empty/readme.md": "" },
    path: "empty",
    says: "empty: no files ending in .yaml, .yml, .json found: check the path",
  },
  NotAnObject: {
    files: { "a.yaml": "\n- 1\n" },
    path: "a.yaml",
    says: "a.yaml:2:1: expected a Kubernetes object with apiVersion and kind",
  },
  NoKind: {
    files: { "a.yaml": "apiVersion: v1\nmetadata: {name: a}\n" },
    path: "a.yaml",
    says: "a.yaml:1:1: kind: required field is missing: add a string",
  },
  KindNotText: {
    files: { "a.yaml": "apiVersion: v1\nkind: 3\nmetadata: {name: a}\n" },
    path: "a.yaml",
    says: "a.yaml:2:1: kind: must be a string, not 3",
  },
  NoName: {
    files: { "a.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  labels: {}\n" },
    path: "a.yaml",
    says: "a.yaml:3:1: metadata.name: required field is missing: add a string",
  },
  NoMetadata: {
    files: { "a.yaml": "apiVersion: v1\nkind: Secret\n" },
    path: "a.yaml",
    says: "a.yaml:1:1: metadata: required field is missing: add an object with a name",
  },
  BadListItem: {
    files: { "a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1}\n- text\n" },
    path: "a.yaml",
    says: "a.yaml:4:3: kind: required field is missing: add a string",
  },
};
for (const [name, { files, path, says }] of Object.entries(bad)) {
  test(`bad objects: ${name}`, async () => {
    using folder = tempFolder(files);
    await assert.rejects(readObjects(path, new TestIo({ cwd: folder.path })), { name: "UserError", message: says });
  });
}
