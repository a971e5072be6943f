// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

// Lowest layer first. A package may import only from layers below its own (docs/architecture.md).
const layers: readonly (readonly string[])[] = [
  ["base"],
  ["certificates", "function-protocol", "kube-objects"],
  ["cel"],
  ["function-sdk", "kube-client", "kube-apiserver", "run-store"],
  ["kube-builtin"],
  ["function-runner", "kube-controller", "oci"],
  ["function-process"],
  ["composition", "package-manager", "workload-simulator", "provider-sdk", "console"],
  ["operations", "rollout"],
  ["control-plane"],
  ["preview", "explain"],
  ["cli", "testkit"],
];

const scope = "@purlin/";
const layerOf = new Map(layers.flatMap((names, level) => names.map((name) => [name, level] as const)));
const packages = readdirSync("packages").filter((name) => existsSync(`packages/${name}/package.json`));

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
}

function importsOf(name: string): { readonly file: string; readonly target: string }[] {
  const sources = globSync(`packages/${name}/{src,test}/**/*.ts`).filter((file) => !file.endsWith(".test.ts"));
  return sources.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"@purlin\/([a-z-]+)/g)].map((match) => ({
      file,
      target: match[1] ?? "",
    })),
  );
}

test("every package has a layer", () => {
  assert.deepEqual(
    packages.filter((name) => !layerOf.has(name)),
    [],
    "add the package to the layers above and to docs/architecture.md",
  );
});

for (const page of ["README.md", "docs/architecture.md"]) {
  test(`${page} lists every package`, () => {
    const text = readFileSync(page, "utf8");
    assert.deepEqual(
      packages.filter((name) => !text.includes(`packages/${name})`)),
      [],
      `add the package to the table of ${page}`,
    );
  });
}

for (const name of packages) {
  const level = layerOf.get(name) ?? -1;
  const isUpward = (target: string): boolean => (layerOf.get(target) ?? Number.POSITIVE_INFINITY) >= level;

  test(`${name} imports only from lower layers`, () => {
    // A package may show its own name in an example.
    const upward = importsOf(name).filter(({ target }) => target !== name && isUpward(target));
    assert.deepEqual(upward, []);
  });

  test(`${name} declares only dependencies on lower layers`, () => {
    const manifest = JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8")) as Manifest;
    const declared = Object.keys(manifest.dependencies ?? {}).filter((key) => key.startsWith(scope));
    assert.deepEqual(
      declared.filter((key) => isUpward(key.slice(scope.length))),
      [],
    );
  });

  test(`${name} has a README that says where to start, what it must not import, and how to test it`, () => {
    const path = `packages/${name}/README.md`;
    assert.ok(existsSync(path), `${path} is missing: copy the form of another package's`);
    const text = readFileSync(path, "utf8").replaceAll(/\s+/g, " ");
    assert.ok(text.startsWith(`# ${scope}${name} `), `${path}: the title is the name of the package`);
    assert.match(text, /[Ss]tart reading in \[?`src\//, `${path}: names the file to start in`);
    const named = [...text.matchAll(/`(src\/[^`]*)`/g)].map(([, file = ""]) => `packages/${name}/${file}`);
    assert.deepEqual(
      named.filter((file) => !existsSync(file)),
      [],
      `${path}: names files that do not exist`,
    );
    const [, forbidden = ""] = /Must not import: (.*?)\./.exec(text) ?? [];
    assert.notEqual(forbidden, "", `${path}: says what the package must not import`);
    const targets = [...forbidden.matchAll(/`([a-z-]+)`/g)].map(([, target = ""]) => target);
    assert.deepEqual(
      targets.filter((target) => !isUpward(target)),
      [],
      `${path}: forbids packages that it may import`,
    );
    assert.ok(text.includes(`npm test -- packages/${name}/`), `${path}: says how to run the tests`);
  });
}
