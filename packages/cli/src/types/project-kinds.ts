// SPDX-License-Identifier: Apache-2.0

import { relative } from "node:path";
import { deriveCrds, storedDefinition } from "@purlin/composition";
import { dns1035LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import type { KubeObject } from "@purlin/kube-objects/object";
import { servedVersions } from "@purlin/kube-objects/openapi";
import { parseFieldPath } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { definitionProblems } from "../manifests/definition-problems.ts";
import { type Manifest, readManifests } from "../manifests/manifest.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { isCrd, isDefinition } from "../tree/defined-kinds.ts";
import { textOf } from "../user-error.ts";
import type { CustomKind } from "./custom-module.ts";

/** The kinds that manifests define, and what keeps others from being known, a line each with file, line and column. */
interface DefinitionKinds {
  readonly kinds: readonly CustomKind[];
  readonly problems: readonly string[];
}

/** Whether a manifest defines kinds. */
export function definesKinds({ object }: Manifest): boolean {
  return isDefinition(object) || isCrd(object);
}

/** The served versions of all kinds that XRDs and CRDs define: composite resources, claims and custom resources. */
export function definitionKinds(manifests: readonly Manifest[]): DefinitionKinds {
  const found = new Map<string, { readonly kind: CustomKind; readonly at: string }>();
  const problems: string[] = [];
  for (const manifest of manifests.filter(definesKinds)) {
    if (isDefinition(manifest.object)) problems.push(...definitionProblems(manifest));
    try {
      for (const kind of kindsOf(manifest.object)) {
        const key = `${kind.group}/${kind.version} ${kind.kind}`;
        const at = manifest.at(["spec", "names", "kind"]);
        const other = found.get(key);
        if (other === undefined) found.set(key, { kind, at });
        else problems.push(`${at}: spec.names.kind: ${key} is also defined at ${other.at}: remove one of them`);
      }
    } catch (error) {
      problems.push(problemLine(manifest, textOf(error)));
    }
  }
  return { kinds: [...found.values()].map(({ kind }) => kind), problems };
}

function kindsOf(object: KubeObject): CustomKind[] {
  const kinds = crdsOf(object).flatMap((crd) => servedVersions(crd));
  for (const kind of kinds) checkNames(kind);
  return kinds;
}

function crdsOf(object: KubeObject): readonly KubeObject[] {
  if (!isDefinition(object)) return [object];
  return deriveCrds(storedDefinition(object) ?? object, { functionRevisions: false });
}

/** Names become file names: what no API server accepts must not get that far. */
function checkNames({ group, version, kind }: CustomKind): void {
  const [groupProblem] = group.includes(".") ? dns1123SubdomainProblems(group) : ["must be a domain with a dot"];
  if (groupProblem !== undefined) throw new Error(`spec.group: ${groupProblem}`);
  const [versionProblem] = dns1035LabelProblems(version);
  if (versionProblem !== undefined) throw new Error(`spec.versions: name "${version}": ${versionProblem}`);
  const [kindProblem] = dns1035LabelProblems(kind.toLowerCase());
  if (kindProblem !== undefined) throw new Error(`spec.names.kind: ${kindProblem}`);
}

/** Errors about definitions say which field they mean; what comes before it names the CRD that would have been made. */
function problemLine(manifest: Manifest, text: string): string {
  const [field] = /\bspec(\.[\w-]+|\[\w+\])*(?=:)/.exec(text) ?? [];
  if (field === undefined) return `${manifest.at()}: ${text}: correct the definition`;
  const rest = text.slice(text.indexOf(field));
  return `${manifest.at(parseFieldPath(field))}: ${rest}: correct the definition`;
}

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
