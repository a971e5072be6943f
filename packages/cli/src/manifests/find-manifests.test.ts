// SPDX-License-Identifier: Apache-2.0
// Which files of folders are manifests: names, hidden folders, tests, and what a .purlinignore lists, as a .gitignore would.
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import { findManifests, isTestFile, listed, readManifests, skippedLine } from "./manifest.ts";

type Files = Readonly<Record<string, string>>;
const empty = (...names: readonly string[]): Files => Object.fromEntries(names.map((name) => [name, ""]));

/** The manifests of paths in a folder with files. */
async function found(files: Files, paths: readonly string[] = ["."], options = {}): Promise<string[]> {
  using folder = tempFolder(files);
  return await findManifests(paths, new TestIo({ cwd: folder.path }), options);
}

describe("the manifests of a folder", () => {
  test("are its YAML files and those below, by name, as the user would write them", async () => {
    const files = empty(
      "b.yaml",
      "a.yml",
      "sub/c.yaml",
      "sub/deep/d.yml",
      "notes.txt",
      "e.YAML",
      "f.yaml.bak",
      "g.json",
    );
    assert.deepEqual(await found(files), ["a.yml", "b.yaml", "sub/c.yaml", "sub/deep/d.yml"]);
    assert.deepEqual(await found(files, ["sub"]), ["sub/c.yaml", "sub/deep/d.yml"]);
    assert.deepEqual(await found(files, ["./sub/"]), ["sub/c.yaml", "sub/deep/d.yml"]);
  });

  test("are not in hidden folders and node_modules, nor settings, nor tests unless they are wanted", async () => {
    const files = empty(
      ...["a.yaml", ".hidden/b.yaml", ".hidden.yaml", "node_modules/c.yaml", "sub/node_modules/d.yaml", "purlin.yaml"],
      ...["a.test.yaml", "xprin.yaml", "b_xprin.yml", "sub/purlin.yaml"],
    );
    assert.deepEqual(await found(files), [".hidden.yaml", "a.yaml"]);
    assert.deepEqual(await found(files, ["."], { tests: true }), [
      ...[".hidden.yaml", "a.test.yaml", "a.yaml", "b_xprin.yml", "xprin.yaml"],
    ]);
    assert.deepEqual(await found(files, [".hidden", "purlin.yaml", "a.test.yaml"]), [
      ...[".hidden/b.yaml", "purlin.yaml", "a.test.yaml"],
    ]);
  });

  test("are not golden files, which are beside tests", async () => {
    const files = empty(
      ...["tests/a.test.yaml", "tests/golden/b.yaml", "tests/goldens/deep/c.yaml", "tests/inputs/d.yaml"],
      ...["golden/e.yaml", "xprin/xprin.yaml", "xprin/golden/f.yaml"],
    );
    assert.deepEqual(await found(files), ["golden/e.yaml", "tests/inputs/d.yaml"]);
    assert.deepEqual(await found(files, ["tests/golden"]), ["tests/golden/b.yaml"], "unless they are named");
  });

  test("leave out folders that are named", async () => {
    const files = empty("a.yaml", "examples/b.yaml", "sub/examples/c.yaml", "examples.yaml");
    assert.deepEqual(await found(files, ["."], { except: new Set(["examples"]) }), ["a.yaml", "examples.yaml"]);
    assert.deepEqual(await found(files, ["examples"], { except: new Set(["examples"]) }), ["examples/b.yaml"]);
  });

  test("count once, also when a file is named beside its folder", async () => {
    const files = empty("a.yaml", "sub/b.yaml");
    assert.deepEqual(await found(files, ["sub/b.yaml", ".", "./a.yaml", "sub"]), ["sub/b.yaml", "./a.yaml"]);
  });

  test("may be standard input where that is read", async () => {
    assert.deepEqual(await found({}, ["-"], { stdin: true }), ["-"]);
    await assert.rejects(found({}, ["-"]), { message: /^cannot read -: no such file/ });
  });

  test("that are missing are a mistake", async () => {
    await assert.rejects(found(empty("a.txt")), {
      name: "UserError",
      message: ".: no files ending in .yaml or .yml found: check the path",
    });
    await assert.rejects(found({}, ["gone"]), { message: /^cannot read gone: no such file/ });
  });

  test("are not the lock files of editors, and other broken links are named", async () => {
    using folder = tempFolder(empty("in/a.yaml", "in/sub/b.yaml"));
    const io = new TestIo({ cwd: folder.path });
    for (const name of ["in/.#a.yaml", "in/sub/.#b.yaml"]) symlinkSync("user@host.4711", join(folder.path, name));
    assert.deepEqual(await findManifests(["in"], io), ["in/a.yaml", "in/sub/b.yaml"]);
    assert.deepEqual(await readManifests(["in/sub"], io), []);
    symlinkSync("gone.yaml", join(folder.path, "in/sub/link.yaml"));
    await assert.rejects(readManifests(["in"], io), { message: /in\/sub\/link\.yaml: no such file/ });
  });

  test("may be links within the folder, and not out of it", async () => {
    using folder = tempFolder(empty("in/a.yaml", "in/real/b.yaml", "outside.yaml"));
    const io = new TestIo({ cwd: folder.path });
    symlinkSync("real/b.yaml", join(folder.path, "in/link.yaml"));
    assert.deepEqual(await findManifests(["in"], io), ["in/a.yaml", "in/link.yaml", "in/real/b.yaml"]);
    symlinkSync("../outside.yaml", join(folder.path, "in/out.yaml"));
    await assert.rejects(findManifests(["in"], io), { name: "UserError", message: /in\/out\.yaml/ });
  });
});

describe(".purlinignore", () => {
  const names = ["a.yaml", "b.yaml", "sub/a.yaml", "sub/c.yaml", "sub/deep/a.yaml", "charts/values.yaml"];
  const kept = async (rules: string, more: Files = {}, paths = ["."]): Promise<string> =>
    (await found({ ...empty(...names), ".purlinignore": rules, ...more }, paths)).join(" ");
  const all = names.toSorted().join(" ");

  const rows: Readonly<Record<string, readonly [rules: string, kept: string]>> = {
    "nothing, comments and empty lines": ["# comment\n\n   \n", all],
    "a name matches at any depth": ["a.yaml\n", "b.yaml charts/values.yaml sub/c.yaml"],
    "a slash in front is this folder": ["/a.yaml\n", "b.yaml charts/values.yaml sub/a.yaml sub/c.yaml sub/deep/a.yaml"],
    "a slash within is seen from this folder": [
      "sub/a.yaml\n",
      "a.yaml b.yaml charts/values.yaml sub/c.yaml sub/deep/a.yaml",
    ],
    "a folder takes all that is in it": ["sub/\n", "a.yaml b.yaml charts/values.yaml"],
    "a slash at the end is for folders only": ["a.yaml/\n", all],
    "a star stays within a name": ["sub/*.yaml\n", "a.yaml b.yaml charts/values.yaml sub/deep/a.yaml"],
    "two stars go through folders": ["sub/**/a.yaml\n", "a.yaml b.yaml charts/values.yaml sub/c.yaml"],
    "the last rule decides": ["*.yaml\n!b.yaml\n", "b.yaml"],
    "what is in a folder that is left out cannot come back": ["sub\n!sub/c.yaml\n", "a.yaml b.yaml charts/values.yaml"],
    "braces stand for each of what they list": ["/{a,b}.yaml\n{sub/deep,charts}/\n", "sub/a.yaml sub/c.yaml"],
    "several slashes are one": ["//a.yaml\nsub//c.yaml\ncharts//\n", "b.yaml sub/a.yaml sub/deep/a.yaml"],
    "spaces around and Windows line ends do not count": ["  a.yaml  \r\nb.yaml\r\n", "charts/values.yaml sub/c.yaml"],
  };
  for (const [name, [rules, expected]] of Object.entries(rows)) {
    test(name, async () => assert.equal(await kept(rules), expected));
  }

  test("of a folder adds to those above, and counts for what is below it", async () => {
    const more = { "sub/.purlinignore": "c.yaml\n!a.yaml\n" };
    assert.equal(await kept("a.yaml\n", more), "b.yaml charts/values.yaml sub/a.yaml sub/deep/a.yaml");
  });

  test("of the working directory counts for a folder that is named, but not for a file", async () => {
    assert.equal(await kept("deep\nc.yaml\n", {}, ["sub"]), "sub/a.yaml");
    assert.equal(await kept("c.yaml\n", {}, ["sub/c.yaml"]), "sub/c.yaml");
  });
});

describe("a hostile .purlinignore", () => {
  test("with stars that match in many ways takes no longer than any other", async () => {
    const [stars, names] = ["*a".repeat(120), [`${"a".repeat(240)}.yaml`, `${"a".repeat(239)}b.yaml`]];
    const rules = Array.from({ length: 50 }, (_, at) => `${stars}${at}\n**/**/${stars}${at}\n`).join("");
    const started = process.cpuUsage();
    assert.deepEqual(await found({ ...empty(...names), ".purlinignore": rules }), names);
    const { user } = process.cpuUsage(started);
    assert.ok(user < 2_000_000, `${user / 1000} ms of CPU time`);
  });

  test("with a megabyte of patterns is read in parts", async () => {
    const rules = `${"[a]*?".repeat(800)}\n`.repeat(250);
    let turns = 0;
    const count = setInterval(() => turns++, 0);
    assert.deepEqual(await found({ "a.yaml": "", ".purlinignore": rules }), ["a.yaml"]);
    clearInterval(count);
    assert.ok(turns >= 4, `${turns} turns of the event loop`);
  });

  const refused: Readonly<Record<string, readonly [text: string, says: RegExp]>> = {
    "has too many patterns": ["#\n".repeat(9) + "a\n".repeat(10_001), /\.purlinignore:10010: more than 10000 patterns/],
    "has a pattern longer than any path": [`a\n${"a".repeat(4097)}`, /\.purlinignore:2: a pattern has at most 4096/],
    "has a group of a shell": ["a\n+(a|b).yaml", /\.purlinignore:2: \+\(…\) is not supported: write \{a,b\}/],
    "has a group behind its negation": ["!@(a)", /\.purlinignore:1: @\(…\) is not supported/],
    "leaves out all but one file": ["!(keep).yaml", /\.purlinignore:1: !\(…\) is not supported: list what to match/],
    "has braces for very much": [
      `${`{${",".repeat(99)}}${"a".repeat(600)}\n`.repeat(18)}`,
      /\.purlinignore:18: braces stand for more than 1048576 characters: use \* instead/,
    ],
    "has braces for too many patterns": [
      `{${",".repeat(100)}}`,
      /\.purlinignore:1: its braces stand for more than 100/,
    ],
    "is too large": ["#".repeat(1024 * 1024 + 1), /cannot read .*\.purlinignore: it has 1\.1 MiB; the limit is 1 MiB/],
  };
  for (const [why, [text, says]] of Object.entries(refused)) {
    test(`is refused when it ${why}`, async () => {
      await assert.rejects(found({ "a.yaml": "", ".purlinignore": text }), { message: says });
    });
  }
});

describe("files that are read", () => {
  const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
  const files = {
    "a.yaml": configMap,
    "values.yaml": "replicas: 1\n",
    "sub/crossplane.yaml": configMap.replace("v1", "meta.pkg.crossplane.io/v1"),
  };

  test("are announced one by one, and those that are not manifests are reported once", async () => {
    using folder = tempFolder(files);
    const [seen, skipped]: [string[], string[][]] = [[], []];
    const manifests = await readManifests(["."], new TestIo({ cwd: folder.path }), {
      onFile: async (file) => void seen.push(file),
      onSkipped: (names) => void skipped.push([...names]),
    });
    assert.deepEqual(
      manifests.map(({ file, object }) => [file, object.kind]),
      [["a.yaml", "ConfigMap"]],
    );
    assert.deepEqual([seen, skipped], [["a.yaml", "sub/crossplane.yaml", "values.yaml"], [["values.yaml"]]]);
  });

  test("that are named must be manifests, and may be metadata of packages", async () => {
    using folder = tempFolder(files);
    const io = new TestIo({ cwd: folder.path });
    await assert.rejects(readManifests(["values.yaml"], io), { message: /^values\.yaml:1:1: / });
    const [meta] = await readManifests(["sub/crossplane.yaml"], io);
    assert.equal(meta?.object.apiVersion, "meta.pkg.crossplane.io/v1");
  });

  test("are listed up to eight of them", () => {
    const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `f${n}`);
    assert.equal(listed([]), "");
    assert.equal(listed(names(8)), "f0, f1, f2, f3, f4, f5, f6, f7");
    assert.equal(listed(names(9)), "f0, f1, f2, f3, f4, f5, f6, f7 and 1 more");
    assert.equal(
      skippedLine(["a\u001b[2J.yaml"]),
      "skipped a\\x1b[2J.yaml: not a Kubernetes manifest (no apiVersion and kind); list such files in .purlinignore",
    );
  });

  test("are tests by their names", () => {
    for (const name of ["a.test.yaml", "dir/a.test.yml", "xprin.yaml", "a_xprin.yml"])
      assert.ok(isTestFile(name), name);
    for (const name of ["test.yaml", "atest.yaml", "a.test.json", "axprin.yaml", "a.test.yaml/b.yaml"]) {
      assert.equal(isTestFile(name), false, name);
    }
  });
});
