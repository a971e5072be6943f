// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { printJson } from "@purlin/kube-objects/json";
import { buildImage, fileEntry, openContentStore, writeArchive } from "@purlin/oci";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Inspected } from "./inspect-command.ts";

/** Clears the screen, rings the bell, begins a line, colors what follows, and reverses it. */
const evil = "\u001b[2J\u0007\r\u009b31m\u001b[31m\u001b]0;title\u0007\u202e\u2028\u007f\n";
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

const packageYaml = [
  {
    apiVersion: "meta.pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: `name${evil}` },
    spec: {
      capabilities: [`capability${evil}`],
      crossplane: { version: ">=v1.0.0\u2028" },
      dependsOn: [{ function: `registry.example.org/a/dependency${evil}`, version: ">=v1.0.0\u2028" }],
    },
  },
  {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `object${evil}` },
    spec: {},
  },
]
  .map((object) => printJson(object))
  .join("\n---\n");

let folder: TempFolder;
const inspect = (...args: string[]): Promise<Outcome> =>
  runInProcess(["xpkg", "inspect", "p.xpkg", ...args], { cwd: folder.path });

before(async () => {
  folder = tempFolder();
  const store = await openContentStore(join(folder.path, "store"));
  const parts = {
    platform: { os: `linux${evil}`, architecture: `amd64${evil}` },
    process: { entrypoint: [`entrypoint${evil}`], cmd: [`cmd${evil}`], env: [], workingDir: "/", user: `user${evil}` },
    base: [],
    layers: [[fileEntry("a", "a")]],
    packageYaml,
  };
  const { manifest } = await buildImage(store, parts);
  const labels = { [`io.crossplane.xpkg:${manifest.layers[0]?.digest ?? ""}`]: `mark${evil}` };
  await writeArchive(
    store,
    await buildImage(store, { ...parts, labels }),
    createWriteStream(join(folder.path, "p.xpkg")),
  );
});
after(() => folder[Symbol.dispose]());

test("a hostile package has no effects on a terminal, whatever it says of itself", async () => {
  const { stdout, stderr, exitCode } = await inspect();
  assert.deepEqual([exitCode, stderr], [0, ""]);
  for (const word of ["name", "linux", "amd64", "capability", "dependency", "entrypoint", "cmd", "user", "object"]) {
    assert.match(stdout, new RegExp(`\\b${word}\\\\x1b\\[2J\\\\x07`), word);
  }
  assert.match(stdout, /mark\\x1b/);
  assert.doesNotMatch(stdout, obeyed);
});

for (const format of ["json", "yaml"]) {
  test(`as ${format}, it has the same values without effects on a terminal`, async () => {
    const { stdout, stderr, exitCode } = await inspect("-o", format);
    assert.deepEqual([exitCode, stderr], [0, ""]);
    // YAML has marks of direction as they are; a terminal gets them as escapes.
    assert.doesNotMatch(format === "json" ? stdout : stdout.replaceAll("\u202e", ""), obeyed);
    const found = (format === "json" ? JSON.parse(stdout) : parseYaml(stdout, "x")[0]?.value) as unknown as Inspected;
    assert.equal(found.package.name, `name${evil}`);
    assert.deepEqual(found.package.capabilities, [`capability${evil}`]);
    assert.equal(found.package.crossplane, ">=v1.0.0\u2028");
    assert.deepEqual(found.platforms, [`linux${evil}/amd64${evil}`]);
    assert.deepEqual([found.process.user, found.process.cmd], [`user${evil}`, [`cmd${evil}`]]);
    assert.equal(found.layers[0]?.xpkg, `mark${evil}`);
    assert.equal(found.objects[0]?.name, `object${evil}`);
  });
}
