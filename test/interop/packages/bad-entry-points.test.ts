// SPDX-License-Identifier: Apache-2.0
// Packages whose program is missing or ends at once: the reported error, and which revision keeps serving.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  buildImage,
  createRegistryClient,
  credentialsFromDockerConfig,
  openContentStore,
  parseReference,
  platformOfNode,
  pushPackage,
} from "@purlin/oci";
import { composedMaps, conditionOf, install } from "./composed-maps.ts";
import { type EmbeddedPlane, purlin, startPlane } from "./embedded-plane.ts";
import { goPackage, openWorkshop, type Workshop } from "./function-packages.ts";
import { compositionOf } from "./greeting-pipeline.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };

/** An image that names a program it does not have: the command would refuse to build it. */
async function emptyImage({ directory }: Workshop, plane: EmbeddedPlane, reference: string): Promise<void> {
  const store = await openContentStore(join(directory, "store"));
  const image = await buildImage(store, {
    platform: platformOfNode(process),
    process: { entrypoint: ["/no-such-program"], cmd: [], env: [], workingDir: "/", user: "" },
    base: [],
    layers: [],
    packageYaml: "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-go}\n",
  });
  const config = join(plane.directory, "docker", "config.json");
  const credentials = credentialsFromDockerConfig(readFileSync(config, "utf8"), config);
  await pushPackage(createRegistryClient({ credentials }), store, { images: [image], to: parseReference(reference) });
}

/** Points the function at a version that does not run, and waits until a message says why. */
async function failingUpgrade(plane: EmbeddedPlane, image: string, says: RegExp): Promise<void> {
  const spec = { package: image };
  await plane.users.patch({ ...functionType, name: "function-go" }, { spec }, { type: "merge" });
  await plane.until(`the function says ${says}`, { ...functionType, name: "function-go" }, (found) => {
    const { status, message = "" } = conditionOf(found, "Healthy") ?? {};
    return status === "False" && says.test(message);
  });
}

/** `--wait` fails with the reason. The timeout is what a busy machine needs to notice that the program does not run. */
async function failingInstall(plane: EmbeddedPlane, image: string): Promise<void> {
  const waiting = ["--wait", "--timeout", "30s", "--data-dir", plane.directory];
  await assert.rejects(purlin("xpkg", "install", "function", image, "function-other", ...waiting), (error: Error) => {
    assert.match((error as Error & { stderr: string }).stderr, /flag provided but not defined/);
    return true;
  });
}

for (const sandbox of [true, false]) {
  test(`a program that does not run is reported with its last output, and the old one keeps serving; sandbox: ${sandbox}`, async () => {
    using workshop = openWorkshop();
    await using plane = await startPlane({ sandbox });
    await install(plane, "function-go", await goPackage(workshop));
    const composition = compositionOf(["function-go"]);
    await composedMaps(plane, composition, "one");

    const ends = await goPackage(workshop, "v2", ["--no-such-flag"]);
    const image = await plane.push(ends, "acme/function-go:v2");
    await failingUpgrade(plane, image, /last output: .*flag provided but not defined: -no-such-flag/s);
    assert.equal((await composedMaps(plane, composition, "two")).length, 1, "the first version serves on");

    const missing = image.replace(/v2$/, "v3");
    await emptyImage(workshop, plane, missing);
    await failingUpgrade(plane, missing, /no-such-program/);
    assert.equal((await composedMaps(plane, composition, "three")).length, 1, "it still does");

    if (!sandbox) await failingInstall(plane, await plane.push(ends, "acme/function-other:v1"));
    const fixed = await plane.push(await goPackage(workshop, "v4", ["--address=:9443"]), "acme/function-go:v4");
    await plane.users.patch({ ...functionType, name: "function-go" }, { spec: { package: fixed } }, { type: "merge" });
    await plane.until("a version that runs takes over", { ...functionType, name: "function-go" }, (found) => {
      return conditionOf(found, "Healthy")?.status === "True";
    });
  });
}
