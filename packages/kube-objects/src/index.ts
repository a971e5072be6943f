// SPDX-License-Identifier: Apache-2.0

// Server-side apply and field ownership.
export { type ApplyTypeOptions, applyTypeOf, customResourceType } from "./apply/apply-schema.ts";
export {
  type ApplyType,
  deduced,
  type FieldType,
  type ListType,
  type MapType,
  type ScalarKind,
} from "./apply/apply-type.ts";
export type { ApplyVersions } from "./apply/apply-versions.ts";
export { type ExtractOptions, extractApplied } from "./apply/extract.ts";
export {
  type ApplyRequest,
  createFieldManager,
  type FieldManager,
  type FieldManagerOptions,
  type UpdateResult,
} from "./apply/field-manager.ts";
export { emptySet, type FieldSet, fieldSetOfPaths, hasFieldPath, isEmptySet } from "./apply/field-set.ts";
export { decodeFieldsV1, encodeFieldsV1 } from "./apply/fields-v1.ts";
export { lastAppliedAnnotation } from "./apply/last-applied.ts";
export { managerName } from "./apply/manager-name.ts";
export { decodeManagers, isManagedFieldsReset, managedFieldsOf } from "./apply/managers.ts";
export { managersOfParent, managersOfScale, type ReplicasPaths, type ScaleChange } from "./apply/scale-managers.ts";
export { timestamp } from "./apply/timestamp.ts";
export { fieldSetOf } from "./apply/typed-field-set.ts";
export { unlessOnlyTimesChanged } from "./apply/unchanged.ts";
// OpenAPI v3 documents: those of the built-in kinds, those of custom ones, and how to read any.
export { builtinOpenAPI, type OpenAPIDocuments } from "./builtin/builtin-openapi.ts";
// Failures and findings, in the reference server's codes and words.
export { createErrorBrand, type ErrorBrand } from "./error-brand.ts";
export {
  duplicatePrinted,
  duplicateValue,
  type FieldError,
  type FieldErrorType,
  fieldErrorsText,
  fieldErrorText,
  fieldValueText,
  firstErrors,
  forbiddenValue,
  internalFieldError,
  invalidPrinted,
  invalidType,
  invalidValue,
  notFoundValue,
  requiredValue,
  tooFew,
  tooLong,
  tooLongCharacters,
  tooMany,
  tooShort,
  unsupportedPrinted,
  unsupportedValue,
} from "./field-error.ts";
export { childPath, type FieldPath, indexPath, keyPath } from "./field-path.ts";
// Types of objects.
export {
  equalGvk,
  formatApiVersion,
  formatGvk,
  type GroupVersion,
  type GroupVersionKind,
  gvkOf,
  parseApiVersion,
} from "./gvk.ts";
export { ageOf, humanDuration } from "./human-duration.ts";
// JSON with the reference server's fidelity.
export { goJson, goNumber, goQuote, isGoPrintable } from "./json/go-text.ts";
export { goPlain, goTypeName } from "./json/go-value.ts";
export { jsonEqual } from "./json/json-equal.ts";
export { jsonKind } from "./json/json-kind.ts";
export { type Fractions, type JsonReading, JsonSyntaxError } from "./json/json-reader.ts";
export { countJsonValues } from "./json/json-scan.ts";
export { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "./json/json-value.ts";
export { ownValue, setOwnValue, withOwnValue, withoutOwnValue } from "./json/own-value.ts";
export { maxJsonDepth, parseJson, parseJsonStrict, parsingJsonStrict } from "./json/parse-json.ts";
export { type PrintJsonOptions, printJson } from "./json/print-json.ts";
export { compareUtf8, sortedKeys, utf8Length } from "./json/utf8.ts";
// Metadata and its rules.
export { labelKeyProblems, labelValueProblems } from "./label-syntax.ts";
export type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "./metadata.ts";
export { generateName, type RandomInteger } from "./metadata-generate-name.ts";
export { maxFieldManagerBytes, validateFieldManager, validateManagedFieldEntries } from "./metadata-managed-fields.ts";
export {
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  label1035Name,
  labelName,
  type NameRule,
  pathSegmentName,
  subdomainName,
} from "./metadata-names.ts";
export { validateOwnerReferences } from "./metadata-owner-references.ts";
export {
  annotationsBytes,
  maxAnnotationsBytes,
  type ObjectMetaRules,
  validateAnnotations,
  validateFinalizers,
  validateLabels,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./metadata-validation.ts";
export { crdToOpenAPI, customResourceComponent } from "./openapi/crd-openapi.ts";
export { findSchema } from "./openapi/find-schema.ts";
export { inlineReferences, inliningLimits } from "./openapi/inline-references.ts";
export { mergeOpenAPI } from "./openapi/merge-openapi.ts";
export type { OpenAPIDocument, OpenAPISchema, OpenAPISource } from "./openapi/open-api-document.ts";
export { isOpenAPIError, OpenAPIError } from "./openapi/open-api-error.ts";
export { openAPIPathKey, parseOpenAPIPathKey } from "./openapi/path-key.ts";
export { referenceTo, referredComponent } from "./openapi/reference.ts";
// Patches.
export { consumedPatch } from "./patch/consumed-patch.ts";
export {
  type DecodedPatch,
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
  type FieldValidation,
  patchResultInvalid,
  strictDecodingText,
} from "./patch/decode-patch.ts";
export {
  applyJsonPatch,
  applyWrittenPatch,
  type JsonPatchOperation,
  maxJsonPatchCopyBytes,
} from "./patch/json-patch.ts";
export { applyMergePatch, createMergePatch } from "./patch/merge-patch.ts";
export { jsonPatchedText, mergePatchedText } from "./patch/patched-text.ts";
export {
  type PatchOptions,
  validateDryRun,
  validatePatchOptions,
  validateWriteOptions,
  type WriteOptions,
} from "./patch/request-options.ts";
export { applyStrategicMergePatch, type StrategicMergeSchema } from "./patch/strategic-merge.ts";
export type { WrittenValue } from "./patch/written-numbers.ts";
// Kubernetes' protobuf encoding of the built-in kinds, as typed Go clients send it.
export { type DecodedProtobuf, decodeProtobuf, isKubernetesProtobuf } from "./protobuf/decode-protobuf.ts";
export { ProtobufError } from "./protobuf/protobuf-reader.ts";
// Checking values against schemas.
export { type CheckSchemaOptions, checkSchema, findingText } from "./schema/check-schema.ts";
export { type CheckValueOptions, checkingValue, checkValue } from "./schema/check-value.ts";
export { closestName } from "./schema/closest-name.ts";
export { checkEmbeddedResources } from "./schema/embedded-resources.ts";
export type { SchemaFinding } from "./schema/finding.ts";
export { isCheckedFormat, stringFormatCheck } from "./schema/formats.ts";
export { type LinearPattern, linearPattern } from "./schema/linear-pattern.ts";
export { checkListTypes } from "./schema/list-types.ts";
export { findUnknownFields, type UnknownField } from "./schema/unknown-fields.ts";
// Label and field selectors.
export {
  escapeFieldValue,
  exactFieldValue,
  type FieldRequirement,
  type FieldSelector,
  fieldLabelNotSupported,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  unknownFieldSelector,
} from "./selector/field-selector.ts";
export { createRequirement, type LabelOperator, type LabelRequirement } from "./selector/label-requirement.ts";
export {
  exactLabelValue,
  formatLabelSelector,
  type LabelSelector,
  matchesLabels,
  parseLabelSelector,
  selectNothing,
} from "./selector/label-selector.ts";
export {
  type LabelSelectorExpression,
  type LabelSelectorObject,
  labelSelectorOf,
  validateLabelSelector,
} from "./selector/label-selector-object.ts";
export {
  findStatusError,
  isStatusError,
  type Status,
  type StatusCause,
  type StatusDetails,
  StatusError,
  type StatusReason,
  toStatus,
} from "./status-error.ts";
export {
  alreadyExists,
  applyConflict,
  badRequest,
  conflict,
  expired,
  forbidden,
  generateNameConflict,
  gone,
  internalError,
  invalid,
  type KindName,
  methodNotSupported,
  modifiedText,
  namespaceTerminating,
  notAcceptable,
  notFound,
  patchNotApplicable,
  type ResourceName,
  requestEntityTooLarge,
  resourceText,
  serverTimeout,
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
  isInternalError,
  isInvalid,
  isMethodNotSupported,
  isNotAcceptable,
  isNotFound,
  isRequestEntityTooLarge,
  isServerTimeout,
  isServiceUnavailable,
  isTimeout,
  isTooLargeResourceVersion,
  isTooManyRequests,
  isUnauthorized,
  isUnsupportedMediaType,
  statusCause,
  suggestedDelaySeconds,
} from "./status-error-guards.ts";
// Structural schemas applied to custom objects.
export { type Coerced, coerceEmbedded } from "./structural/coerce-embedded.ts";
export { applyDefaults, dropForbiddenNulls } from "./structural/default-values.ts";
export { type Pruned, prune } from "./structural/prune.ts";
// Work in parts that does not hold the event loop.
export { finish, inTurns, nextTurn, type Work } from "./turns.ts";
export { requireConvertible } from "./typed/map-conversion.ts";
// Built-in kinds the way the reference server stores them.
export { canonicalQuantity, compareQuantities, quantityValue } from "./typed/quantity.ts";
export { TypedFormError } from "./typed/typed-error.ts";
export { hasTypedForm, type TypedForm, toTypedForm, toTypedMetadata, typing } from "./typed/typed-form.ts";
export { inTypedOrder } from "./typed/typed-order.ts";
