// SPDX-License-Identifier: Apache-2.0
// Functions of the public SDKs on Debian, and one in Go on nothing, from a folder of files to composed resources.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
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
    const taken = metricsListeners();
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
    // The second of two that open the same port, which would fail in a network that they share.
    assert.equal(metrics, "[::]:8080", "it has a network of its own");
    assert.equal(address, sandbox ? "[::]:9443" : "127.0.0.1:9443");
    assert.deepEqual(metricsListeners().difference(taken), new Set(), "its metrics are not on the machine's network");
    if (sandbox) for (const map of maps) assert.equal(map["uid"], "2000");
  });
}

/** The sockets that listen on port 8080 of the machine's network. */
function metricsListeners(): Set<string> {
  const rows = ["tcp", "tcp6"].flatMap((table) => readFileSync(`/proc/net/${table}`, "utf8").split("\n").slice(1));
  const fields = rows.map((row) => row.trim().split(/\s+/));
  return new Set(
    fields.flatMap(([, local = "", , state, ...rest]) =>
      local.endsWith(":1F90") && state === "0A" ? [rest[5] ?? ""] : [],
    ),
  );
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
