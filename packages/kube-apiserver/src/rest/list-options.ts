// SPDX-License-Identifier: Apache-2.0
import {
  badRequest,
  type FieldError,
  forbiddenValue,
  invalid,
  tooLargeResourceVersion,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  type FieldSelector,
  fieldLabelNotSupported,
  type LabelSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  unknownFieldSelector,
} from "@purlin/kube-objects/selector";
import { metaOf } from "../objects/object-members.ts";
import type { Store } from "../store/store.ts";
import type { ObjectView } from "../strategy/object-strategy.ts";

/** Which objects are wanted. */
export interface Selection {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** Nothing is selected by: every object is wanted. */
  readonly isEverything: boolean;
}

/** Reads both selectors. Throws 400 for one that cannot be understood, or for a field that cannot be selected by. */
export function readSelection(query: URLSearchParams, view: ObjectView): Selection {
  const labels = parseLabels(query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "");
  for (const { field } of fields) {
    const problem = view.fieldProblem?.(field);
    if (problem !== undefined) throw badRequest(problem);
    if (fieldValue({}, field, view) === undefined) {
      throw view.hasOwnFields ? fieldLabelNotSupported(field) : unknownFieldSelector(field);
    }
  }
  return { labels, fields, isEverything: labels.length === 0 && fields.length === 0 };
}

function parseLabels(text: string): LabelSelector {
  return text === "" ? [] : parseLabelSelector(text);
}

/** Whether an object is wanted. */
export function isSelected(object: JsonObject, selection: Selection, view: ObjectView): boolean {
  return (
    matchesLabels(selection.labels, metaOf(object).labels) &&
    matchesFields(selection.fields, (field) => fieldValue(object, field, view) ?? "")
  );
}

/** Every object can be selected by its name and namespace. */
function fieldValue(object: JsonObject, field: string, view: ObjectView): string | undefined {
  const { name = "", namespace = "" } = metaOf(object);
  if (field === "metadata.name") return name;
  return field === "metadata.namespace" ? namespace : view.fieldValue(object, field);
}

/** How a list or a watch asks for a state. */
export interface VersionOptions {
  readonly resourceVersion: string;
  readonly match: "" | "Exact" | "NotOlderThan";
  readonly sendInitialEvents: boolean | undefined;
  readonly continueToken: string;
  readonly limit: number;
}

/** Reads what a list or watch asks for. Throws 422 for combinations that mean nothing. */
export function readVersionOptions(query: URLSearchParams, isWatch: boolean): VersionOptions {
  const options = {
    resourceVersion: query.get("resourceVersion") ?? "",
    match: query.get("resourceVersionMatch") ?? "",
    sendInitialEvents: readBoolean(query, "sendInitialEvents"),
    continueToken: query.get("continue") ?? "",
    limit: readInteger(query, "limit") ?? 0,
  };
  // An invalid number is refused even where it has no effect.
  readInteger(query, "timeoutSeconds");
  const errors = isWatch ? watchErrors(options) : listErrors(options);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
  return options as VersionOptions;
}

type Unchecked = Omit<VersionOptions, "match"> & { readonly match: string };

const matchParameter = "resourceVersionMatch";

function listErrors({ resourceVersion, match, continueToken, sendInitialEvents }: Unchecked): FieldError[] {
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined) {
    errors.push(forbiddenValue("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  if (match === "") return errors;
  if (resourceVersion === "") {
    errors.push(forbiddenValue(matchParameter, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  if (continueToken !== "") {
    errors.push(forbiddenValue(matchParameter, "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (match !== "Exact" && match !== "NotOlderThan") {
    errors.push(unsupportedValue(matchParameter, match, ["Exact", "NotOlderThan", ""]));
  }
  if (match === "Exact" && resourceVersion === "0") {
    errors.push(forbiddenValue(matchParameter, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  return errors;
}

function watchErrors({ match, continueToken, sendInitialEvents }: Unchecked): FieldError[] {
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== "NotOlderThan") {
    errors.push(
      forbiddenValue(matchParameter, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
    );
  }
  if (continueToken !== "") {
    errors.push(forbiddenValue(matchParameter, "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (match === "") return errors;
  if (sendInitialEvents === undefined) {
    errors.push(
      forbiddenValue(
        matchParameter,
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      ),
    );
  }
  if (match !== "NotOlderThan") errors.push(unsupportedValue(matchParameter, match, ["NotOlderThan"]));
  return errors;
}

/** An integer in the query; throws 400 for an invalid one. */
export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[-+]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  if (BigInt.asIntN(64, BigInt(text)) !== BigInt(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  }
  return Number(text);
}

/** A switch in the query: any value but "false" and "0" is on. */
export function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  return text === null ? undefined : text !== "false" && text !== "0";
}

const maxVersion = 2n ** 64n - 1n;
const digits = /^\d+$/;

/**
 * The number of a resourceVersion; undefined for an invalid one. The empty one is 0. Above the safe integers it is only
 * approximate: no store gets there.
 */
export function parseResourceVersion(text: string): number | undefined {
  if (text === "") return 0;
  return digits.test(text) && BigInt(text) <= maxVersion ? Number(text) : undefined;
}

/** Why a resourceVersion is invalid. */
export function unparsedText(text: string): string {
  const why = digits.test(text) ? "value out of range" : "invalid syntax";
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
}

/** The error about an invalid resourceVersion. */
export function badVersionText(text: string): string {
  return `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${unparsedText(text)}`;
}

/** How long a reader waits for a state that is still to come. */
const waitMs = 3000;

/** Waits a little until the store has reached the revision; then 504. */
export async function waitForRevision(store: Store<object>, revision: number, signal: AbortSignal): Promise<void> {
  if (revision <= store.revision) return;
  try {
    await store.waitFor(revision, AbortSignal.any([signal, AbortSignal.timeout(waitMs)]));
  } catch (error) {
    if (signal.aborted) throw error;
    throw tooLargeResourceVersion(String(BigInt(revision)), String(store.revision), 1);
  }
}
