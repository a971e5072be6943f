// SPDX-License-Identifier: Apache-2.0
// Functions of the public SDKs on Debian, and one in Go on nothing, from a folder of files to composed resources.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { composedMaps, healthy } from "./composed-maps.ts";
import { type EmbeddedPlane, purlin, startPlane } from "./embedded-plane.ts";
import {
  bundledPackage,
  goPackage,
  openWorkshop,
  pythonPackage,
  typescriptPackage,
  type Workshop,
} from "./function-packages.ts";
import { compositionOf } from "./greeting-pipeline.ts";

let workshop: Workshop;
/** Files by the name of the function. */
let files: Readonly<Record<string, string>>;

before(async () => {
  workshop = openWorkshop();
  files = {
    "function-python": await pythonPackage(workshop),
    "function-typescript": await typescriptPackage(workshop),
    "function-go": await goPackage(workshop),
    "function-purlin": await bundledPackage(workshop, "function-purlin", "purlin/function.ts"),
  };
});
after(() => workshop[Symbol.dispose]());

/** Each is installed a second time, from a repository of its own: two of a kind want the same ports. */
const twins = ["function-go", "function-python", "function-purlin"];

for (const sandbox of [true, false]) {
  test(`public SDKs and a static program compose side by side, ${sandbox ? "in the" : "without a"} sandbox`, async () => {
    await using plane = await startPlane({ sandbox });
    const names = await installAll(plane);
    const maps = await composedMaps(plane, compositionOf(names));
    const by = Object.fromEntries(maps.map((map) => [map["language"], map]));
    assert.deepEqual(maps.map((map) => map["greeting"]).toSorted(), [
      "hello from Go",
      "hello from Purlin",
      "hello from Python",
      "hello from TypeScript",
    ]);
    // Twins come later in the pipeline: what is there is theirs.
    for (const name of twins) assert.equal(by[name.slice("function-".length)]?.["function"], `${name}-twin`);
    const { address = "", metrics } = by["go"] ?? {};
    if (!sandbox) return assert.match(address, /^127\.0\.0\.1:\d+$/, "nobody else reaches it");
    assert.deepEqual([address, metrics], ["[::]:9443", "[::]:8080"], "it has a network of its own");
    for (const map of maps) assert.equal(map["uid"], "2000");
  });
}

async function installAll(plane: EmbeddedPlane): Promise<readonly string[]> {
  const installed: string[] = [];
  for (const [name, file] of Object.entries(files)) {
    for (const one of twins.includes(name) ? [name, `${name}-twin`] : [name]) {
      const image = await plane.push(file, `acme/${one}:v1`);
      await purlin("xpkg", "install", "function", image, one, "--data-dir", plane.directory);
      installed.push(one);
    }
  }
  for (const name of installed) await healthy(plane, name);
  return installed;
}
