// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { leaveOutNode, projectName, writeTemplate } from "./make-project.ts";

const values = {
  ...{ name: "my-project", function: "function-x", sdk: "file:vendor/sdk.tgz", command: "file:vendor/cli.tgz" },
  ...{ kind: "Database", singular: "database", plural: "databases", group: "acme.example.org" },
};
for (const layer of ["function", "platform"] as const) {
  test(`every gap of the template is filled: ${layer}`, async () => {
    using folder = tempFolder();
    await writeTemplate(folder.path, ["common", layer], values);
    const files = readdirSync(folder.path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const ignored = readFileSync(join(folder.path, ".gitignore"), "utf8").split("\n");
    for (const name of ["node_modules/", ".purlin/", "*.xpkg"]) assert.ok(ignored.includes(name), name);
    for (const file of files) assert.doesNotMatch(readFileSync(file, "utf8"), /__[A-Z]+__/, file);
    assert.match(readFileSync(join(folder.path, "README.md"), "utf8"), /^# my-project\n/);
    assert.match(readFileSync(join(folder.path, "package/crossplane.yaml"), "utf8"), /^ {2}name: function-x$/m);
    const manifest = JSON.parse(readFileSync(join(folder.path, "package.json"), "utf8")) as Record<string, unknown>;
    assert.equal(manifest["name"], "my-project");
    assert.deepEqual(manifest["dependencies"], { "@purlin/function-sdk": "file:vendor/sdk.tgz" });
  });
}

test("every gap of the template of a provider is filled, and nothing of a function is in it", async () => {
  using folder = tempFolder();
  await writeTemplate(folder.path, ["common", "provider"], { name: "my-provider", sdk: "file:a", command: "file:b" });
  const files = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { parentPath, name } of files) {
    assert.doesNotMatch(readFileSync(join(parentPath, name), "utf8"), /__[A-Z]+__|function-sdk/, name);
  }
  assert.match(
    readFileSync(join(folder.path, "package/crossplane.yaml"), "utf8"),
    /^kind: Provider\nmetadata:\n {2}name: my-provider$/m,
  );
  assert.match(readFileSync(join(folder.path, "src/main.ts"), "utf8"), /name: "my-provider"/);
});

for (const layer of ["function", "platform", "provider"] as const) {
  test(`a project for a machine where the Node of the template does not start is the same without it: ${layer}`, async () => {
    using folder = tempFolder();
    await writeTemplate(folder.path, ["common", layer], values);
    const manifest = join(folder.path, "package.json");
    const before = readFileSync(manifest, "utf8");
    await leaveOutNode(manifest);
    assert.equal(readFileSync(manifest, "utf8"), before.replace(/ {2}"optionalDependencies": \{[^}]*\},\n/, ""));
    assert.doesNotMatch(readFileSync(manifest, "utf8"), /node-linux/);
  });
}

const names: Record<string, { readonly folder: string; readonly name?: string }> = {
  Plain: { folder: "my-function", name: "my-function" },
  OneLetter: { folder: "f", name: "f" },
  InAFolder: { folder: "functions/my-function-2", name: "my-function-2" },
  UpperCase: { folder: "MyFunction" },
  Underscore: { folder: "my_function" },
  Scoped: { folder: "@me/fn.x" },
  DigitFirst: { folder: "2nd" },
  DashLast: { folder: "fn-" },
  Empty: { folder: "" },
  Dots: { folder: ".." },
  Long: { folder: "a".repeat(64) },
};
for (const [key, { folder, name }] of Object.entries(names)) {
  test(`names: ${key}`, () => {
    if (name !== undefined) assert.equal(projectName(folder), name);
    else
      assert.throws(() => projectName(folder), {
        name: "UserError",
        message: /invalid function name .*: use /,
      });
  });
}
