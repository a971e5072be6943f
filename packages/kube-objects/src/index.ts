// SPDX-License-Identifier: Apache-2.0

// Failures and findings, in the reference server's codes and words.
export {
  duplicateValue,
  type FieldError,
  type FieldErrorType,
  fieldErrorsText,
  fieldErrorText,
  fieldValueText,
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
  unsupportedValue,
} from "./field-error.ts";
export { childPath, type FieldPath, indexPath, keyPath } from "./field-path.ts";
// JSON with the reference server's fidelity.
export { goJson, goNumber, goQuote } from "./json/go-text.ts";
export { jsonEqual } from "./json/json-equal.ts";
export { type JsonReading, JsonSyntaxError } from "./json/json-reader.ts";
export { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "./json/json-value.ts";
export { ownValue, setOwnValue, withOwnValue, withoutOwnValue } from "./json/own-value.ts";
export { maxJsonDepth, parseJson, parseJsonStrict } from "./json/parse-json.ts";
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
