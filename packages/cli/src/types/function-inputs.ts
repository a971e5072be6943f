// SPDX-License-Identifier: Apache-2.0
import { relative } from "node:path";
import type { KubeObject } from "@purlin/kube-objects/object";
import { servedVersions } from "@purlin/kube-objects/openapi";
import type { Io } from "../io.ts";
import { type Manifest, readManifests } from "../manifests/manifest.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { isCrd } from "../tree/defined-kinds.ts";
import type { CustomKind } from "./custom-module.ts";

/** Where the packages of functions come from. */
interface InputSources {
  /** Absolute paths with Functions, and of package files. */
  readonly sources: readonly string[];
  readonly isFetching?: boolean;
  /** Called with each package whose inputs are unknown. */
  readonly onMissing?: (line: string) => void;
  readonly input?: CommandInput;
}

/** The kinds of input that Functions among manifests take, from their packages: files, the cache, or registries. */
export async function functionInputs(
  { sources, isFetching = false, onMissing = () => {}, input = { args: [], options: {} } }: InputSources,
  io: Io,
): Promise<ReadonlyMap<string, readonly CustomKind[]>> {
  const shown = sources.filter((source) => source !== "-").map((source) => relative(io.cwd, source) || ".");
  const files = shown.filter((path) => path.endsWith(".xpkg"));
  const manifests = await readManifests(
    shown.filter((path) => !path.endsWith(".xpkg")),
    io,
  );
  if (files.length === 0 && !manifests.some(isFunction)) return new Map();
  // Packages need an archive reader and a registry client: loaded only for projects that have functions.
  const { findPackages } = await import("../validate/packages.ts");
  const { packages, missing } = await findPackages(
    { files, manifests: manifests.filter(isFunction), isFetching },
    input,
    io,
  );
  for (const line of missing) onMissing(line);
  const found = packages
    .filter(({ kind }) => kind === "Function")
    .map(({ name, manifests: objects }): [string, CustomKind[]] => [
      name,
      inputKindsOf(objects.map(({ object }) => object)),
    ]);
  return new Map(found.filter(([, kinds]) => kinds.length > 0));
}

const isFunction = ({ object }: Manifest): boolean =>
  object.kind === "Function" && object.apiVersion.startsWith("pkg.crossplane.io/");

function inputKindsOf(objects: readonly KubeObject[]): CustomKind[] {
  return objects.filter(isCrd).flatMap((crd) => servedVersions(crd));
}
