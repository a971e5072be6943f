// SPDX-License-Identifier: Apache-2.0
// The words and variables of an image, as this machine sees them.
import assert from "node:assert/strict";
import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { commandOf, imageCommand, locate, parseEnv, translate } from "./image-command.ts";

const config = (entrypoint: readonly string[], cmd: readonly string[] = []) =>
  ({ entrypoint, cmd, env: [], workingDir: "/" }) as never;

test("the entry point comes before the command, and an image without both runs nothing", () => {
  assert.deepEqual(commandOf(config(["/main"], ["--a"])), ["/main", "--a"]);
  assert.deepEqual(commandOf(config([], ["/main"])), ["/main"]);
  assert.throws(() => commandOf(config([])), {
    message: "the image has no entry point: it is a package that runs nothing; build it with --entrypoint",
  });
});

test("variables are split at their first equals sign, and the last one of a name counts", () => {
  assert.deepEqual(parseEnv(["A=1", "B=x=y", "C=", "D", "A=2"]), { A: "2", B: "x=y", C: "", D: "" });
  assert.deepEqual(parseEnv([]), {});
});

describe("paths of an image", () => {
  test("are below its root, also through links", async () => {
    using folder = tempFolder({ "usr/lib/x": "", "bin/sh": "" });
    symlinkSync("usr/lib", join(folder.path, "lib"));
    symlinkSync("/usr", join(folder.path, "absolute"));
    assert.equal(await locate(folder.path, "/bin/sh"), join(folder.path, "bin/sh"));
    assert.equal(await locate(folder.path, "/lib/x"), join(folder.path, "usr/lib/x"));
    assert.equal(await locate(folder.path, "/absolute/lib/x"), join(folder.path, "usr/lib/x"));
    assert.equal(await locate(folder.path, "/none"), undefined);
  });

  test("never lead out of it", async () => {
    using folder = tempFolder({ "root/a": "", outside: "" });
    const root = join(folder.path, "root");
    symlinkSync("../outside", join(root, "up"));
    assert.notEqual(await locate(root, "/up"), join(folder.path, "outside"));
    assert.notEqual(await locate(root, "/../outside"), join(folder.path, "outside"));
  });

  test("are translated where they are whole words, values of flags, or lists", async () => {
    using folder = tempFolder({ "app/main": "", "lib/x": "" });
    const at = (path: string): string => join(folder.path, path);
    const words: Readonly<Record<string, string>> = {
      "/app/main": at("app/main"),
      "--config=/app/main": `--config=${at("app/main")}`,
      "/app:/lib:/none": `${at("app")}:${at("lib")}:/none`,
      "--path=/app:relative": `--path=${at("app")}:relative`,
      plain: "plain",
      "a=b": "a=b",
      "app/main": "app/main",
      "": "",
    };
    for (const [word, expected] of Object.entries(words))
      assert.equal(await translate(word, folder.path), expected, word);
  });

  test("of mounted folders are those of this machine", async () => {
    using folder = tempFolder({ "tls/server/x": "", "tls/serverless": "" });
    const mounts = { "/tls/server": "/host/tls" };
    assert.equal(await translate("/tls/server", folder.path, mounts), "/host/tls");
    assert.equal(await translate("--dir=/tls/server/ca.crt", folder.path, mounts), "--dir=/host/tls/ca.crt");
    assert.equal(await translate("/tls/serverless", folder.path, mounts), join(folder.path, "tls/serverless"));
  });
});

describe("the program of an image", () => {
  const executable = (root: string, ...files: readonly string[]): void => {
    for (const file of files) chmodSync(join(root, file), 0o755);
  };

  test("is looked for in its path, and must be executable", async () => {
    using folder = tempFolder({ "bin/main": "x", "usr/bin/main": "x" });
    executable(folder.path, "usr/bin/main");
    assert.deepEqual(await imageCommand(folder.path, "main", "/bin:/usr/bin"), [join(folder.path, "usr/bin/main")]);
    await assert.rejects(imageCommand(folder.path, "/bin/main", "/bin"), {
      message: "the image has no /bin/main to start",
    });
    await assert.rejects(imageCommand(folder.path, "other", "/bin"), { message: "the image has no other to start" });
  });

  test("a script runs in the interpreter of the image, also through env", async () => {
    using folder = tempFolder({
      "app/plain": "#!/bin/tool -u\n",
      "app/env": "#!/usr/bin/env tool\n",
      "app/split": "#!/usr/bin/env -S tool -u\n",
      "bin/tool": "x",
    });
    executable(folder.path, "app/plain", "app/env", "app/split", "bin/tool");
    const command = async (name: string): Promise<string[]> =>
      (await imageCommand(folder.path, `/app/${name}`, "/bin")).map((word) => word.replace(folder.path, ""));
    assert.deepEqual(await command("plain"), ["/bin/tool", "-u", "/app/plain"]);
    assert.deepEqual(await command("env"), ["/bin/tool", "/app/env"]);
    assert.deepEqual(await command("split"), ["/bin/tool", "-u", "/app/split"]);
  });

  test("a script of a script is followed four times", async () => {
    using folder = tempFolder({ a: "#!/a\n" });
    executable(folder.path, "a");
    assert.equal((await imageCommand(folder.path, "/a", "/")).length, 5);
  });
});
