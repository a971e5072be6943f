// SPDX-License-Identifier: Apache-2.0
import { deriveCrds, storedDefinition } from "@purlin/composition";
import { findStatusError } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { parseFieldPath } from "../files/yaml-position.ts";
import { objectProblems } from "../manifests/apply-problem.ts";
import { keywordProblems } from "../manifests/definition-problems.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { isDefinition } from "../tree/defined-kinds.ts";
import { textOf } from "../user-error.ts";
import type { Finding } from "./finding.ts";
import type { ScratchServer } from "./scratch-server.ts";

/** Makes the kinds of XRDs and CRDs known, and says what is wrong with definitions. Their own fields are checked as those of any object. */
export async function defineKinds(definitions: readonly Manifest[], scratch: ScratchServer): Promise<Finding[]> {
  const findings: Finding[] = [];
  const defined = new Map<string, Manifest>();
  for (const manifest of definitions) {
    if (isDefinition(manifest.object)) findings.push(...keywordProblems(manifest.object).map(findingOf(manifest)));
    const crds = crdsOf(manifest);
    if (!Array.isArray(crds)) {
      findings.push(crds);
      continue;
    }
    for (const crd of crds) {
      const name = crd.metadata.name ?? "";
      const other = defined.get(name);
      if (other !== undefined) {
        findings.push(duplicate(manifest, name, other));
        continue;
      }
      defined.set(name, manifest);
      findings.push(...(await define(crd, manifest, scratch)));
    }
  }
  return findings;
}

function crdsOf(manifest: Manifest): KubeObject[] | Finding {
  const { object } = manifest;
  if (!isDefinition(object)) return [object];
  try {
    return deriveCrds(storedDefinition(object) ?? object, { functionRevisions: true });
  } catch (error) {
    const text = textOf(error);
    const [field = ""] = /\bspec(\.[\w-]+|\[\w+\])*(?=:)/.exec(text) ?? [];
    const rest = field === "" ? text : text.slice(text.indexOf(field));
    return findingOf(manifest)({ path: parseFieldPath(field), text: rest });
  }
}

/** The server answers about a CRD; the fields of its versions are in the same place in the XRD. */
async function define(crd: KubeObject, manifest: Manifest, scratch: ScratchServer): Promise<Finding[]> {
  try {
    // Without an owner and a status, which only stored objects have.
    const { status: _status, ...rest } = crd;
    const written: KubeObject = { ...rest, metadata: { name: crd.metadata.name ?? "" } };
    await scratch.client.create(written, { dryRun: true, fieldValidation: "Ignore" });
    await scratch.define([written]);
    return [];
  } catch (error) {
    if (findStatusError(error) === undefined) return [findingOf(manifest)({ path: [], text: textOf(error) })];
    return objectProblems(manifest, error).map(findingOf(manifest));
  }
}

const findingOf =
  (manifest: Manifest) =>
  ({ path, text }: Pick<Finding, "path" | "text">): Finding => ({
    code: "V04",
    level: "error",
    type: "schema",
    manifest,
    path,
    text,
  });

function duplicate(manifest: Manifest, name: string, other: Manifest): Finding {
  const at = other.at(["spec", "names"]);
  return findingOf(manifest)({
    path: ["spec", "names"],
    text: `spec.names: ${name} is also defined at ${at}: remove one of them`,
  });
}
