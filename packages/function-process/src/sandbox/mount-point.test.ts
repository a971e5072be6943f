// SPDX-License-Identifier: Apache-2.0
// Layers whose links lie where things are mounted: the folders are made inside of the image, wherever the links point.
import assert from "node:assert/strict";
import { lstat, mkdir, mkdtemp, readdir, readlink, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { isOciError, makeMountPoint } from "@purlin/oci";
import { mountPoints } from "./sandbox-arguments.ts";

async function scene(t: TestContext): Promise<{ root: string; outside: string }> {
  // Not below /tmp, which is a mount point too: a link there that names it would lead to itself.
  const directory = await realpath(await mkdtemp("/var/tmp/purlin-mounts-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const [root, outside] = [join(directory, "root"), join(directory, "outside")];
  await mkdir(root);
  await mkdir(outside);
  return { root, outside };
}

/** What a link of a layer may say, and where that is seen from the root of the image. */
const targets: Record<
  string,
  { readonly link: (outside: string) => string; readonly inside: (outside: string) => string }
> = {
  Absolute: { link: (outside) => outside, inside: (outside) => outside },
  AbsoluteBelow: { link: (outside) => `${outside}/made/here`, inside: (outside) => `${outside}/made/here` },
  Climbing: { link: () => "../../../../../../../../../outside", inside: () => "/outside" },
  Sandbox: { link: () => "/oldroot/tmp/made", inside: () => "/oldroot/tmp/made" },
  Root: { link: () => "/", inside: () => "/" },
  Sibling: { link: () => "elsewhere/below", inside: () => "/elsewhere/below" },
  AbsoluteSibling: { link: () => "/elsewhere", inside: () => "/elsewhere" },
};
for (const mount of mountPoints) {
  for (const [name, { link, inside }] of Object.entries(targets)) {
    test(`a link at ${mount}: ${name}`, async (t) => {
      const { root, outside } = await scene(t);
      const [first = "", ...rest] = mount.split("/");
      await symlink(link(outside), join(root, first));
      for (const one of mountPoints) await makeMountPoint(root, one);
      assert.deepEqual(await readdir(outside), []);
      assert.deepEqual((await readdir(dirname(root))).toSorted(), ["outside", "root"]);
      // The kernel, which does not use the image, finds it at the same path.
      assert.equal(await realpath(join(root, mount)), resolve(join(root, inside(outside), ...rest)));
      assert.ok(!(await readlink(join(root, first))).startsWith("/"));
    });
  }
}

test("a chain of links, each out of the image, ends inside", async (t) => {
  const { root, outside } = await scene(t);
  await symlink("/a", join(root, "tls"));
  await symlink("/b/c", join(root, "a"));
  await symlink(outside, join(root, "b"));
  await makeMountPoint(root, "tls/server");
  assert.deepEqual(await readdir(outside), []);
  assert.equal(await realpath(join(root, "tls/server")), join(root, outside, "c/server"));
});

test("links that are already as they should be keep their meaning", async (t) => {
  const { root } = await scene(t);
  await mkdir(join(root, "usr/lib"), { recursive: true });
  await symlink("usr/lib", join(root, "lib"));
  for (const mount of mountPoints) await makeMountPoint(root, mount);
  assert.equal(await readlink(join(root, "lib")), "usr/lib");
  for (const mount of mountPoints) assert.ok((await lstat(await realpath(join(root, mount)))).isDirectory());
});

test("a circle of links, and a file in the way, are refused", async (t) => {
  const { root } = await scene(t);
  await symlink("tmp", join(root, "tmp"));
  await assert.rejects(makeMountPoint(root, "tmp"), (error) => isOciError(error, "UNSAFE_LAYER"));
  await writeFile(join(root, "tls"), "");
  await assert.rejects(makeMountPoint(root, "tls/server"), /the image has a file at "tls", where a folder is needed/);
});
