// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { isOciError } from "../content/oci-error.ts";
import { pathInside } from "./unpack-layer.ts";

/** A root with links in it, by name; a target of `/` is a folder. */
function rootWith(links: Readonly<Record<string, string>>): { root: string } & Disposable {
  const root = mkdtempSync(join(tmpdir(), "purlin-path-"));
  for (const [name, target] of Object.entries(links)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    if (target === "/") mkdirSync(join(root, name), { recursive: true });
    else symlinkSync(target, join(root, name));
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}

const rows: { why: string; links?: Record<string, string>; path: string; inside: string }[] = [
  { why: "a plain path", path: "a/b", inside: "a/b" },
  { why: "an absolute one is below the root", path: "/etc/passwd", inside: "etc/passwd" },
  { why: "dots and slashes are nothing", path: ".//a/./b/", inside: "a/b" },
  { why: "the root itself", path: "./", inside: "" },
  { why: "a link is followed", links: { bin: "usr/bin" }, path: "bin/sh", inside: "usr/bin/sh" },
  { why: "the last part is not", links: { sh: "dash" }, path: "sh", inside: "sh" },
  { why: "an absolute link starts at the root", links: { "a/b": "/usr" }, path: "a/b/c", inside: "usr/c" },
  {
    why: "a link that climbs stops at the root",
    links: { up: "../../../../etc" },
    path: "up/passwd",
    inside: "etc/passwd",
  },
  { why: "a link to its own folder", links: { "a/here": "." }, path: "a/here/here/b", inside: "a/b" },
  { why: "a link to the folder above", links: { "a/b/up": ".." }, path: "a/b/up/c", inside: "a/c" },
  {
    why: "links of links",
    links: { one: "two", two: "three", three: "/", "three/x": "/" },
    path: "one/x/y",
    inside: "three/x/y",
  },
  { why: "a link into nothing", links: { a: "nowhere/at/all" }, path: "a/b", inside: "nowhere/at/all/b" },
  { why: "climbing out by a link, then down", links: { a: "../b/../c" }, path: "a/d", inside: "c/d" },
];
for (const { why, links = {}, path, inside } of rows) {
  test(`${path}: ${why}`, async () => {
    using made = rootWith(links);
    assert.equal(relative(made.root, await pathInside(made.root, path)), inside);
  });
}

const long = Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`l${at}`, `l${at + 1}`]));
const refused: { why: string; links?: Record<string, string>; path: string; says: RegExp }[] = [
  { why: "it climbs", path: "../x", says: /"\.\.\/x", outside of the image/ },
  { why: "it climbs later", path: "a/../../x", says: /outside of the image/ },
  { why: "it climbs and comes back", path: "a/../b", says: /outside of the image/ },
  { why: "it hides its end", path: "a\0b/c", says: /a name with a NUL/ },
  { why: "a circle", links: { a: "b", b: "a" }, path: "a/x", says: /loop of links/ },
  { why: "a link to itself", links: { a: "a" }, path: "a/x", says: /loop of links/ },
  { why: "a chain without end", links: long, path: "l0/x", says: /loop of links/ },
  { why: "folders without end", path: "a/".repeat(500_000), says: /a name of 1000000 characters: "a\/a\// },
];
for (const { why, links = {}, path, says } of refused) {
  test(`refused: ${why}`, async () => {
    using made = rootWith(links);
    await assert.rejects(
      pathInside(made.root, path),
      (error: Error) => isOciError(error, "UNSAFE_LAYER") && says.test(error.message),
    );
  });
}

test("no path leaves the image, whatever its links", async () => {
  const name = fc.constantFrom("a", "b", "c");
  const part = fc.constantFrom("a", "b", "c", "..", ".", "");
  const target = fc
    .tuple(fc.boolean(), fc.array(part, { maxLength: 5 }))
    .map(([isAbsolute, parts]) => (isAbsolute ? "/" : "") + (parts.join("/") || "."));
  const scene = fc.record({
    links: fc.dictionary(name, target, { maxKeys: 3 }),
    path: fc.array(name, { minLength: 1, maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(scene, async ({ links, path }) => {
      using made = rootWith(links);
      const found = await pathInside(made.root, path.join("/")).catch((error: unknown) => {
        assert.ok(isOciError(error, "UNSAFE_LAYER"), String(error));
        return made.root;
      });
      assert.ok(found === made.root || found.startsWith(`${made.root}/`), found);
    }),
    { numRuns: 150 },
  );
});
