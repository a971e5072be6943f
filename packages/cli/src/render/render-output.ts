// SPDX-License-Identifier: Apache-2.0
import type { Rendered } from "@purlin/composition/render";
import { isJsonObject, type JsonObject, type JsonValue, sortedKeys } from "@purlin/kube-objects";
import { printYaml } from "../files/print-yaml.ts";

/** What to print of a render. */
export interface OutputOptions {
  readonly fullXr: boolean;
  readonly showResults: boolean;
  readonly showContext: boolean;
}

const apiVersion = "render.crossplane.io/v1beta1";

/** The documents of a render: the XR, its resources, results, context. */
export function renderedDocuments(rendered: Rendered, options: OutputOptions): readonly JsonObject[] {
  const { xr, resources, results, context } = rendered;
  const documents: unknown[] = [options.fullXr ? xr.full : xr.short, ...resources];
  if (options.showResults) {
    for (const { type, reason, message } of results) {
      documents.push({ apiVersion, kind: "Result", severity: type, reason, message });
    }
  }
  if (options.showContext && context !== undefined) documents.push({ apiVersion, kind: "Context", fields: context });
  return documents as JsonObject[];
}

/** Documents as YAML, each begun by a line of its own, members in the order of their names. */
export function printDocuments(documents: readonly JsonObject[]): string {
  return documents.map((document) => `---\n${printYaml(sorted(document))}`).join("");
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(sortedKeys(value).map((key) => [key, sorted(value[key] ?? null)]));
}
