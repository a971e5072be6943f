// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fetchedPackages, packageName, readLockFile } from "./lock-file.ts";
import { createBom, rootPackage } from "./sbom.ts";

const lock = readLockFile();
const bom = createBom(lock, rootPackage());

test("the bill is CycloneDX, and the same for the same lock file", () => {
  assert.equal(bom.bomFormat, "CycloneDX");
  assert.equal(bom.specVersion, "1.6");
  assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const shuffled = Object.fromEntries(Object.entries(lock).reverse());
  assert.deepEqual(createBom(shuffled, rootPackage()), bom);
});

test("the bill has every package of the lock file, with what a reader needs", () => {
  const expected = new Set(fetchedPackages(lock).map(([path, { version }]) => `${packageName(path)}@${version}`));
  assert.deepEqual(new Set(bom.components.map((component) => component["bom-ref"])), expected);
  for (const component of bom.components) {
    const ref = component["bom-ref"];
    assert.match(component.version, /^\d+\.\d+\.\d+/, ref);
    assert.equal(component.purl, `pkg:npm/${ref.replace(/^@/, "%40")}`);
    assert.notEqual(component.licenses[0]?.expression, "NOASSERTION", ref);
    for (const { content } of component.hashes ?? []) assert.match(content, /^[0-9a-f]{128}$/, ref);
    if (component.scope !== "excluded") assert.equal(component.hashes?.length, 1, `${ref} is shipped without a hash`);
  }
});

test("every dependency leads to a component", () => {
  const refs = new Set(bom.dependencies.map(({ ref }) => ref));
  const dangling = bom.dependencies.flatMap(({ dependsOn }) => dependsOn.filter((ref) => !refs.has(ref)));
  assert.deepEqual(dangling, []);
  const grpc = bom.dependencies.find(({ ref }) => ref.startsWith("packages/function-runner@"));
  assert.ok(grpc?.dependsOn.some((ref) => ref.startsWith("@grpc/grpc-js@")));
});
