// SPDX-License-Identifier: Apache-2.0
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  buildImage,
  bundleCommand,
  bundleFunction,
  bundlePath,
  fileEntry,
  parseReference,
  platformOfNode,
  pushPackage,
  runtimeLabel,
} from "@purlin/oci";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { goFunction, goFunctionIn } from "../../../tools/peers/go-function.ts";
import { installed } from "../../../tools/peers/peer.ts";
import type { PackagePlane } from "./plane.ts";

/** A function to install, and the same program without a control plane. */
export interface BenchProgram {
  readonly title: string;
  /** Builds the package and puts it into the registry; returns its reference. */
  publish(plane: PackagePlane): Promise<string>;
  /** The command line of the bare process, but for its flags. */
  command(plane: PackagePlane): readonly string[];
}

const noop = join(import.meta.dirname, "..", "..", "functions", "purlin", "noop.ts");

interface ImageWish {
  readonly path: string;
  readonly content: Uint8Array;
  readonly entrypoint: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}

async function publish(plane: PackagePlane, name: string, wish: ImageWish): Promise<string> {
  const { path, content, entrypoint, labels = {} } = wish;
  const image = await buildImage(plane.store, {
    platform: platformOfNode(process),
    process: { entrypoint, cmd: [], env: [], workingDir: "/", user: "" },
    base: [],
    layers: [[fileEntry(path, content, 0o755)]],
    packageYaml: `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: ${name}}\n`,
    labels,
  });
  const reference = `${plane.registry.address}/bench/${name}:v1`;
  await pushPackage(plane.registryClient, plane.store, { images: [image], to: parseReference(reference) });
  return reference;
}

/** A static program in Go, without an SDK. */
export function goProgram(): BenchProgram {
  const file = goFunctionIn(installed(goFunction, cacheDirectory));
  const content = readFileSync(file);
  return {
    title: "Go",
    publish: (plane) => publish(plane, "function-go", { path: "function", content, entrypoint: ["/function"] }),
    command({ directory }) {
      // A file of its own: memory of one that others run as well would be shared with them.
      const copy = join(directory, "bare-function");
      if (!existsSync(copy)) copyFileSync(file, copy);
      return [copy];
    },
  };
}

/** A function on our SDK, bundled, on Purlin's own Node. Unless given, one that does nothing. */
export async function bundledProgram(source: string = noop): Promise<BenchProgram> {
  const { code } = await bundleFunction(source);
  const labels = { [runtimeLabel]: "node" };
  const wish = { path: bundlePath, content: code, entrypoint: bundleCommand, labels };
  return {
    title: "our SDK",
    publish: (plane) => publish(plane, "function-bundle", wish),
    command({ directory }) {
      const file = join(directory, "bundle.mjs");
      writeFileSync(file, code);
      return [process.execPath, file];
    },
  };
}
