// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { developmentAnnotations } from "@purlin/function-runner";
import { isJsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { servedVersions } from "@purlin/kube-objects/openapi";
import { type PackageContents, parsePackage, readPackageText } from "@purlin/oci";
import { readTextIfThere } from "../files/read-text.ts";
import { replaceFile } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { isCrd } from "../tree/defined-kinds.ts";
import { asInput, textOf, UserError } from "../user-error.ts";
import { openFileOrImage } from "../xpkg/open-package.ts";
import { inWorkspace } from "../xpkg/xpkg-workspace.ts";

/** A package whose definitions count as schemas. */
export interface KnownPackage {
  /** That of the Function, Provider or Configuration, or of the package file. */
  readonly name: string;
  readonly kind: PackageContents["meta"]["kind"];
  /** Its XRDs, CRDs and Compositions. */
  readonly manifests: readonly Manifest[];
  /** Its declared capabilities; empty when it declares none. */
  readonly capabilities: readonly string[];
}

/** Packages that were found, and those that were not. */
interface FoundPackages {
  readonly packages: readonly KnownPackage[];
  /** Why the schemas of some packages are unknown, a line each. */
  readonly missing: readonly string[];
}

/** The kinds that a function takes as input, as `apiVersion Kind`; undefined when its package is not known. */
export function inputKinds(packages: readonly KnownPackage[], functionName: string): readonly string[] | undefined {
  const found = packages.find(({ name, kind }) => kind === "Function" && name === functionName);
  return found?.manifests
    .filter(({ object }) => isCrd(object))
    .flatMap(({ object }) => servedVersions(object))
    .map(({ group, version, kind }) => `${group}/${version} ${kind}`);
}

/** Where packages come from. */
interface PackageSources {
  readonly files: readonly string[];
  readonly manifests: readonly Manifest[];
  /** Whether packages that manifests name may be fetched from their registries. */
  readonly isFetching: boolean;
}

/** Reads package files, and the packages that Functions, Providers and Configurations name: from the cache, or from registries. */
export async function findPackages(sources: PackageSources, input: CommandInput, io: Io): Promise<FoundPackages> {
  const packages: KnownPackage[] = [];
  const missing: string[] = [];
  for (const file of sources.files) packages.push(known(await asInput(() => readContents(file, input, io)), file));
  for (const { object } of sources.manifests.filter(isInstalled)) {
    const { name = "" } = object.metadata;
    const reference = textAt(object, ["spec", "package"]) ?? "";
    if (packages.some((one) => one.name === name) || reference === "") continue;
    try {
      const text = await packageText(reference, sources.isFetching, { input, io });
      if (text === undefined)
        missing.push(`${reference}: not in the cache: run with --fetch-packages once, or add its .xpkg file`);
      else packages.push({ ...known(await parsePackage(text, reference), reference), name });
    } catch (error) {
      missing.push(`${reference}: ${textOf(error)}`);
    }
  }
  return { packages, missing };
}

/** Whether an object names a package. One that runs from a source file has none. */
const isInstalled = ({ object }: Manifest): boolean =>
  object.metadata.annotations?.[developmentAnnotations.source] === undefined &&
  object.apiVersion.startsWith("pkg.crossplane.io/") &&
  ["Function", "Provider", "Configuration"].includes(object.kind);

async function readContents(name: string, input: CommandInput, io: Io): Promise<PackageContents> {
  if (!existsSync(resolve(io.cwd, name))) throw new UserError(`cannot read ${name}: no such file: check the path`);
  return parsePackage(await readText(name, input, io), name);
}

function readText(name: string, input: CommandInput, io: Io): Promise<string> {
  return inWorkspace(input, io, async (workspace) => {
    const image = await openFileOrImage(name, io, { platform: undefined, workspace, onlyPackage: true });
    return await readPackageText(image.manifest, workspace.store, name);
  });
}

function known({ meta, objects }: PackageContents, file: string): KnownPackage {
  const manifests = objects
    .filter(isJsonObject)
    .map((object) => ({ object: object as KubeObject, file, at: () => file }));
  return { name: meta.name, kind: meta.kind, manifests, capabilities: meta.capabilities };
}

/** The package.yaml of an image: what was fetched before, or what the registry has now. */
async function packageText(
  reference: string,
  isFetching: boolean,
  { input, io }: { readonly input: CommandInput; readonly io: Io },
): Promise<string | undefined> {
  const folder = cacheFolder(io, "packages");
  const file = folder && join(folder, `${createHash("sha256").update(reference).digest("hex")}.yaml`);
  if (!isFetching) return file && (await readTextIfThere(file, file));
  const text = await readText(reference, input, io);
  if (folder !== undefined && file !== undefined) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await replaceFile(file, text);
  }
  return text;
}

/** A folder of this command among the caches of the user; undefined when the user has none. */
export function cacheFolder({ env }: Pick<Io, "env">, name: string): string | undefined {
  const { XDG_CACHE_HOME: xdg, HOME: home } = env;
  const caches = xdg ? xdg : home && join(home, ".cache");
  return caches && isAbsolute(caches) ? join(caches, "purlin", name) : undefined;
}
