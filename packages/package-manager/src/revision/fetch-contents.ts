// SPDX-License-Identifier: Apache-2.0
import { attempt } from "@purlin/kube-controller";
import type { JsonValue } from "@purlin/kube-objects";
import type { PackageContents } from "@purlin/oci";
import { parseConstraint, parseVersion } from "@purlin/oci";
import type { ResolvedPackage } from "../fetch/package-client.ts";
import { referenceOfRevision, requestOf } from "../fetch/package-request.ts";
import type { PackageType } from "../package-kinds.ts";
import { inTime } from "../pass-signals.ts";
import { type RevisionPass, steps } from "./revision-pass.ts";
import { warn } from "./tell-revision.ts";

/** Reads the package of a revision and notes what it says of itself. What should not be in it is only told. */
export async function fetchContents(pass: RevisionPass): Promise<PackageContents> {
  const { packages, revision, signal, found } = pass;
  const request = requestOf(revision, referenceOfRevision(revision), signal);
  const read = async (): Promise<{ resolved: ResolvedPackage; contents: PackageContents }> => {
    const looked = await packages.resolve(request);
    return { resolved: looked, contents: await packages.contents(looked, request) };
  };
  const { resolved, contents } = await attempt(steps.parse, () => inTime(pass, read, `reading ${request.reference}`));
  const applied = resolved.applied.length > 0 ? (resolved.applied as unknown as JsonValue) : undefined;
  found.set("resolvedImage", resolved.resolved);
  found.set("appliedImageConfigRefs", applied);
  await attempt(steps.validate, () => requireKind(pass.type, contents));
  const { capabilities } = contents.meta;
  found.set("capabilities", capabilities.length > 0 ? [...capabilities] : undefined);
  for (const finding of contents.findings) warn(pass, "LintPackage", finding);
  return contents;
}

function requireKind({ kind }: PackageType, { meta }: PackageContents): void {
  if (meta.kind !== kind) throw new Error(`the package is a ${meta.kind}, not a ${kind}; install it as a ${meta.kind}`);
}

/** Why the package does not suit this control plane; undefined when it does, or when nobody minds. */
export function incompatibility(
  { revision, crossplaneVersion }: Pick<RevisionPass, "revision" | "crossplaneVersion">,
  { meta }: Pick<PackageContents, "meta">,
): string | undefined {
  const { ignoreCrossplaneConstraints } = revision["spec"] as { ignoreCrossplaneConstraints?: boolean };
  const version = parseVersion(crossplaneVersion);
  if (ignoreCrossplaneConstraints === true || meta.crossplaneConstraint === undefined || version === undefined) {
    return undefined;
  }
  if (parseConstraint(meta.crossplaneConstraint).allows(version)) return undefined;
  const wanted = `it wants ${meta.crossplaneConstraint}`;
  return `${steps.compatible.text}: package is not compatible with Crossplane version (${crossplaneVersion}); ${wanted}`;
}
