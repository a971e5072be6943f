// SPDX-License-Identifier: Apache-2.0
// What needs a registry (installing, type-checking, running, packing) is tested in test/interop/platform-init.test.ts.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { pathWithNode } from "../../test/spawn-purlin.ts";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { parseYaml } from "../files/yaml-file.ts";
import { type PlatformOptions, readPlatformOptions } from "./init-command.ts";

test("a platform is made whole in an empty folder, with types of its kind", async () => {
  using folder = tempFolder();
  const cwd = join(folder.path, "shop");
  mkdirSync(cwd);
  const args = ["init", "--kind", "Database", "--group", "acme.example.org"];
  // Too old for all of it: the project brings its own.
  const env = { PATH: pathWithNode(folder, "v20.0.0") };
  const { exitCode, stdout, stderr } = await runInProcess(args, { cwd, env });
  assert.equal(exitCode, 0, stderr);
  const next = ["npm install", "npm test", "npx purlin up"].map((command) => `  ${command}\n`);
  assert.ok(stdout.startsWith(`Created shop in this folder. Next:\n\n${next.join("")}`), stdout);
  assert.doesNotMatch(stderr, /warning/);
  assert.deepEqual(readdirSync(cwd).sort(), [
    ...[".gitignore", ".npmrc", ".vscode", "README.md", "examples", "function.yaml", "package", "package.json"],
    ...["platform", "purlin.yaml", "src", "tsconfig.json", "types", "vendor"],
  ]);
  assert.match(readFileSync(join(cwd, "types/acme.example.org/v1.d.ts"), "utf8"), /^export type ObservedDatabase = /m);
  const again = await runInProcess(["init", ".", "--name", "other"], { cwd });
  assert.equal(again.exitCode, 1);
  assert.equal(
    again.stderr,
    "error: cannot create .: the folder exists and is not empty: choose another name, or empty it\n",
  );
  // Nothing else to do: what was made is what `purlin types` makes.
  const types = await runInProcess(["types"], { cwd });
  assert.equal(types.stdout, "✓ types: up to date (1 kind from definitions, and the built-in ones)\n");
  for (const file of ["settings.json", "launch.json", "extensions.json"]) {
    JSON.parse(readFileSync(join(cwd, ".vscode", file), "utf8"));
  }
  checkSchemasCoverYaml(cwd);
});

/** Every YAML file of the project has a schema in the editor's settings. */
function checkSchemasCoverYaml(cwd: string): void {
  const { "yaml.schemas": schemas } = JSON.parse(readFileSync(join(cwd, ".vscode/settings.json"), "utf8")) as {
    readonly "yaml.schemas": Readonly<Record<string, readonly string[]>>;
  };
  const globs = Object.values(schemas).flat();
  for (const path of Object.keys(schemas)) readFileSync(join(cwd, path));
  const files = readdirSync(cwd, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));
  assert.deepEqual(files.length, 7);
  for (const file of files) {
    parseYaml(readFileSync(join(cwd, file), "utf8"), file);
    const matching = globs.filter((glob) =>
      new RegExp(`^${glob.replace("**/*", ".*").replace("*", "[^/]*")}$`).test(`/${file}`),
    );
    assert.equal(matching.length, 1, file);
  }
}

test("interrupted half-way, nothing is left", async () => {
  using folder = tempFolder();
  const stop = new AbortController();
  const running = runInProcess(["init", "--name", "shop"], { cwd: folder.path, signal: stop.signal });
  stop.abort(new Error("stopped by SIGINT"));
  assert.equal((await running).exitCode, 130);
  assert.deepEqual(readdirSync(folder.path), []);
});

const read = (cwd: string, args: readonly string[], options: Record<string, string>): PlatformOptions =>
  readPlatformOptions({ args, options }, new TestIo({ cwd }));

test("names are made from the folder and the kind", () => {
  assert.deepEqual(read("/a/shop", [], {}), {
    ...{ folder: ".", name: "shop", function: "function-shop" },
    ...{ kind: "App", singular: "app", plural: "apps", group: "platform.example.org" },
  });
  const plurals = {
    Proxy: "proxies",
    Key: "keys",
    Box: "boxes",
    Bus: "buses",
    Batch: "batches",
    S3Bucket: "s3buckets",
  };
  for (const [kind, plural] of Object.entries(plurals)) assert.equal(read("/a", [], { kind }).plural, plural);
  assert.equal(read("/a", ["deep/my-platform"], {}).name, "my-platform");
});

const refused: Readonly<
  Record<
    string,
    { readonly args?: readonly string[]; readonly options?: Record<string, string>; readonly says: RegExp }
  >
> = {
  FolderName: {
    args: ["My Platform"],
    says: /^the folder's name "My Platform" cannot be the name of a project: add --name NAME: use /,
  },
  Root: { args: ["/"], says: /^the folder's name "" cannot be/ },
  Name: {
    options: { name: "My_Platform" },
    says: /^--name: "My_Platform" cannot be the name of a project: use lower-case /,
  },
  LongName: { options: { name: "a".repeat(55) }, says: /at most 54/ },
  LowerKind: {
    options: { kind: "database" },
    says: /^--kind: "database" cannot be the name of a kind: use letters and digits/,
  },
  DashedKind: { options: { kind: "My-Kind" }, says: /^--kind: / },
  CodeKind: { options: { kind: "A = {}; //" }, says: /^--kind: / },
  LongKind: { options: { kind: `A${"a".repeat(60)}` }, says: /^--kind: .*at most 60/ },
  GroupWithoutDot: {
    options: { group: "acme" },
    says: /^--group: "acme" cannot be the name of an API group: use a domain/,
  },
  GroupIsAPath: { options: { group: "../a.org" }, says: /^--group: / },
  UpperGroup: { options: { group: "Acme.org" }, says: /^--group: / },
  LongGroup: { options: { group: `${"a.".repeat(100)}org` }, says: /^--group: / },
  GroupOfKubernetes: {
    options: { group: "apps.k8s.io" },
    says: /^--group: "apps\.k8s\.io" belongs to Kubernetes or Crossplane/,
  },
  GroupOfCrossplane: { options: { group: "pkg.crossplane.io" }, says: /^--group: "pkg\.crossplane\.io" belongs to/ },
};
for (const [name, { args = ["shop"], options = {}, says }] of Object.entries(refused)) {
  test(`options that cannot be used: ${name}`, () => {
    assert.throws(() => read("/a", args, options), { name: "UserError", exitCode: 2, message: says });
  });
}
