// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { createStyle } from "../terminal/style.ts";
import { createTypesRefresher } from "./refresh-types.ts";

const xrd = (properties: string): string => `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.e.org}
spec:
  group: e.org
  names: {kind: App, plural: apps}
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, ${properties}}}}}}
`;

const before = xrd("properties: {before: {type: string}}");
const after = xrd("properties: {after: {type: string}}");

function refresher(
  folder: TempFolder,
  paths: readonly string[],
): { readonly said: string[]; refresh(): Promise<void> } {
  const io = new TestIo({ cwd: folder.path });
  const said: string[] = [];
  const style = createStyle(io.stdout, io.env);
  return { said, refresh: createTypesRefresher({ paths, io, style, say: (text) => said.push(text) }) };
}

test("types follow the definitions from which they were generated, and nothing is written when nothing changed", async () => {
  using folder = tempFolder({
    "shop/platform/xrd.yaml": before,
    "shop/elsewhere.yaml": before.replaceAll("e.org", "f.org"),
  });
  const cwd = join(folder.path, "shop");
  assert.equal((await runInProcess(["types", "platform"], { cwd })).exitCode, 0);
  const { said, refresh } = refresher(folder, ["shop"]);
  const module = join(cwd, "types/e.org/v1.d.ts");
  utimesSync(module, 1, 1);
  await refresh();
  assert.deepEqual(said, []);
  assert.equal(statSync(module).mtimeMs, 1000);
  folder.write("shop/platform/xrd.yaml", after);
  await refresh();
  assert.deepEqual(said, ["✓ refreshed shop/types/e.org/v1.d.ts, shop/types/manifests.schema.json"]);
  assert.match(readFileSync(module, "utf8"), /after\?: string/);
  assert.ok(!existsSync(join(cwd, "types/f.org")), "only what was asked for");
  await refresh();
  assert.equal(said.length, 1);
});

test("a mistake is reported once, and the types stay until it is corrected", async () => {
  using folder = tempFolder({ "xrd.yaml": before });
  await runInProcess(["types"], { cwd: folder.path });
  const { said, refresh } = refresher(folder, ["."]);
  folder.write("xrd.yaml", xrd("propertes: {}"));
  await refresh();
  await refresh();
  assert.equal(said.length, 1);
  assert.match(
    said[0] ?? "",
    /^! types not refreshed: xrd\.yaml:8:\d+: spec\.\S+\.propertes: unknown schema keyword: did you mean properties\?$/,
  );
  assert.match(readFileSync(join(folder.path, "types/e.org/v1.d.ts"), "utf8"), /before\?: string/);
  folder.write("xrd.yaml", after);
  await refresh();
  assert.match(said[1] ?? "", /^✓ refreshed types\/e\.org\/v1\.d\.ts/);
});

test("definitions that are not valid YAML are reported once, too", async () => {
  using folder = tempFolder({ "xrd.yaml": before });
  await runInProcess(["types"], { cwd: folder.path });
  const { said, refresh } = refresher(folder, []);
  folder.write("xrd.yaml", "a: [\n");
  await refresh();
  await refresh();
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /^! types not refreshed: xrd\.yaml:2:1: invalid YAML/);
});

for (const [name, spoil] of Object.entries({
  NoFolder: (path: string) => rmSync(join(path, "types"), { recursive: true }),
  NoSources: (path: string) => rmSync(join(path, "types/manifests.schema.json")),
  NotGenerated: (path: string) => rmSync(join(path, "types/meta"), { recursive: true }),
})) {
  test(`a project without generated types gets none: ${name}`, async () => {
    using folder = tempFolder({ "xrd.yaml": before });
    await runInProcess(["types"], { cwd: folder.path });
    spoil(folder.path);
    folder.write("xrd.yaml", after);
    const { said, refresh } = refresher(folder, ["."]);
    await refresh();
    assert.deepEqual(said, []);
    assert.ok(!existsSync(join(folder.path, "types/meta")) || name === "NoSources");
  });
}
