// SPDX-License-Identifier: Apache-2.0
import type { Json, OriginalDocument } from "./original.ts";
import { referencesIn } from "./original.ts";

/** The components that the operations of a document name directly, sorted. */
export function rootComponents(document: OriginalDocument): string[] {
  return [...referencesIn(Object.values(document.paths))].sort();
}

const metaMessages = [
  ...["CreateOptions", "UpdateOptions", "PatchOptions", "DeleteOptions"],
  ...["PartialObjectMetadata", "Status"],
];

/** The requests and responses of webhooks. */
const reviews = ["v1", "v1beta1"].flatMap((version) => [
  `admission.${version}.AdmissionReview`,
  `apiextensions.${version}.ConversionReview`,
]);

/** The Go types of all kinds that have a component, as `core.v1.Pod`, of the kinds that every group version has, and of reviews. */
export function goTypesOf(schemas: Readonly<Record<string, Json>>): string[] {
  const kinds = Object.entries(schemas)
    .filter(([, schema]) => schema["x-kubernetes-group-version-kind"] !== undefined)
    .map(([component]) => component.split(".").slice(-3).join("."))
    .filter((name) => !name.startsWith("meta.") && !name.endsWith("List"));
  return [...kinds, ...metaMessages.map((name) => `meta.v1.${name}`), ...reviews, "core.v1.List"].sort();
}
