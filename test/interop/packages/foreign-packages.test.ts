// SPDX-License-Identifier: Apache-2.0
// Packages in the format of Crossplane's own command, written by the library that it uses.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import {
  createRegistryClient,
  openContentStore,
  packageLayers,
  parsePackage,
  parseReference,
  pullImage,
  readArchive,
  readPackageText,
  startRegistry,
} from "@purlin/oci";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { xpkgWriter, xpkgWriterIn } from "../../../tools/peers/xpkg-writer.ts";
import { startDockerRegistry } from "../docker-registry.ts";

const run = promisify(execFile);
const writer = xpkgWriterIn(installed(xpkgWriter, cacheDirectory));
const platform = { os: "linux", architecture: "amd64" };

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "purlin-foreign-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A package of a Provider with at least this many bytes of CRDs, in the style of Crossplane's command. */
function providerOf(bytes: number): { readonly text: string; readonly crds: number } {
  const parts = [
    "---\napiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: provider-large\n---\n",
  ];
  for (let size = 0; size < bytes; size += parts.at(-1)?.length ?? 0) parts.push(crd(parts.length));
  return { text: parts.join(""), crds: parts.length - 1 };
}

function crd(at: number): string {
  const properties = Object.fromEntries(
    Array.from({ length: 200 }, (_, field) => [
      `field${field}`,
      { type: "string", description: `Field ${field} of kind ${at}, described at some length.` },
    ]),
  );
  const schema = { openAPIV3Schema: { type: "object", properties } };
  const spec = {
    group: "example.org",
    scope: "Cluster",
    names: { plural: `things${at}`, kind: `Thing${at}` },
    versions: [{ name: "v1", served: true, storage: true, schema }],
  };
  const metadata = { name: `things${at}.example.org`, creationTimestamp: null };
  const head = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
  return `${JSON.stringify({ ...head, metadata, spec }, null, 1)}\n---\n`;
}

const orders = ["runtime,package,examples", "package,examples,runtime", "examples,runtime,package"];
for (const bytes of [0, 100_000, 1_000_000, 20_000_000]) {
  test(`a package with ${bytes} bytes of CRDs is read from a file and from registries`, async (t) => {
    const directory = folder(t);
    const { text, crds } = providerOf(bytes);
    const inputs = { package: text, examples: `# ${"e".repeat(50_000)}\n`, runtime: "r".repeat(500_000) };
    for (const [name, content] of Object.entries(inputs)) writeFileSync(join(directory, name), content);
    const flags = Object.keys(inputs).flatMap((name) => [`-${name}`, join(directory, name)]);
    const ours = await startRegistry({ directory: join(directory, "registry") });
    t.after(() => ours.close());
    const registries = [ours.address, await startDockerRegistry(t, "none")];
    for (const order of orders) {
      const file = join(directory, "p.xpkg");
      await run(writer, [...flags, "-order", order, "-o", file]);
      const store = await openContentStore(join(directory, `file-${order}`));
      const { manifest } = await readArchive(store, file, "p.xpkg");
      assert.equal(packageLayers(manifest).length, 1, "the mark on its layer survives the file");
      assert.ok((await readPackageText(manifest, store, "p.xpkg")) === text, `from a file: ${order}`);
      for (const registry of registries) {
        const name = `${registry}/acme/provider-large:v1`;
        await run(writer, [...flags, "-order", order, "-push", name]);
        const pulled = await openContentStore(join(directory, `${registry}-${order}`));
        const options = { platform, layers: packageLayers };
        const reference = parseReference(name);
        const image = await pullImage(createRegistryClient(), pulled, { reference, options });
        assert.ok((await readPackageText(image.manifest, pulled, name)) === text, `from ${registry}: ${order}`);
      }
    }
    assert.equal((await parsePackage(text)).objects.length, crds);
  });
}
