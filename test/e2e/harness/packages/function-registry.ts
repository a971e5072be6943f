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
  type PackageImageParts,
  parseReference,
  platformOfNode,
  pushPackage,
  runtimeLabel,
  startRegistry,
} from "@purlin/oci";

/** A build of the function. */
export interface Build {
  /** Where it goes, such as `acme/function-bucket:v1.0.0`. */
  readonly name: string;
  /** What it writes into everything it composes. */
  readonly version: string;
  /** A build that ends as soon as it is started. */
  readonly isBroken?: boolean;
  /** A build that takes its time for each answer, and does not wait for answers on their way when it is asked to end. */
  readonly isAbrupt?: boolean;
  /** A build that keeps more memory after each call, until a limit ends it. */
  readonly isLeaking?: boolean;
  /** The spec of its package metadata, in YAML. */
  readonly packageSpec?: string;
  /** The file of another function, instead of the one of the suite. */
  readonly source?: string;
}

/** A package that runs nothing: a Configuration, which needs others. */
export interface ConfigurationBuild {
  readonly name: string;
  /** Sources of functions and the versions of them that will do. */
  readonly dependsOn?: Readonly<Record<string, string>>;
  /** The XRDs and Compositions in it. */
  readonly objects?: readonly object[];
}

/** A registry to which builds are published. */
export interface FunctionRegistry extends AsyncDisposable {
  /** What references start with. */
  readonly address: string;
  /** Builds and pushes; returns the digest. */
  publish(build: Build): Promise<string>;
  publishConfiguration(build: ConfigurationBuild): Promise<string>;
}

/** Starts a registry. The images contain Node, or run on the Node of the machine. */
export async function startFunctionRegistry(directory: string, needsNode: boolean): Promise<FunctionRegistry> {
  const registry = await startRegistry({ directory: join(directory, "registry") });
  const store = await openContentStore(join(directory, "builds"));
  const client = createRegistryClient();
  const { code: ownCode } = await bundleFunction(fileURLToPath(import.meta.resolve("./version-function.ts")));
  const platform = platformOfNode(process);
  const idle = { entrypoint: [], cmd: [], env: [], workingDir: "/", user: "" };
  const push = async (name: string, parts: Pick<PackageImageParts, "packageYaml"> & Partial<PackageImageParts>) => {
    const image = await buildImage(store, { platform, process: idle, base: [], layers: [], ...parts });
    return pushPackage(client, store, { images: [image], to: parseReference(`${registry.address}/${name}`) });
  };
  return {
    address: registry.address,
    async publish({
      name,
      version,
      isBroken = false,
      isAbrupt = false,
      isLeaking = false,
      packageSpec = "{}",
      source,
    }) {
      const code = source === undefined ? ownCode : (await bundleFunction(source)).code;
      const mode = isBroken ? "exit" : isAbrupt ? "abrupt" : isLeaking ? "leak" : undefined;
      const env = [`VERSION=${version}`, ...(mode === undefined ? [] : [`MODE=${mode}`])];
      return push(name, {
        process: { entrypoint: bundleCommand, cmd: [], env, workingDir: "/", user: "2000" },
        layers: [[fileEntry(bundlePath, code)]],
        packageYaml: metadataOf("Function", packageSpec),
        labels: needsNode ? { [runtimeLabel]: "node" } : {},
      });
    },
    publishConfiguration({ name, dependsOn = {}, objects = [] }) {
      const needs = Object.entries(dependsOn).map(([source, version]) => ({
        apiVersion: "pkg.crossplane.io/v1",
        kind: "Function",
        package: source,
        version,
      }));
      const metadata = metadataOf("Configuration", JSON.stringify({ dependsOn: needs }));
      return push(name, { packageYaml: [metadata, ...objects.map((one) => JSON.stringify(one))].join("\n---\n") });
    },
    [Symbol.asyncDispose]: () => registry.close(),
  };
}

function metadataOf(kind: string, spec: string): string {
  return `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: {name: package}\nspec: ${spec}\n`;
}
