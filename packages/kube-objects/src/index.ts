// SPDX-License-Identifier: Apache-2.0

// Server-side apply and field ownership.
export { applyTypeOf, customResourceType } from "./apply/apply-schema.ts";
export type { ApplyType } from "./apply/apply-type.ts";
export type { ApplyVersions } from "./apply/apply-versions.ts";
export { createFieldManager, type FieldManager } from "./apply/field-manager.ts";
export { emptySet, type FieldSet, fieldSetOfPaths } from "./apply/field-set.ts";
export { decodeFieldsV1, encodeFieldsV1 } from "./apply/fields-v1.ts";
export { managerName } from "./apply/manager-name.ts";
export { decodeManagers, managedFieldsOf } from "./apply/managers.ts";
export { managersOfParent, managersOfScale } from "./apply/scale-managers.ts";
export { timestamp } from "./apply/timestamp.ts";
export { fieldSetOf } from "./apply/typed-field-set.ts";
export { unlessOnlyTimesChanged } from "./apply/unchanged.ts";
// OpenAPI v3 documents: those of the built-in kinds, those of custom ones, and how to read any.
export { builtinOpenAPI, type OpenAPIDocuments } from "./builtin/builtin-openapi.ts";
// Failures and findings, in the reference server's codes and words.
export { createErrorBrand } from "./error-brand.ts";
export {
  duplicatePrinted,
  duplicateValue,
  type FieldError,
  fieldErrorsText,
  fieldErrorText,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  notFoundValue,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedPrinted,
  unsupportedValue,
} from "./field-error.ts";
export { childPath, type FieldPath, indexPath, keyPath } from "./field-path.ts";
// Types of objects.
export { formatApiVersion, formatGvk, type GroupVersionKind, gvkOf, parseApiVersion } from "./gvk.ts";
export { ageOf, humanDuration } from "./human-duration.ts";
// JSON with the reference server's fidelity.
export { goJson, goNumber, goQuote, isGoPrintable } from "./json/go-text.ts";
export { goPlain, goTypeName } from "./json/go-value.ts";
export { jsonEqual } from "./json/json-equal.ts";
export { jsonKind } from "./json/json-kind.ts";
export { type Fractions, type JsonReading, JsonSyntaxError } from "./json/json-reader.ts";
export { countJsonValues } from "./json/json-scan.ts";
export { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "./json/json-value.ts";
export { ownValue, setOwnValue } from "./json/own-value.ts";
export { maxJsonDepth, parseJson, parseJsonStrict, parsingJsonStrict } from "./json/parse-json.ts";
export { printJson } from "./json/print-json.ts";
export { compareUtf8, sortedKeys, utf8Length } from "./json/utf8.ts";
// Metadata and its rules.
export { labelKeyProblems, labelValueProblems } from "./label-syntax.ts";
export type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "./metadata.ts";
export { generateName, type RandomInteger } from "./metadata-generate-name.ts";
export { validateManagedFieldEntries } from "./metadata-managed-fields.ts";
export {
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelName,
  type NameRule,
  pathSegmentName,
  subdomainName,
} from "./metadata-names.ts";
export {
  validateAnnotations,
  validateLabels,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./metadata-validation.ts";
export { crdToOpenAPI } from "./openapi/crd-openapi.ts";
export { findSchema } from "./openapi/find-schema.ts";
export { inlineReferences } from "./openapi/inline-references.ts";
export { mergeOpenAPI } from "./openapi/merge-openapi.ts";
export type { OpenAPIDocument, OpenAPISource } from "./openapi/open-api-document.ts";
export { isOpenAPIError } from "./openapi/open-api-error.ts";
export { openAPIPathKey, parseOpenAPIPathKey } from "./openapi/path-key.ts";
export { referenceTo, referredComponent } from "./openapi/reference.ts";
// Patches.
export { consumedPatch } from "./patch/consumed-patch.ts";
export {
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
  type FieldValidation,
  patchResultInvalid,
  strictDecodingText,
} from "./patch/decode-patch.ts";
export { applyJsonPatch, applyWrittenPatch } from "./patch/json-patch.ts";
export { applyMergePatch, createMergePatch } from "./patch/merge-patch.ts";
export { jsonPatchedText, mergePatchedText } from "./patch/patched-text.ts";
export { validateDryRun, validatePatchOptions, validateWriteOptions } from "./patch/request-options.ts";
export { applyStrategicMergePatch, type StrategicMergeSchema } from "./patch/strategic-merge.ts";
export type { WrittenValue } from "./patch/written-numbers.ts";
// Kubernetes' protobuf encoding of the built-in kinds, as typed Go clients send it.
export { decodeProtobuf } from "./protobuf/decode-protobuf.ts";
export { ProtobufError } from "./protobuf/protobuf-reader.ts";
// Checking values against schemas.
export { checkSchema } from "./schema/check-schema.ts";
export { checkingValue, checkValue } from "./schema/check-value.ts";
export { closestName } from "./schema/closest-name.ts";
export { checkEmbeddedResources } from "./schema/embedded-resources.ts";
export type { SchemaFinding } from "./schema/finding.ts";
export { isCheckedFormat } from "./schema/formats.ts";
export { linearPattern } from "./schema/linear-pattern.ts";
export { checkListTypes } from "./schema/list-types.ts";
export { findUnknownFields } from "./schema/unknown-fields.ts";
// Label and field selectors.
export {
  exactFieldValue,
  type FieldSelector,
  fieldLabelNotSupported,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  unknownFieldSelector,
} from "./selector/field-selector.ts";
export {
  formatLabelSelector,
  type LabelSelector,
  matchesLabels,
  parseLabelSelector,
} from "./selector/label-selector.ts";
export { type LabelSelectorObject, labelSelectorOf } from "./selector/label-selector-object.ts";
export { findStatusError, isStatusError, type Status, StatusError, type StatusReason } from "./status-error.ts";
export {
  alreadyExists,
  badRequest,
  conflict,
  expired,
  forbidden,
  generateNameConflict,
  internalError,
  invalid,
  methodNotSupported,
  modifiedText,
  namespaceTerminating,
  notAcceptable,
  notFound,
  patchNotApplicable,
  type ResourceName,
  requestEntityTooLarge,
  serviceUnavailable,
  timeout,
  tooLargeResourceVersion,
  tooManyRequests,
  unauthorized,
  unclassifiedError,
  unsupportedMediaType,
} from "./status-error-constructors.ts";
export {
  ignoreNotFound,
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isExpired,
  isForbidden,
  isGone,
  isInvalid,
  isNotAcceptable,
  isNotFound,
  isTooLargeResourceVersion,
  isTooManyRequests,
  isUnauthorized,
} from "./status-error-guards.ts";
// Structural schemas applied to custom objects.
export { coerceEmbedded } from "./structural/coerce-embedded.ts";
export { applyDefaults, dropForbiddenNulls } from "./structural/default-values.ts";
export { prune } from "./structural/prune.ts";
// Work in parts that does not hold the event loop.
export { finish, inTurns, nextTurn, type Work } from "./turns.ts";
export { requireConvertible } from "./typed/map-conversion.ts";
// Built-in kinds the way the reference server stores them.
export { canonicalQuantity, compareQuantities, quantityValue } from "./typed/quantity.ts";
export { TypedFormError } from "./typed/typed-error.ts";
export { hasTypedForm, toTypedForm, toTypedMetadata, typing } from "./typed/typed-form.ts";
export { inTypedOrder } from "./typed/typed-order.ts";
