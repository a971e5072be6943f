// SPDX-License-Identifier: Apache-2.0
// Node runs compiled code as it finds it. Another user wants to put some where the purlin of this user looks.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type OtherUser, otherUid, otherUser, plainUid, sharedFolder } from "./harness/other-user.ts";

const launcher = join(import.meta.dirname, "../../../packages/cli/bin/purlin.js");
let plain: OtherUser;
before(async () => {
  plain = await otherUser(plainUid);
});
after(() => plain[Symbol.asyncDispose]());

/** The environment that purlin is started with, and whether it keeps compiled code there. */
interface Trap {
  readonly kept: boolean;
  readonly lay: (folder: string) => Readonly<Record<string, string>>;
}

const folderOf = (path: string, uid: number, mode = 0o755): string => {
  mkdirSync(path, { recursive: true });
  chownSync(path, uid, uid);
  chmodSync(path, mode);
  return path;
};

const traps: Record<string, Trap> = {
  "a cache of one's own": { kept: true, lay: (at) => ({ XDG_CACHE_HOME: folderOf(join(at, "c"), plainUid) }) },
  "a home of one's own": { kept: true, lay: (at) => ({ HOME: folderOf(join(at, "h"), plainUid) }) },
  "a folder of one's own that others can read": {
    kept: true,
    lay: (at) => {
      const caches = folderOf(join(at, "c"), plainUid);
      folderOf(join(caches, "purlin"), plainUid);
      folderOf(join(caches, "purlin", "compiled"), plainUid, 0o755);
      return { XDG_CACHE_HOME: caches };
    },
  },
  "no home": { kept: false, lay: () => ({}) },
  "a relative path": { kept: false, lay: () => ({ XDG_CACHE_HOME: "cache" }) },
  "a home that does not exist": { kept: false, lay: () => ({ HOME: "/nonexistent/home" }) },
  "a home of another user": { kept: false, lay: (at) => ({ HOME: folderOf(join(at, "h"), otherUid) }) },
  "a cache that another user can write to": {
    kept: false,
    lay: (at) => ({ XDG_CACHE_HOME: folderOf(join(at, "c"), plainUid, 0o777) }),
  },
  "a folder of another user in a shared one": {
    kept: false,
    lay: (at) => {
      const shared = folderOf(join(at, "c"), 0, 0o1777);
      folderOf(join(shared, "purlin"), otherUid, 0o777);
      return { XDG_CACHE_HOME: shared };
    },
  },
  "the inner folder of another user": {
    kept: false,
    lay: (at) => {
      const caches = folderOf(join(at, "c"), plainUid);
      folderOf(join(caches, "purlin"), plainUid);
      folderOf(join(caches, "purlin", "compiled"), otherUid, 0o777);
      return { XDG_CACHE_HOME: caches };
    },
  },
  "an inner folder that others can write to": {
    kept: false,
    lay: (at) => {
      const caches = folderOf(join(at, "c"), plainUid);
      folderOf(join(caches, "purlin"), plainUid);
      folderOf(join(caches, "purlin", "compiled"), plainUid, 0o777);
      return { XDG_CACHE_HOME: caches };
    },
  },
  "a link in place of the folder": {
    kept: false,
    lay: (at) => {
      const caches = folderOf(join(at, "c"), plainUid);
      symlinkSync(folderOf(join(at, "evil"), otherUid, 0o777), join(caches, "purlin"));
      return { XDG_CACHE_HOME: caches };
    },
  },
  "a link in place of the inner folder": {
    kept: false,
    lay: (at) => {
      const caches = folderOf(join(at, "c"), plainUid);
      folderOf(join(caches, "purlin"), plainUid);
      symlinkSync(folderOf(join(at, "own"), plainUid, 0o700), join(caches, "purlin", "compiled"));
      return { XDG_CACHE_HOME: caches };
    },
  },
  "a file in place of the folder": {
    kept: false,
    lay: (at) => {
      const caches = folderOf(join(at, "c"), plainUid);
      writeFileSync(join(caches, "purlin"), "");
      return { XDG_CACHE_HOME: caches };
    },
  },
};

for (const [name, { kept, lay }] of Object.entries(traps)) {
  test(`compiled code is ${kept ? "" : "not "}kept in ${name}`, async () => {
    using folder = sharedFolder();
    const env = lay(folder.path);
    const { value } = (await plain.attempt({ kind: "compiledCodeFolder", env })) as { value: string };
    assert.equal(value !== "", kept, value);
    if (kept) assert.equal(statSync(value).mode & 0o777, 0o700);
  });
}

test("the command keeps nothing in the folder for temporary files, and runs nothing from there", () => {
  using folder = sharedFolder(0o1777);
  const planted = folderOf(join(folder.path, "node-compile-cache"), otherUid, 0o777);
  const run = (env: Readonly<Record<string, string>>): string =>
    execFileSync(process.execPath, [launcher, "--help"], { encoding: "utf8", env: { ...env, TMPDIR: folder.path } });
  assert.match(run({}), /Usage/i);
  const caches = join(folder.path, "own");
  mkdirSync(caches, { mode: 0o700 });
  assert.match(run({ XDG_CACHE_HOME: caches }), /Usage/i);
  assert.deepEqual(readdirSync(planted), []);
  assert.ok(existsSync(join(caches, "purlin", "compiled")));
});
