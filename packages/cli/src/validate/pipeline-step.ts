// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Manifest } from "../manifests/manifest.ts";
import type { CheckCode, Finding } from "./finding.ts";
import type { ScratchServer } from "./kind-schemas.ts";
import type { KnownPackage } from "./packages.ts";

/** Everything that Compositions may refer to. */
export interface Bag {
  readonly manifests: readonly Manifest[];
  readonly packages: readonly KnownPackage[];
  readonly scratch: ScratchServer;
}

/** A step of a pipeline. */
export interface Step {
  readonly manifest: Manifest;
  readonly path: readonly PathSegment[];
  readonly name: string;
  readonly functionName: string;
  readonly input: JsonObject | undefined;
}

/** The steps of a Composition. */
export function stepsOf(manifest: Manifest): Step[] {
  const pipeline = memberAt(manifest.object, ["spec", "pipeline"]);
  if (!isJsonArray(pipeline)) return [];
  return pipeline.flatMap((step, index): Step[] => {
    if (!isJsonObject(step)) return [];
    const { step: name, functionRef, input } = step;
    const functionName = isJsonObject(functionRef) ? functionRef["name"] : undefined;
    return [
      {
        manifest,
        path: ["spec", "pipeline", index],
        name: typeof name === "string" ? name : "",
        functionName: typeof functionName === "string" ? functionName : "",
        input: isJsonObject(input) ? input : undefined,
      },
    ];
  });
}

/** The type that a Composition is for. */
export const compositeType = ({ object }: Manifest): TypeRef => ({
  apiVersion: textAt(object, ["spec", "compositeTypeRef", "apiVersion"]) ?? "",
  kind: textAt(object, ["spec", "compositeTypeRef", "kind"]) ?? "",
});

/** Whether a step patches and transforms. */
export function isPatchInput(input: JsonObject | undefined): input is JsonObject {
  return input?.["kind"] === "Resources" && String(input["apiVersion"]).startsWith("pt.fn.crossplane.io/");
}

/** An object inside a manifest, whose fields stand where the manifest has them. */
export function inside(manifest: Manifest, prefix: readonly PathSegment[], object: KubeObject): Manifest {
  return { object, file: manifest.file, at: (path = []) => manifest.at([...prefix, ...path]) };
}

/** Findings about an object inside a manifest, as findings about the manifest. */
export function outside(
  findings: readonly Finding[],
  {
    manifest,
    prefix,
    code,
  }: { readonly manifest: Manifest; readonly prefix: readonly PathSegment[]; readonly code: CheckCode },
): Finding[] {
  return findings.map((finding) => ({ ...finding, code, manifest, path: [...prefix, ...finding.path] }));
}
