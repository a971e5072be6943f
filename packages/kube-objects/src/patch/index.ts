// SPDX-License-Identifier: Apache-2.0
// JSON patches, merge patches and strategic merge patches.

export {
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
  type FieldValidation,
  patchResultInvalid,
  strictDecodingText,
  validateDryRun,
  validatePatchOptions,
  validateWriteOptions,
} from "./decode-patch.ts";
export {
  applyingJsonPatch,
  applyingWrittenPatch,
  applyJsonPatch,
  consumedPatch,
  jsonPatchedText,
  mergePatchedText,
} from "./json-patch.ts";
export { applyingMergePatch, applyMergePatch, createMergePatch, withoutNulls } from "./merge-patch.ts";
export type { WrittenValue } from "./patch-document.ts";
export { applyingStrategicMergePatch, applyStrategicMergePatch, type StrategicMergeSchema } from "./strategic-merge.ts";
