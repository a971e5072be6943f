// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { findSourceFile, isInside, parseMounts, type SourceFile, sourceOfMount } from "./source-file.ts";

const folder = tempFolder();
after(() => folder[Symbol.dispose]());
const at = (...parts: string[]): string => join(folder.path, ...parts);
const file = (...parts: string[]): void => {
  mkdirSync(dirname(at(...parts)), { recursive: true });
  writeFileSync(at(...parts), "export default () => ({});\n");
};
const link = (target: string, ...parts: string[]): void => {
  mkdirSync(dirname(at(...parts)), { recursive: true });
  symlinkSync(target, at(...parts));
};

// A project with its data directory inside, another project beside it, and another control plane's data directory below it.
file("project/fn.ts");
file("project/src/deep/fn.ts");
file("project/..fn.ts");
file("project/with space/ünïcode\n.ts");
file("project/.purlin/roots/abc/app/evil.js");
file("project/.purlin/functions/certificates/x.ts");
file("project/.purlin/kubeconfig");
file("project/sub/.state/roots/abc/evil.js");
file("project/sub/.state/kubeconfig");
file("project/sub/roots/fine.ts");
file("project-2/fn.ts");
file("elsewhere/evil.ts");
link("fn.ts", "project/links/same");
link("../fn.ts", "project/links/up.ts");
link("../../elsewhere/evil.ts", "project/links/out.ts");
link(at("elsewhere/evil.ts"), "project/links/absolute.ts");
link("../elsewhere", "project/outside");
link("../.purlin/roots/abc/app/evil.js", "project/links/image.js");
link(".purlin/roots/abc", "project/image");
link("second.ts", "project/links/first.ts");
link("out.ts", "project/links/second.ts");
link("circle.ts", "project/links/circle.ts");
link("nowhere.ts", "project/links/dangling.ts");
link("project", "alias");
link("../project/src", "elsewhere/into");
linkSync(at("project/fn.ts"), at("project/hard.ts"));
spawnSync("mkfifo", [at("project/fifo.ts")]);
const socket = createServer().listen(at("project/socket.ts"));
after(() => socket.close());

const outside = "outside the folders given to purlin up: move the file into one of them, or give a folder above both";
const unpacked = "inside a data directory, where images of packages are unpacked: move the file out of it";
const missing = "file not found";

interface Case {
  readonly path: string;
  readonly folders?: readonly string[];
  readonly except?: readonly string[];
  /** What is found, below the temporary folder. */
  readonly file?: string;
  readonly problem?: string;
}

const cases: Readonly<Record<string, Case>> = {
  "a file of the folder": { path: at("project/fn.ts"), file: "project/fn.ts" },
  "a file of a folder below": { path: at("project/src/deep/fn.ts"), file: "project/src/deep/fn.ts" },
  "a name that begins with two dots": { path: at("project/..fn.ts"), file: "project/..fn.ts" },
  "spaces, letters and newlines": {
    path: at("project/with space/ünïcode\n.ts"),
    file: "project/with space/ünïcode\n.ts",
  },
  "a link to a file of the folder": { path: at("project/links/up.ts"), file: "project/fn.ts" },
  "a hard link of the folder": { path: at("project/hard.ts"), file: "project/hard.ts" },
  "a folder named roots that is not in a data directory": {
    path: at("project/sub/roots/fine.ts"),
    file: "project/sub/roots/fine.ts",
  },
  "dots that stay inside": { path: `${at("project")}/src/../fn.ts`, file: "project/fn.ts" },
  "repeated slashes": { path: `${at("project")}//src///deep//fn.ts`, file: "project/src/deep/fn.ts" },
  "a folder with a slash at its end": {
    path: at("project/fn.ts"),
    folders: [`${at("project")}/`],
    file: "project/fn.ts",
  },
  "a folder with dots": {
    path: at("project/fn.ts"),
    folders: [`${at("elsewhere")}/../project/.`],
    file: "project/fn.ts",
  },
  "a folder that is a link": { path: at("project/fn.ts"), folders: [at("alias")], file: "project/fn.ts" },
  "a path through a link to the folder": { path: at("alias/fn.ts"), file: "project/fn.ts" },
  "a way in from outside": { path: at("elsewhere/into/deep/fn.ts"), file: "project/src/deep/fn.ts" },
  "one of several folders": {
    path: at("elsewhere/evil.ts"),
    folders: [at("project"), at("elsewhere")],
    file: "elsewhere/evil.ts",
  },
  "a folder that is not there, and another": {
    path: at("project/fn.ts"),
    folders: [at("gone"), at("project")],
    file: "project/fn.ts",
  },
  "the root of the file system": { path: at("project/fn.ts"), folders: ["/"], file: "project/fn.ts" },
  "another folder": { path: at("elsewhere/evil.ts"), problem: outside },
  "a folder whose name begins the same": { path: at("project-2/fn.ts"), problem: outside },
  "dots that lead outside": { path: `${at("project")}/../elsewhere/evil.ts`, problem: outside },
  "dots after a link": { path: `${at("project")}/outside/../elsewhere/evil.ts`, problem: outside },
  "a link outside": { path: at("project/links/out.ts"), problem: outside },
  "an absolute link outside": { path: at("project/links/absolute.ts"), problem: outside },
  "a link to a link outside": { path: at("project/links/first.ts"), problem: outside },
  "a linked folder": { path: at("project/outside/evil.ts"), problem: outside },
  "no folders at all": { path: at("project/fn.ts"), folders: [], problem: outside },
  "a folder that is not there": { path: at("project/fn.ts"), folders: [at("gone")], problem: outside },
  "the parent of the folder": { path: at("project/fn.ts"), folders: [at("project/src")], problem: outside },
  "a folder that is the file itself": { path: at("project/fn.ts"), folders: [at("project/fn.ts")], problem: outside },
  "a device": { path: "/dev/null", problem: outside },
  "a device, everywhere": { path: "/dev/null", folders: ["/"], problem: "not a regular file" },
  "another root": { path: `/proc/self/root${at("elsewhere/evil.ts")}`, problem: outside },
  "an image": { path: at("project/.purlin/roots/abc/app/evil.js"), problem: unpacked },
  "a certificate": { path: at("project/.purlin/functions/certificates/x.ts"), problem: unpacked },
  "an image through dots": { path: `${at("project")}/src/../.purlin/roots/abc/app/evil.js`, problem: unpacked },
  "an image through a link": { path: at("project/links/image.js"), problem: unpacked },
  "an image through a linked folder": { path: at("project/image/app/evil.js"), problem: unpacked },
  "an image through another name of the project": {
    path: at("alias/.purlin/roots/abc/app/evil.js"),
    problem: unpacked,
  },
  "an image, everywhere": { path: at("project/.purlin/roots/abc/app/evil.js"), folders: ["/"], problem: unpacked },
  "an image, with the image as a folder": {
    path: at("project/.purlin/roots/abc/app/evil.js"),
    folders: [at("project/.purlin/roots/abc")],
    problem: unpacked,
  },
  "an image, with a data directory that is a link": {
    path: at("project/.purlin/roots/abc/app/evil.js"),
    except: [at("alias/.purlin/")],
    problem: unpacked,
  },
  "an image of another control plane": { path: at("project/sub/.state/roots/abc/evil.js"), problem: unpacked },
  "a project in a data directory": { path: at("project/fn.ts"), except: [at()], problem: unpacked },
  "a missing file": { path: at("project/nope.ts"), problem: missing },
  "a missing folder": { path: at("project/nope/fn.ts"), problem: missing },
  "a file as a folder": { path: at("project/fn.ts/fn.ts"), problem: missing },
  "a file with a slash at its end": { path: `${at("project/fn.ts")}/`, problem: missing },
  "a link to nothing": { path: at("project/links/dangling.ts"), problem: missing },
  "a link to a sibling that is not there": { path: at("project/links/same"), problem: missing },
  "other case": { path: at("project/FN.TS"), problem: missing },
  "other case of the folder": { path: at("PROJECT/fn.ts"), problem: missing },
  "an empty path": { path: "", problem: missing },
  "a circle of links": { path: at("project/links/circle.ts"), problem: "too many symbolic links" },
  "a NUL character": { path: `${at("project/fn.ts")}\0.png`, problem: "the path contains a NUL character" },
  "a NUL character alone": { path: "\0", problem: "the path contains a NUL character" },
  "a very long name": { path: at("project", "x".repeat(5000)), problem: "the path is too long" },
  "a folder": { path: at("project/src"), problem: "not a regular file" },
  "a FIFO": { path: at("project/fifo.ts"), problem: "not a regular file" },
  "a socket": { path: at("project/socket.ts"), problem: "not a regular file" },
};

for (const [name, { path, folders = [at("project")], except = [at("project/.purlin")], ...want }] of Object.entries(
  cases,
)) {
  test(`the source file of a function: ${name}`, async () => {
    const found = await findSourceFile(path, { folders, except });
    const expected: SourceFile = want.file === undefined ? { problem: want.problem ?? "" } : { file: at(want.file) };
    assert.deepEqual(found, expected);
  });
}

test("links of a path are resolved each time", async () => {
  const within = { folders: [at("project")], except: [] };
  link("../fn.ts", "project/links/changing.ts");
  assert.deepEqual(await findSourceFile(at("project/links/changing.ts"), within), { file: at("project/fn.ts") });
  rmSync(at("project/links/changing.ts"));
  link("../../elsewhere/evil.ts", "project/links/changing.ts");
  assert.deepEqual(await findSourceFile(at("project/links/changing.ts"), within), { problem: outside });
  renameSync(at("project-2"), at("project/moved"));
  assert.deepEqual(await findSourceFile(at("project/moved/fn.ts"), within), { file: at("project/moved/fn.ts") });
});

const mountinfo = `22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw - proc proc rw
24 22 8:1 /home/a/project/.purlin/roots/abc /home/a/project/bound rw - ext4 /dev/sda1 rw
25 22 8:2 / /data rw - ext4 /dev/sda2 rw
26 22 8:1 /with\\040space /mnt/a\\040b rw shared:1 - ext4 /dev/sda1 rw
27 25 8:3 / /data rw - ext4 /dev/sda3 rw

not a mount
`;
const mounts: Readonly<Record<string, string>> = {
  "/home/a/project/fn.ts": "/8:1/home/a/project/fn.ts",
  "/home/a/project/bound/app/evil.js": "/8:1/home/a/project/.purlin/roots/abc/app/evil.js",
  "/home/a/project/bound": "/8:1/home/a/project/.purlin/roots/abc",
  "/home/a/project/bound-2/x": "/8:1/home/a/project/bound-2/x",
  "/mnt/a b/x": "/8:1/with space/x",
  "/data/x": "/8:3/x",
  "/proc/self/root": "/0:5/self/root",
  "/": "/8:1",
};

for (const [path, want] of Object.entries(mounts)) {
  test(`where ${path} lies in its file system`, () => {
    assert.equal(sourceOfMount(parseMounts(mountinfo), path).replace(/(?<=.)\/$/, ""), want);
  });
}

test("where mounts are not known, a path is its own place", () => {
  assert.equal(sourceOfMount(parseMounts(""), "/a/b"), "/a/b");
});

const prefixes: readonly (readonly [string, string, boolean])[] = [
  ["/a", "/a/b", true],
  ["/", "/a", true],
  ["/a", "/a/..b", true],
  ["/a", "/a", false],
  ["/a", "/ab", false],
  ["/a", "/", false],
  ["/a/b", "/a", false],
  ["/a", "/b/a", false],
];

for (const [above, path, want] of prefixes) {
  test(`${path} is ${want ? "" : "not "}inside ${above}`, () => assert.equal(isInside(above, path), want));
}
