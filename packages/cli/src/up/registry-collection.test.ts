// SPDX-License-Identifier: Apache-2.0
// The registry of a control plane deletes unused images, but not those that a revision refers to.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, silentLog } from "@purlin/base";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { buildImage, createRegistryClient, openContentStore, parseReference, pushPackage } from "@purlin/oci";
import { packageMeta } from "../../test/function-folder.ts";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { type EmbeddedPlane, startEmbeddedPlane } from "./embedded-plane.ts";

const patienceMs = 60_000;
const hourMs = 3_600_000;

function start(folder: TempFolder, clock: Clock): Promise<EmbeddedPlane> {
  const directory = join(folder.path, ".purlin");
  const options = { paths: [], directory, port: 0, waitMs: undefined, debug: false, functionRevisionSelectors: false };
  const io = new TestIo({ cwd: folder.path, env: { PATH: process.env["PATH"] } });
  return startEmbeddedPlane(options, {
    io,
    log: silentLog,
    warn: () => {},
    onFunctionChange: () => {},
    clock,
  });
}

/** A clock that stands still: timers fire when the test says so. A round is over when the next timer is set. */
function standingClock(): Clock & { readonly go: () => void; readonly isSet: () => boolean } {
  const tasks = new Set<() => void>();
  return {
    now: () => Date.now(),
    schedule(_, task) {
      tasks.add(task);
      return () => tasks.delete(task);
    },
    isSet: () => tasks.size > 0,
    go() {
      const due = [...tasks];
      tasks.clear();
      for (const task of due) task();
    },
  };
}

/** Pushes another image to the same tag; returns its digest. */
async function push(folder: TempFolder, registry: EmbeddedPlane["registry"], name: string): Promise<string> {
  const { address, access } = registry;
  const client = createRegistryClient({ credentials: access.credentials });
  const store = await openContentStore(join(folder.path, "build"));
  const noProcess = { entrypoint: [], cmd: [], env: [], workingDir: "/", user: "" };
  const platform = { os: "linux", architecture: "amd64" };
  const packageYaml = packageMeta(name, "Configuration");
  const image = await buildImage(store, { platform, process: noProcess, base: [], layers: [], packageYaml });
  const to = parseReference(`${address}/acme/kept:v1`);
  await pushPackage(client, store, { images: [image], to });
  return image.descriptor.digest;
}

/** As if everything had been pushed a month ago. */
async function age(folder: TempFolder): Promise<void> {
  const registry = join(folder.path, ".purlin", "registry");
  const lastMonth = new Date(Date.now() - 30 * 24 * hourMs);
  for (const entry of await readdir(registry, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) await utimes(join(entry.parentPath, entry.name), lastMonth, lastMonth);
  }
}

/** Read from disk: a request to the registry would renew the image. */
function isThere(folder: TempFolder, digest: string): boolean {
  const manifests = join(folder.path, ".purlin", "registry", "repositories", "acme", "kept", "_manifests");
  return existsSync(join(manifests, digest.replace("sha256:", "")));
}

test("untagged images are deleted, except those that a revision refers to, even before the revisions are listed", async () => {
  using folder = tempFolder({});
  const clock = standingClock();
  let named = "";
  {
    await using plane = await start(folder, clock);
    const { address } = plane.registry;
    named = await push(folder, plane.registry, "named");
    const unnamed = await push(folder, plane.registry, "unnamed");
    const tagged = await push(folder, plane.registry, "tagged");
    const install = ["xpkg", "install", "configuration", `${address}/acme/kept@${named}`, "kept", "--wait"];
    const { exitCode, stderr } = await runInProcess(install, { cwd: folder.path });
    assert.equal(exitCode, 0, stderr);
    await age(folder);
    assert.ok([named, unnamed, tagged].every((one) => isThere(folder, one)));
    clock.go();
    const limit = performance.now() + patienceMs;
    while (!clock.isSet()) {
      assert.ok(performance.now() < limit, "the collection never ended");
      await delay(20);
    }
    const left = [named, unnamed, tagged].map((one) => isThere(folder, one));
    assert.deepEqual(left, [true, false, true]);
  }
  await age(folder);
  // The first thing it does, long before the revisions are listed.
  const eager: Clock = {
    now: () => Date.now(),
    schedule(delayMs, task) {
      if (delayMs <= 60_000) queueMicrotask(task);
      return () => {};
    },
  };
  await using _again = await start(folder, eager);
  assert.equal(isThere(folder, named), true);
});
