// SPDX-License-Identifier: Apache-2.0
// Parts of a CRD, where one of our kinds describes another kind.
import { atomicMap, checked, integer32, listOf, mapOf, object, type Schema, text } from "@purlin/kube-controller";

/** Names of a kind. */
export const crdNames: Schema = object({
  categories: listOf(text, "atomic"),
  "kind*": text,
  listKind: text,
  "plural*": text,
  shortNames: listOf(text, "atomic"),
  singular: text,
});

/** The names with the rules that the API server would only tell when it sees the CRD. */
export function lowercase(names: Schema): Schema {
  return checked(names, {
    "self.plural == self.plural.lowerAscii()": "Plural name must be lowercase",
    "!has(self.singular) || self.singular == self.singular.lowerAscii()": "Singular name must be lowercase",
  });
}

/** How objects are converted between versions. */
export const conversion: Schema = object({
  "strategy*": text,
  webhook: object({
    clientConfig: object({
      caBundle: { type: "string", format: "byte" },
      service: object({ "name*": text, "namespace*": text, path: text, port: integer32 }),
      url: text,
    }),
    "conversionReviewVersions*": listOf(text, "atomic"),
  }),
});

/** A label selector. */
export const labelSelector: Schema = atomicMap(
  object({
    matchExpressions: listOf(object({ "key*": text, "operator*": text, values: listOf(text, "atomic") }), "atomic"),
    matchLabels: mapOf(),
  }),
);

/** A column of `kubectl get`. */
export const printerColumn: Schema = object({
  description: text,
  format: text,
  "jsonPath*": text,
  "name*": text,
  priority: integer32,
  "type*": text,
});

/** Where `kubectl scale` finds its numbers. */
export const scale: Schema = object({
  labelSelectorPath: text,
  "specReplicasPath*": text,
  "statusReplicasPath*": text,
});
