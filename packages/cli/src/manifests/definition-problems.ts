// SPDX-License-Identifier: Apache-2.0
import { unknownKeywords } from "@purlin/composition";
import { isJsonArray, isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PathSegment } from "../files/yaml-position.ts";
import { type ManifestProblem, pathText } from "./apply-problem.ts";
import type { Manifest } from "./manifest.ts";

/** Misspelled keywords in the schemas of an XRD, a line each. */
export function definitionProblems(manifest: Manifest): string[] {
  return keywordProblems(manifest.object).map(({ path, text }) => `${manifest.at(path)}: ${text}`);
}

/**
 * Misspelled keywords in the schemas of an XRD. The API server cannot report them: an XRD holds its schemas as free-form objects, and
 * they are dropped from the CRD that is made of it.
 */
export function keywordProblems(definition: KubeObject): ManifestProblem[] {
  return schemasOf(definition).flatMap(({ schema, path }) =>
    unknownKeywords(schema, path).map(({ path: at, closest }) => {
      const advice = closest === undefined ? "check its name and indentation" : `did you mean ${closest}?`;
      return { path: at, text: `${pathText(at)}: unknown schema keyword: ${advice}` };
    }),
  );
}

function schemasOf(object: KubeObject): { readonly schema: JsonValue; readonly path: readonly PathSegment[] }[] {
  const spec = object["spec"] as JsonValue | undefined;
  const versions = isJsonObject(spec) ? spec["versions"] : undefined;
  if (!isJsonArray(versions)) return [];
  return versions.flatMap((version, index) => {
    const holder = isJsonObject(version) ? version["schema"] : undefined;
    const schema = isJsonObject(holder) ? holder["openAPIV3Schema"] : undefined;
    return schema === undefined ? [] : [{ schema, path: ["spec", "versions", index, "schema", "openAPIV3Schema"] }];
  });
}
