// SPDX-License-Identifier: Apache-2.0
// A registry of the suite's own, with builds of one function in it.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  buildImage,
  bundleCommand,
  bundleFunction,
  bundlePath,
  createRegistryClient,
  fileEntry,
  openContentStore,
  parseReference,
  platformOfNode,
  pushPackage,
  runtimeLabel,
  startRegistry,
} from "@purlin/package-manager";

/** A build of the function. */
export interface Build {
  /** Where it goes, such as `acme/function-bucket:v1.0.0`. */
  readonly name: string;
  /** What it writes into everything it composes. */
  readonly version: string;
  /** A build that ends as soon as it is started. */
  readonly isBroken?: boolean;
  /** The spec of its package metadata, in YAML. */
  readonly packageSpec?: string;
}

/** A registry to which builds are published. */
export interface FunctionRegistry extends AsyncDisposable {
  /** What references start with. */
  readonly address: string;
  /** Builds and pushes; returns the digest. */
  publish(build: Build): Promise<string>;
}

/** Starts a registry. The images bring a Node, or leave that to whoever runs them. */
export async function startFunctionRegistry(directory: string, needsNode: boolean): Promise<FunctionRegistry> {
  const registry = await startRegistry({ directory: join(directory, "registry") });
  const store = await openContentStore(join(directory, "builds"));
  const client = createRegistryClient();
  const { code } = await bundleFunction(fileURLToPath(import.meta.resolve("./version-function.ts")));
  return {
    address: registry.address,
    async publish({ name, version, isBroken = false, packageSpec = "{}" }) {
      const env = [`VERSION=${version}`, ...(isBroken ? ["MODE=exit"] : [])];
      const image = await buildImage(store, {
        platform: platformOfNode(process),
        process: { entrypoint: bundleCommand, cmd: [], env, workingDir: "/", user: "2000" },
        base: [],
        layers: [[fileEntry(bundlePath, code)]],
        packageYaml: `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function}\nspec: ${packageSpec}\n`,
        labels: needsNode ? { [runtimeLabel]: "node" } : {},
      });
      const to = parseReference(`${registry.address}/${name}`);
      return pushPackage(client, store, { images: [image], to });
    },
    [Symbol.asyncDispose]: () => registry.close(),
  };
}
