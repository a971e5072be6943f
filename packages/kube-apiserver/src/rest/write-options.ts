// SPDX-License-Identifier: Apache-2.0
import { managerName } from "@purlin/kube-objects/apply";
import { invalid } from "@purlin/kube-objects/errors";
import { compareUtf8, goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { type FieldValidation, validatePatchOptions, validateWriteOptions } from "@purlin/kube-objects/patch";
import { metaOf } from "../objects/object-meta.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { ObjectChange } from "../strategy/object-strategy.ts";
import { readBoolean } from "./list-options.ts";
import type { RestRequest } from "./rest-context.ts";

/** How a write is to be made. */
export interface WriteOptions {
  /** Everything but storing. */
  readonly dryRun: boolean;
  /** Who is recorded as the manager of what changes. */
  readonly manager: string;
  /** What is done about fields a type does not have. */
  readonly fieldValidation: FieldValidation;
}

/** How a patch is to be made. */
export interface PatchOptions extends WriteOptions {
  readonly force: boolean;
}

const metaGroup = "meta.k8s.io";

/** Reads the options of a create or update from its query. Throws 422 in the name of the options' kind. */
export function writeOptions(request: ApiRequest, kind: "CreateOptions" | "UpdateOptions"): WriteOptions {
  const raw = rawOptions(request);
  const errors = validateWriteOptions(raw);
  if (errors.length > 0) throw invalid({ group: metaGroup, kind }, "", errors);
  return finished(request, raw);
}

/** Reads the options of a patch from its query. Throws 422. */
export function patchOptions(request: ApiRequest, isApply: boolean): PatchOptions {
  const force = readBoolean(request.query, "force");
  const raw = { ...rawOptions(request), ...(force === undefined ? {} : { force }) };
  const errors = validatePatchOptions(raw, isApply);
  if (errors.length > 0) throw invalid({ group: metaGroup, kind: "PatchOptions" }, "", errors);
  return { ...finished(request, raw), force: force ?? false };
}

interface RawOptions {
  readonly fieldManager: string;
  readonly dryRun: readonly string[];
  readonly fieldValidation: string;
}

function rawOptions({ query }: ApiRequest): RawOptions {
  return {
    fieldManager: query.get("fieldManager") ?? "",
    dryRun: query.getAll("dryRun"),
    fieldValidation: query.get("fieldValidation") ?? "",
  };
}

function finished({ headers }: ApiRequest, { fieldManager, dryRun, fieldValidation }: RawOptions): WriteOptions {
  return {
    dryRun: dryRun.length > 0,
    manager: managerName(fieldManager, headers["user-agent"]),
    fieldValidation: fieldValidation === "" ? "Warn" : (fieldValidation as FieldValidation),
  };
}

/** The warnings for a valid write. */
export function writeWarnings(
  { strategy, type, target }: RestRequest,
  object: JsonObject,
  old: JsonObject | undefined,
): readonly string[] {
  const endpoint = target.subresource === "status" ? "status" : "";
  return type.custom ? finalizerWarnings(object, old) : strategy.validator.warnings({ object, old, endpoint });
}

/** What validation itself has to say, whether or not the object is valid: what an update of a custom object left wrong. */
export function validationWarnings({ strategy, type }: RestRequest, change: ObjectChange): readonly string[] {
  return type.custom ? strategy.validator.warnings(change) : [];
}

const standardFinalizers: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

/** Finalizers of custom kinds should say whose they are; those of built-in kinds must. */
function finalizerWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const before = new Set(old === undefined ? [] : (metaOf(old).finalizers ?? []));
  const added = [...new Set(metaOf(object).finalizers ?? [])].filter(
    (name) => !before.has(name) && !name.includes("/"),
  );
  return added
    .filter((name) => !standardFinalizers.has(name))
    .sort(compareUtf8)
    .map((name) => {
      const path = name.includes(".") ? " including a path (/)" : "";
      const advice = `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
      return `metadata.finalizers: ${goQuote(name)}: ${advice}`;
    });
}
