// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalid, managerName, unsupportedValue, validateFieldManager } from "@purlin/kube-objects";
import type { ApiRequest } from "../request/api-request.ts";

/** What is done about fields a type does not have. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** How a write is to be made. */
export interface WriteOptions {
  /** Everything but storing. */
  readonly dryRun: boolean;
  /** Who is recorded as the manager of what changes. */
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
}

const FIELD_VALIDATIONS = ["", "Ignore", "Strict", "Warn"] as const;

/** Reads the options of a write from its query. Throws 422 in the name of the options' kind. */
export function writeOptions(
  request: ApiRequest,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
): WriteOptions {
  const { query } = request;
  const fieldManager = query.get("fieldManager") ?? "";
  const fieldValidation = query.get("fieldValidation") ?? "";
  const errors = [
    ...validateFieldManager(fieldManager, "fieldManager"),
    ...dryRunErrors(query.getAll("dryRun")),
    ...fieldValidationErrors(fieldValidation),
  ];
  if (errors.length > 0) {
    throw invalid({ group: "meta.k8s.io", kind }, "", errors);
  }
  return {
    dryRun: query.has("dryRun"),
    manager: managerName(fieldManager, request.headers["user-agent"]),
    fieldValidation: fieldValidation === "" ? "Warn" : (fieldValidation as FieldValidation),
  };
}

/** What is wrong with a list of dryRun values: only "All" is understood. */
export function dryRunErrors(values: readonly string[]): FieldError[] {
  return values.every((value) => value === "All") ? [] : [unsupportedValue("dryRun", [...values], ["All"])];
}

function fieldValidationErrors(value: string): FieldError[] {
  const known: readonly string[] = FIELD_VALIDATIONS;
  return known.includes(value) ? [] : [unsupportedValue("fieldValidation", value, known)];
}
