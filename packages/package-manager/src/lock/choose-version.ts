// SPDX-License-Identifier: Apache-2.0
import { compareVersions, isDigest, parseConstraint, parseVersion, type Version } from "@purlin/oci";

/** The whole versions among some tags, lowest first, each as it was written. */
function wholeVersions(tags: readonly string[]): { readonly tag: string; readonly version: Version }[] {
  return tags
    .flatMap((tag) => {
      const version = parseVersion(tag);
      return version !== undefined && version.written === 3 ? [{ tag, version }] : [];
    })
    .toSorted((a, b) => compareVersions(a.version, b.version));
}

/** The highest tag that all constraints allow. */
export function highestAllowed(tags: readonly string[], constraints: readonly string[]): string | undefined {
  const parsed = constraints.map(parseConstraint);
  return wholeVersions(tags).findLast(({ version }) => parsed.every((one) => one.allows(version)))?.tag;
}

/**
 * The version for an installed package that does not satisfy all constraints: the lowest higher one, or, if downgrades are allowed, the
 * highest lower one.
 */
export function nearestAllowed(
  tags: readonly string[],
  {
    installed,
    constraints,
    allowDowngrade,
  }: { installed: string; constraints: readonly string[]; allowDowngrade: boolean },
): string | undefined {
  const parsed = constraints.map(parseConstraint);
  const allowed = wholeVersions(tags).filter(({ version }) => parsed.every((one) => one.allows(version)));
  const from = parseVersion(installed);
  if (from === undefined) return allowed.at(-1)?.tag;
  const up = allowed.find(({ version }) => compareVersions(version, from) >= 0);
  if (up !== undefined || !allowDowngrade) return up?.tag;
  return allowed.at(-1)?.tag;
}

/** The digest that constraints ask for; undefined when they ask for versions. Both at once, or two digests, throw. */
export function commonDigest(constraints: readonly string[], source: string): string | undefined {
  const digests = new Set(constraints.filter(isDigest));
  const [digest, another] = digests;
  if (digest === undefined) return undefined;
  if (another !== undefined) throw new Error(`${source} is wanted in different digests: ${[...digests].join(", ")}`);
  if (constraints.some((one) => !isDigest(one))) {
    throw new Error(`${source} is wanted both by digest and by version: ${constraints.join(", ")}`);
  }
  return digest;
}
