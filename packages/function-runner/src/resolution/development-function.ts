// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import { objectAt } from "@purlin/kube-objects/object";

/** How to reach a function without a package: at an address where its author runs it, or by running its source. */
export type DevelopmentFunction =
  /** It is called in plaintext, because its Function says so. */
  | { readonly kind: "target"; readonly endpoint: string }
  /** A source file that we run and reload, over mutual TLS. */
  | { readonly kind: "source"; readonly path: string };

/** The annotations by which a Function says that it is under development. */
export const developmentAnnotations = {
  runtime: "render.crossplane.io/runtime",
  target: "render.crossplane.io/runtime-development-target",
  source: "purlin.dev/source",
} as const;

const defaultTarget = "localhost:9443";

/** What a Function says about its development; undefined when its package is what runs. */
export function developmentOf(object: JsonObject): DevelopmentFunction | undefined {
  const metadata = objectAt(object, ["metadata"]);
  const annotations = objectAt(metadata, ["annotations"]);
  const source = annotations[developmentAnnotations.source];
  if (typeof source === "string" && source !== "") return { kind: "source", path: source };
  if (annotations[developmentAnnotations.runtime] !== "Development") return undefined;
  const target = annotations[developmentAnnotations.target];
  return { kind: "target", endpoint: typeof target === "string" && target !== "" ? target : defaultTarget };
}

/** A pipeline step whose Function does not exist. */
interface MissingFunction {
  readonly functionName: string;
  readonly step: string;
  /** The Composition of the step; empty where it is not known. */
  readonly composition: string;
  /** The names of all Functions. */
  readonly installed: readonly string[];
}

const listedNames = 20;

/** The message about a step that names a Function which does not exist. */
export function functionNotFound({ functionName, step, composition, installed }: MissingFunction): string {
  const of = composition === "" ? "" : ` of Composition "${composition}"`;
  return `Function "${functionName}" not found; referenced by step "${step}"${of}. Installed: ${listOf(installed)}`;
}

function listOf(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const sorted = names.toSorted();
  const more = sorted.length - listedNames;
  return sorted.slice(0, listedNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
