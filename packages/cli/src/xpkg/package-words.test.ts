// SPDX-License-Identifier: Apache-2.0
// Words of commands for packages: platforms, file names, sizes, counts, and errors of registries with what users can do about them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CommandInput } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { defaultFile, displayName, kindCounts, sizeText } from "./open-package.ts";
import { asUserError, platformOption } from "./xpkg-workspace.ts";

describe("a platform", () => {
  const read = (platform?: string) => platformOption({ args: [], options: { platform } } as CommandInput);

  test("is an operating system, an architecture and perhaps a variant", () => {
    assert.deepEqual(read("linux/amd64"), { os: "linux", architecture: "amd64" });
    assert.deepEqual(read("linux/arm/v7"), { os: "linux", architecture: "arm", variant: "v7" });
    assert.equal(read(), undefined);
  });

  test("of another form is refused", () => {
    for (const text of [
      "",
      "linux",
      "linux/",
      "/amd64",
      "linux/amd64/",
      "linux/arm/v7/x",
      "Linux/amd64",
      "linux amd64",
    ]) {
      assert.throws(() => read(text), {
        exitCode: 2,
        message: `--platform ${text}: expected <os>/<architecture>, such as linux/amd64`,
      });
    }
  });
});

test("the name of a package file identifies its content", () => {
  const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
  assert.equal(defaultFile("my-function", digest), "my-function-0123456789ab.xpkg");
});

test("paths are shown so that a shell reads them again", () => {
  const paths: Readonly<Record<string, string>> = {
    "a/b.xpkg": "a/b.xpkg",
    "./my-function_1.xpkg": "./my-function_1.xpkg",
    "a@b:c+d=e%f": "a@b:c+d=e%f",
    "with space.xpkg": "'with space.xpkg'",
    "it's": "'it'\\''s'",
    $HOME: "'$HOME'",
    ä: "'ä'",
    "": "''",
  };
  for (const [path, shown] of Object.entries(paths)) assert.equal(displayName(path), shown);
});

test("objects are counted by kind, in the order in which kinds come", () => {
  assert.equal(kindCounts([]), "");
  assert.equal(
    kindCounts([{ kind: "Composition" }, { kind: "CompositeResourceDefinition" }, { kind: "Composition" }]),
    "2 Composition, 1 CompositeResourceDefinition",
  );
  assert.equal(kindCounts([{ kind: "constructor" }]), "1 constructor");
});

test("sizes have one decimal from KiB on, and GiB is the largest unit", () => {
  const sizes: readonly (readonly [bytes: number, text: string])[] = [
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1.0 KiB"],
    [1536, "1.5 KiB"],
    [5 * 1024 ** 2, "5.0 MiB"],
    [2.25 * 1024 ** 3, "2.3 GiB"],
    [5000 * 1024 ** 3, "5000.0 GiB"],
  ];
  for (const [bytes, text] of sizes) assert.equal(sizeText(bytes), text);
});

describe("an error of a command for packages", () => {
  test("about a file names the path and the reason", () => {
    const error = Object.assign(new Error("EACCES: permission denied, open 'a.xpkg'"), {
      code: "EACCES",
      path: "a.xpkg",
    });
    const shown = asUserError(error);
    assert.ok(shown instanceof UserError);
    assert.match(shown.message, /^a\.xpkg: /);
    assert.equal(shown.cause, error);
  });

  test("an error of the user is unchanged, and so is an error that the user cannot fix", () => {
    const own = new UserError("mine", { exitCode: 2 });
    assert.equal(asUserError(own), own);
    const bug = new TypeError("x is not a function");
    assert.equal(asUserError(bug), bug);
    const withCode = Object.assign(new Error("no path"), { code: "ECONNRESET" });
    assert.equal(asUserError(withCode), withCode);
    assert.equal(asUserError(undefined), undefined);
  });
});
