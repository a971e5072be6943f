// SPDX-License-Identifier: Apache-2.0
// Rules that the schema of definitions cannot express, with errors in terms of the definition.

import { goQuote } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";
import { versionsOf } from "./definition-facts.ts";

/** Throws when the names of claims are missing, or are those of composite resources. */
export function checkClaimNames(xrd: KubeObject): void {
  if (memberAt(xrd, ["spec", "claimNames"]) === undefined) {
    throw new Error("invalid resource claim names: missing names");
  }
  for (const field of ["kind", "plural", "singular", "listKind"]) {
    const claim = textAt(xrd, ["spec", "claimNames", field]);
    if (claim !== undefined && claim === textAt(xrd, ["spec", "names", field])) {
      throw new Error(`invalid resource claim names: ${goQuote(claim)} conflicts with composite resource name`);
    }
  }
}

/**
 * Throws when the versions of a definition cannot become those of a CRD. The API server would refuse them too, but with an error
 * about a CRD that the author of the definition has never seen.
 */
export function checkVersions(xrd: KubeObject): void {
  const versions = versionsOf(xrd);
  requireDistinct(versions.map(({ name }) => String(name)));
  const referenceable = versions.filter((version) => version["referenceable"] === true);
  const [only, second] = referenceable;
  if (only === undefined) {
    throw new Error("spec.versions: none is referenceable; set referenceable: true on the version to store");
  }
  if (second !== undefined) {
    const list = referenceable.map(({ name }) => goQuote(String(name))).join(" and ");
    throw new Error(`spec.versions: only one may be referenceable, but ${list} are`);
  }
  if (only["served"] !== true) {
    const index = versions.indexOf(only);
    throw new Error(`spec.versions[${index}].served: the referenceable version must be served`);
  }
}

function requireDistinct(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new Error(`spec.versions: ${goQuote(name)} is there more than once`);
    seen.add(name);
  }
}
