// SPDX-License-Identifier: Apache-2.0
// Status errors, field errors and wrapped errors, in the codes and words of the Kubernetes API server.
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
export { during, textOf, wrapError } from "./wrap-error.ts";
