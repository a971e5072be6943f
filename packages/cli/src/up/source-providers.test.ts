// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { eventually } from "@purlin/kube-controller/testing";
import { TestIo } from "../../test/test-io.ts";
import { type KeptRegistry, startKeptRegistry } from "./kept-registry.ts";
import { openSourceProviders, type SourceProviders } from "./source-providers.ts";

const metadata = (kind: string): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: {name: p}\nspec: {capabilities: [safe-start]}\n`;
/** A program that prints CRDs as those on the kit do. */
const program = (note: string): string => `import { text } from "./text.ts";\nconsole.log(text); // ${note}\n`;
const crds = [
  {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.org" },
    spec: {
      group: "example.org",
      names: { plural: "things", kind: "Thing" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  },
];
const text = `export const text = ${JSON.stringify(JSON.stringify(crds))};\n`;

let folder: TempFolder;
let registry: KeptRegistry;
let providers: SourceProviders;
const saves: string[] = [];

function open(requireSandbox = false): SourceProviders {
  const io = new TestIo({ cwd: folder.path });
  const within = { folders: [join(folder.path, "project")], except: [join(folder.path, "project", "data")] };
  const sources = { cwd: folder.path, within };
  return openSourceProviders({ io, sources, registry, requireSandbox, onSave: (name) => void saves.push(name) });
}

before(async () => {
  folder = tempFolder({
    "project/package/crossplane.yaml": metadata("Provider"),
    "project/src/main.ts": program("one"),
    "project/src/text.ts": text,
    "project/data/src/main.ts": program("in a data directory"),
    "project/function/package/crossplane.yaml": metadata("Function"),
    "project/function/main.ts": program("a function"),
    "elsewhere/package/crossplane.yaml": metadata("Provider"),
    "elsewhere/src/main.ts": program("elsewhere"),
    "elsewhere/src/text.ts": text,
  });
  registry = await startKeptRegistry({ directory: join(folder.path, "plane"), port: 0, warn: () => {} });
  providers = open();
});
after(async () => {
  providers[Symbol.dispose]();
  await registry.close();
  folder[Symbol.dispose]();
});

const at = (path: string): string => join(folder.path, path);
const build = (path: string): Promise<string> => providers.build("p", at(path));

test("a source file builds a package, the same one until it is saved", async () => {
  const first = await build("project/src/main.ts");
  assert.match(first, new RegExp(`^${registry.address}/purlin-source/p@sha256:[0-9a-f]{64}$`));
  assert.equal(await build("project/src/main.ts"), first);
  using again = open();
  assert.equal(await again.build("p", at("project/src/main.ts")), first, "after a restart");
  saves.length = 0;
  writeFileSync(at("project/src/text.ts"), text.replace("Thing", "Thong"));
  await eventually("the save of a file that it imports is noticed", () => saves.includes("p"));
  assert.notEqual(await build("project/src/main.ts"), first);
  writeFileSync(at("project/src/text.ts"), "export const = 1;\n");
  const broken = /text\.ts:1:/;
  await eventually("the mistake is reported", () =>
    build("project/src/main.ts").then(
      () => false,
      (error: Error) => broken.test(error.message),
    ),
  );
  writeFileSync(at("project/src/text.ts"), text);
  await eventually("the first one again", () =>
    build("project/src/main.ts").then(
      (one) => one === first,
      () => false,
    ),
  );
});

test("a source file that does not exist yet is tried again when it is saved, and when the metadata of its package is", async () => {
  await assert.rejects(build("project/later/src/main.ts"), /^UserError: project\/later\/src\/main\.ts: file not found/);
  saves.length = 0;
  mkdirSync(at("project/later/src"), { recursive: true });
  writeFileSync(at("project/later/src/main.ts"), program("later"));
  await eventually("the new file is noticed", () => saves.includes("p"));
  await assert.rejects(build("project/later/src/main.ts"), /text\.ts/, "what it imports is missing");
  saves.length = 0;
  writeFileSync(at("project/later/src/text.ts"), text);
  await eventually("the file that it imports is noticed", () => saves.includes("p"));
  assert.match(await build("project/later/src/main.ts"), /@sha256:/);

  using others = open();
  const outsideProject = at("project-less/main.ts");
  mkdirSync(at("project-less"));
  writeFileSync(outsideProject, program("x"));
  await assert.rejects(others.build("q", outsideProject), /outside the folders given/);
});

const refused: Readonly<Record<string, readonly [path: string, message: RegExp]>> = {
  "outside the folders given": [
    "elsewhere/src/main.ts",
    /^elsewhere\/src\/main\.ts: outside the folders given to purlin up/,
  ],
  "outside the folders given, by dots": ["project/../elsewhere/src/main.ts", /outside the folders given to purlin up/],
  "outside the folders given, by a link": ["project/src/link.ts", /outside the folders given to purlin up/],
  "in a data directory": ["project/data/src/main.ts", /inside a data directory/],
  "that does not exist": ["project/src/none.ts", /^project\/src\/none\.ts: file not found/],
  "that is a folder": ["project/src", /not a regular file/],
  "of a package of another kind": [
    "project/function/main.ts",
    /^project\/function\/package: the package is a Function, not a Provider/,
  ],
};
for (const [what, [path, message]] of Object.entries(refused)) {
  test(`a source file ${what} is not run`, async () => {
    if (path.endsWith("link.ts")) symlinkSync(at("elsewhere/src/main.ts"), at(path));
    await assert.rejects(build(path), { message });
  });
}

test("a source file that is replaced by a link is no longer run", async () => {
  await build("project/src/main.ts");
  saves.length = 0;
  rmSync(at("project/src/main.ts"));
  symlinkSync(at("elsewhere/src/main.ts"), at("project/src/main.ts"));
  await eventually("the save is noticed", () => saves.includes("p"));
  await assert.rejects(build("project/src/main.ts"), /outside the folders given to purlin up/);
});

test("a source file without package/crossplane.yaml in the folders given is not run", async () => {
  rmSync(at("project/package"), { recursive: true });
  writeFileSync(at("project/src/other.ts"), program("other"));
  await assert.rejects(build("project/src/other.ts"), /no package\/crossplane\.yaml beside it or above: create it/);
});

test("with --require-sandbox no source file runs", async () => {
  using strict = open(true);
  await assert.rejects(
    strict.build("p", at("project/src/other.ts")),
    /--require-sandbox refuses to run p: purlin\.dev\/source runs a file without a sandbox/,
  );
});
