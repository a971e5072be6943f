// SPDX-License-Identifier: Apache-2.0
// The rules for metadata: names, labels, annotations, owner references, managed fields.

export {
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  generateName,
  labelKeyProblems,
  labelName,
  labelValueProblems,
  type NameRule,
  pathSegmentName,
  type RandomInteger,
  subdomainName,
  subdomainWithUnderscoreProblems,
} from "./names.ts";
export {
  validateAnnotations,
  validateLabels,
  validateManagedFieldEntries,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./validate-metadata.ts";
