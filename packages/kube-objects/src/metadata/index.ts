// SPDX-License-Identifier: Apache-2.0
// The rules for metadata: names, labels, annotations, owner references, managed fields.
export { generateName, type RandomInteger } from "./generate-name.ts";
export { labelKeyProblems, labelValueProblems } from "./label-syntax.ts";
export { validateManagedFieldEntries } from "./managed-fields.ts";
export {
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelName,
  type NameRule,
  pathSegmentName,
  subdomainName,
} from "./names.ts";
export {
  validateAnnotations,
  validateLabels,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./validate-metadata.ts";
