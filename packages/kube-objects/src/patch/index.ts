// SPDX-License-Identifier: Apache-2.0
// JSON patches, merge patches and strategic merge patches.
export { consumedPatch } from "./consumed-patch.ts";
export {
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
  type FieldValidation,
  patchResultInvalid,
  strictDecodingText,
} from "./decode-patch.ts";
export { applyJsonPatch, applyWrittenPatch } from "./json-patch.ts";
export { applyMergePatch, createMergePatch, withoutNulls } from "./merge-patch.ts";
export { jsonPatchedText, mergePatchedText } from "./patched-text.ts";
export { validateDryRun, validatePatchOptions, validateWriteOptions } from "./request-options.ts";
export { applyStrategicMergePatch, type StrategicMergeSchema } from "./strategic-merge.ts";
export type { WrittenValue } from "./written-numbers.ts";
