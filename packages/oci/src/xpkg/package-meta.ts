// SPDX-License-Identifier: Apache-2.0

import { createErrorBrand } from "@purlin/base";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { isDigest } from "../content/manifest.ts";
import { parseConstraint } from "../version/version.ts";

const brand = createErrorBrand<PackageError>("purlin.dev/oci/package-error");

/** An invalid package, or not the requested one. */
export class PackageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PackageError";
    brand.mark(this);
  }
}

/** Whether an error is a {@link PackageError}. */
export function isPackageError(error: unknown): error is PackageError {
  return brand.has(error);
}

/** The kinds of packages. */
export type PackageKind = "Configuration" | "Function" | "Provider";

/** A package that another one needs. */
export interface PackageDependency {
  /** Registry and repository. */
  readonly source: string;
  readonly apiVersion: string;
  readonly kind: PackageKind;
  /** A semver constraint, or a digest. */
  readonly constraint: string;
}

/** What a package says about itself. */
export interface PackageMeta {
  readonly kind: PackageKind;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Which versions of the control plane will do; undefined when any. */
  readonly crossplaneConstraint: string | undefined;
  readonly dependencies: readonly PackageDependency[];
  /** As written; see {@link hasCapability}. */
  readonly capabilities: readonly string[];
}

export const metaGroup = "meta.pkg.crossplane.io";
/** By kind; names come from packages, so that a plain object would know too many. */
const versions: ReadonlyMap<unknown, readonly string[]> = new Map<PackageKind, readonly string[]>([
  ["Configuration", ["v1", "v1alpha1"]],
  ["Function", ["v1", "v1beta1"]],
  ["Provider", ["v1", "v1alpha1"]],
]);
const deprecated = { provider: "Provider", configuration: "Configuration", function: "Function" } as const;

/** Whether an object is the metadata of a package, of a version we read. */
export function isPackageMeta(object: JsonObject): boolean {
  const [group, version = ""] = String(object["apiVersion"]).split("/");
  return group === metaGroup && versions.get(object["kind"])?.includes(version) === true;
}

/** Reads the metadata object of a package. `where` names it in errors. */
export function readPackageMeta(object: JsonObject, where: string): PackageMeta {
  const kind = object["kind"] as PackageKind;
  const metadata = objectOf(object["metadata"]);
  const spec = objectOf(object["spec"]);
  if (typeof metadata["name"] !== "string" || metadata["name"] === "") {
    throw new PackageError(`${where}: metadata.name: expected the name of the package`);
  }
  return {
    kind,
    name: metadata["name"],
    labels: texts(metadata["labels"]),
    annotations: texts(metadata["annotations"]),
    crossplaneConstraint: crossplaneConstraint(spec["crossplane"], where),
    dependencies: dependenciesOf(spec["dependsOn"], where),
    capabilities: capabilitiesOf(kind, spec["capabilities"]),
  };
}

/** Whether a list names a capability; case and everything but letters and digits do not count. */
export function hasCapability(capabilities: readonly string[], wanted: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  return capabilities.some((capability) => plain(capability) === plain(wanted));
}

function crossplaneConstraint(value: unknown, where: string): string | undefined {
  const { version } = objectOf(value);
  if (version === undefined) return undefined;
  return checkedConstraint(version, `${where}: spec.crossplane.version`);
}

function checkedConstraint(value: unknown, where: string): string {
  if (typeof value !== "string") throw new PackageError(`${where}: expected a version constraint`);
  try {
    parseConstraint(value);
  } catch (cause) {
    throw new PackageError(`${where}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  return value;
}

function dependenciesOf(value: unknown, where: string): PackageDependency[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new PackageError(`${where}: spec.dependsOn: expected a list`);
  return value.map((item, at) => dependencyOf(objectOf(item), `${where}: spec.dependsOn[${at}]`));
}

function dependencyOf(item: JsonObject, where: string): PackageDependency {
  const { version } = item;
  const constraint =
    typeof version === "string" && isDigest(version) ? version : checkedConstraint(version, `${where}.version`);
  const { apiVersion, kind, package: source } = item;
  if (typeof apiVersion === "string" && typeof kind === "string" && typeof source === "string") {
    if (!versions.has(kind)) throw new PackageError(`${where}.kind: ${kind} is not a kind of package`);
    return { source, apiVersion, kind: kind as PackageKind, constraint };
  }
  for (const [field, meant] of Object.entries(deprecated)) {
    const named = item[field];
    if (typeof named === "string")
      return { source: named, apiVersion: "pkg.crossplane.io/v1", kind: meant, constraint };
  }
  throw new PackageError(`${where}: invalid dependency: give apiVersion, kind and package, and a version`);
}

/** Without spec.capabilities a function can compose; an empty list means no capability. */
function capabilitiesOf(kind: PackageKind, value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.filter((one): one is string => typeof one === "string");
  return kind === "Function" ? ["composition"] : [];
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function texts(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(objectOf(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries);
}

const maxLabel = 63;

/** The name of a revision: that of its package, and the start of what identifies it. */
export function friendlyName(name: string, id: string): string {
  return dnsLabel(`${name.slice(0, 50)}-${id.slice(0, 12)}`);
}

/** A text as a DNS label: separators become hyphens, what has no place in a label is dropped. */
export function dnsLabel(text: string): string {
  let label = "";
  const last = Math.min(text.length, maxLabel) - 1;
  for (let at = 0; at <= last; at++) {
    const character = text[at] ?? "";
    if (/[a-z0-9]/.test(character)) label += character;
    else if (/[./:-]/.test(character) && at > 0 && at < last) label += "-";
  }
  return label.replaceAll(/^-+|-+$/g, "");
}
