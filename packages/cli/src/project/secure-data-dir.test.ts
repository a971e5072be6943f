// SPDX-License-Identifier: Apache-2.0
// The rights of a data directory: what others may read is taken from them, and what others could have written is refused.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { secureCacheDir, secureDataDir } from "./secure-data-dir.ts";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** A data directory with files that everyone can read. */
function dataDir(files: Readonly<Record<string, string>> = {}): TempFolder & { readonly at: (name: string) => string } {
  const folder = tempFolder(Object.fromEntries(Object.entries(files).map(([name, text]) => [`data/${name}`, text])));
  const directory = join(folder.path, "data");
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o755);
  const at = (name: string): string => join(directory, name);
  return { ...folder, path: directory, at, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

describe("a data directory", () => {
  test("loses the rights of others, with its files and folders and what is in those with keys", () => {
    using folder = dataDir({
      kubeconfig: "",
      "store.db": "",
      "pki/ca.key": "",
      "docker/config.json": "",
      "registry/blob": "",
    });
    for (const name of ["kubeconfig", "store.db", "pki/ca.key", "docker/config.json", "registry/blob"]) {
      chmodSync(folder.at(name), 0o644);
    }
    for (const name of ["pki", "docker", "registry"]) chmodSync(folder.at(name), 0o755);
    secureDataDir(folder.path);
    assert.equal(modeOf(folder.path), "700");
    assert.deepEqual(
      ["kubeconfig", "store.db", "pki", "pki/ca.key", "docker", "docker/config.json", "registry"].map((name) =>
        modeOf(folder.at(name)),
      ),
      ["600", "600", "700", "600", "700", "600", "700"],
    );
    assert.equal(modeOf(folder.at("registry/blob")), "644", "its folder is closed already");
  });

  test("gets no rights: what its owner made read-only or executable stays so", () => {
    using folder = dataDir({ readonly: "", tool: "", closed: "" });
    chmodSync(folder.at("readonly"), 0o444);
    chmodSync(folder.at("tool"), 0o755);
    chmodSync(folder.at("closed"), 0o200);
    secureDataDir(folder.path);
    assert.deepEqual(
      ["readonly", "tool", "closed"].map((name) => modeOf(folder.at(name))),
      ["400", "700", "200"],
    );
    secureDataDir(folder.path);
    assert.equal(modeOf(folder.at("tool")), "700", "a second time changes nothing");
  });

  test("may have links to other disks for what takes most of the room", () => {
    using folder = dataDir();
    using disk = tempFolder({ "images/x": "" });
    chmodSync(join(disk.path, "images"), 0o755);
    for (const name of ["images", "roots", "registry", "functions", "purlin.log"]) {
      symlinkSync(join(disk.path, "images"), folder.at(name));
    }
    secureDataDir(folder.path);
    assert.equal(modeOf(join(disk.path, "images")), "755", "what a link leads to is not changed");
  });

  test("with any other link is refused with its path", () => {
    for (const name of ["pki", "store.db", "kubeconfig", "pki/ca.key"]) {
      using folder = dataDir({ ...(name.includes("/") && { "pki/.keep": "" }), elsewhere: "" });
      symlinkSync(folder.at("elsewhere"), folder.at(name));
      assert.throws(() => secureDataDir(folder.path), {
        name: "UserError",
        message: `${folder.at(name)} is a symbolic link: replace it with a regular file or folder`,
      });
    }
  });

  test("that others can write to is refused", () => {
    using folder = dataDir();
    chmodSync(folder.path, 0o777);
    assert.throws(
      () => secureDataDir(folder.path),
      (error) => {
        assert.match((error as Error).message, new RegExp(`^--data-dir ${folder.path}: `));
        return true;
      },
    );
  });
});

describe("a folder of cached packages", () => {
  test("loses the rights of others, but not what is in it", () => {
    using folder = dataDir({ blob: "" });
    chmodSync(folder.at("blob"), 0o644);
    secureCacheDir(folder.path, { env: {} });
    assert.deepEqual([modeOf(folder.path), modeOf(folder.at("blob"))], ["700", "644"]);
  });

  test("that others can write to is refused, but not in a Pod", () => {
    using folder = dataDir();
    chmodSync(folder.path, 0o777);
    assert.throws(() => secureCacheDir(folder.path, { env: {} }), /^UserError: --xpkg-cache-dir /);
    secureCacheDir(folder.path, { env: { KUBERNETES_SERVICE_HOST: "10.0.0.1" } });
    assert.equal(modeOf(folder.path), "777", "a volume of a Pod is left as it is");
  });
});
