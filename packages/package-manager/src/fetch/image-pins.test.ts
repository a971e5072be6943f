// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { digestOf } from "@purlin/oci";
import { tempFolder } from "@purlin/oci/testing";
import { openImagePins, pinFetched } from "./image-pins.ts";
import type { PackageClient } from "./package-client.ts";

const [one, two] = [digestOf("1"), digestOf("2")];

test("pins survive a restart, and are removed by unpin", async () => {
  using folder = tempFolder();
  const file = join(folder.path, "images/pins.json");
  const pins = await openImagePins(file);
  await Promise.all([pins.set("a", one), pins.set("b", one), pins.set("b", two), pins.set("c", two)]);
  await pins.forget(["c", "never there"]);
  const again = await openImagePins(file);
  assert.deepEqual(again.references().toSorted(), ["a", "b"]);
  assert.deepEqual([again.get("a"), again.get("b"), again.get("c")], [one, two, undefined]);
  assert.deepEqual(readdirSync(join(folder.path, "images")), ["pins.json"]);
});

const damaged: Record<string, { text: string; reason: string }> = {
  Cut: { text: '{"a": "sha2', reason: "the disk was full" },
  NotOurs: { text: '["a"]', reason: "a user edited it" },
  NoDigest: { text: '{"a": "../../etc/passwd", "b": 3}', reason: "no digest reaches a path" },
};
for (const [name, { text, reason }] of Object.entries(damaged)) {
  test(`damaged pins know nothing: ${name}`, async () => {
    using folder = tempFolder();
    const pins = await openImagePins(folder.write("pins.json", text));
    assert.equal(pins.get("a"), undefined, reason);
    await pins.set("a", one);
    assert.equal((await openImagePins(join(folder.path, "pins.json"))).get("a"), one);
  });
}

test("what is fetched is pinned before it is", async () => {
  using folder = tempFolder();
  const pins = await openImagePins(join(folder.path, "pins.json"));
  const seen: (string | undefined)[] = [];
  const look = async (_: unknown, { reference }: { reference: string }): Promise<never> => {
    seen.push(pins.get(reference));
    return undefined as never;
  };
  const client = pinFetched({ contents: look, image: look } as unknown as PackageClient, pins);
  const request = (reference: string): never => ({ reference, pullSecrets: [], pullPolicy: "Always" }) as never;
  await client.contents({ digest: one } as never, request("a"));
  await client.image({ digest: two } as never, request("a"), { os: "linux", architecture: "amd64" });
  assert.deepEqual(seen, [one, two]);
});
