// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { folderRisk } from "./own-folder.ts";

/** The modes of a folder and of the one it lies in. */
const rows: Record<string, { readonly own: number; readonly parent: number; readonly risk?: RegExp }> = {
  Private: { own: 0o700, parent: 0o700 },
  Readable: { own: 0o755, parent: 0o755 },
  "In a folder such as /tmp": { own: 0o700, parent: 0o1777 },
  "Writable by all users": {
    own: 0o777,
    parent: 0o755,
    risk: /own is writable by other users \(mode 0777\), .*chmod go-w/,
  },
  "Writable by others": { own: 0o702, parent: 0o755, risk: /own is writable by other users \(mode 0702\)/ },
  "Sticky and writable by all users": {
    own: 0o1777,
    parent: 0o755,
    risk: /own is writable by other users \(mode 1777\)/,
  },
  "In a folder that all users can write to": {
    own: 0o700,
    parent: 0o777,
    risk: /parent is writable by other users \(mode 0777\), who could replace its contents: run "chmod go-w \S+parent"/,
  },
};

for (const [name, { own, parent, risk }] of Object.entries(rows)) {
  test(`whether other users can change a folder: ${name}`, () => {
    using temp = tempFolder();
    const path = join(temp.path, "parent", "own");
    mkdirSync(path, { recursive: true });
    chmodSync(path, own);
    chmodSync(join(temp.path, "parent"), parent);
    const found = folderRisk(path);
    if (risk === undefined) assert.equal(found, undefined);
    else assert.match(found ?? "", risk);
    const link = join(temp.path, "link");
    symlinkSync(path, link);
    assert.equal(folderRisk(link), found, "by a link of this user's own");
  });
}

test("a link in a folder that other users can write to is as bad as a folder there", () => {
  using temp = tempFolder();
  mkdirSync(join(temp.path, "own"), { mode: 0o700 });
  mkdirSync(join(temp.path, "open"));
  chmodSync(join(temp.path, "open"), 0o777);
  symlinkSync(join(temp.path, "own"), join(temp.path, "open", "link"));
  assert.match(folderRisk(join(temp.path, "open", "link")) ?? "", /open is writable by other users/);
});
