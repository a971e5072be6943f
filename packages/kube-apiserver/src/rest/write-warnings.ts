// SPDX-License-Identifier: Apache-2.0
import { compareUtf8, goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-meta.ts";
import type { ObjectChange } from "../strategy/object-strategy.ts";
import type { RestRequest } from "./rest-context.ts";

/** The warnings for a valid write. */
export function writeWarnings(
  { strategy, type }: RestRequest,
  object: JsonObject,
  old: JsonObject | undefined,
): readonly string[] {
  return type.custom ? finalizerWarnings(object, old) : strategy.validator.warnings({ object, old, endpoint: "" });
}

/** What validation itself has to say, whether or not the object is valid: what an update of a custom object left wrong. */
export function validationWarnings({ strategy, type }: RestRequest, change: ObjectChange): readonly string[] {
  return type.custom ? strategy.validator.warnings(change) : [];
}

const standardFinalizers: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

/** Finalizers of custom kinds should say whose they are; those of built-in kinds must. */
function finalizerWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const before = new Set(old === undefined ? [] : (metaOf(old).finalizers ?? []));
  const added = [...new Set(metaOf(object).finalizers ?? [])].filter(
    (name) => !before.has(name) && !name.includes("/"),
  );
  return added
    .filter((name) => !standardFinalizers.has(name))
    .sort(compareUtf8)
    .map((name) => {
      const path = name.includes(".") ? " including a path (/)" : "";
      const advice = `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
      return `metadata.finalizers: ${goQuote(name)}: ${advice}`;
    });
}
