// SPDX-License-Identifier: Apache-2.0
import { inTurns, type Work } from "@purlin/base";
import { managerName } from "@purlin/kube-objects/apply";
import { badRequest, type FieldError, invalid, invalidValue, unsupportedValue } from "@purlin/kube-objects/errors";
import {
  compareUtf8,
  goQuote,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  printJson,
} from "@purlin/kube-objects/json";
import {
  type FieldValidation,
  validateDryRun,
  validatePatchOptions,
  validateWriteOptions,
} from "@purlin/kube-objects/patch";
import { TypedFormError, typing } from "@purlin/kube-objects/typed";
import { metaOf } from "../objects/object-members.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { ObjectChange } from "../strategy/object-strategy.ts";
import { withType } from "./decode-object.ts";
import { readBoolean, readInteger } from "./list-options.ts";
import { type DecodedBody, readRequestBody, UndecodableBodyError } from "./request-body.ts";
import type { RestRequest } from "./rest-context.ts";

/** How a write is to be made. */
export interface WriteOptions {
  /** Everything but storing. */
  readonly dryRun: boolean;
  /** The field manager of the changed fields. */
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

/** Warnings of validation, whether or not the object is valid: what an update of a custom object left wrong. */
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

type Propagation = "Orphan" | "Background" | "Foreground";

/** How something is to be deleted. */
export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly propagation: Propagation | undefined;
  /** The older way to say Orphan or not. */
  readonly orphanDependents: boolean | undefined;
  readonly gracePeriodSeconds: number | bigint | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** Only Jobs orphan their dependents by default. */
const preserved =
  "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/** The type of options in the audit log of the reference. */
const auditedType = { kind: "DeleteOptions", apiVersion: "meta.k8s.io/__internal" };

const policies = ["Foreground", "Background", "Orphan"];

/** Reads the options of a delete from its body, or else from its query. Throws 422 for those that mean nothing. */
export async function readDeleteOptions(rest: RestRequest): Promise<DeleteOptions> {
  const body = await readOptionsBody(rest);
  if (isJsonObject(body?.value)) rest.request.audit?.requestedWith({ ...body.value, ...auditedType });
  const raw = body === undefined ? fromQuery(rest.request.query) : await inTurns(fromBody(body));
  const { propagationPolicy, orphanDependents } = raw;
  if (rest.type.rules.orphansByDefault && propagationPolicy === undefined && orphanDependents === undefined) {
    rest.notes.push(preserved);
  }
  return checkedOptions(raw);
}

/** The options in another object, such as an Eviction. Throws 422 for those that mean nothing. */
export async function deleteOptionsOf(value: JsonObject): Promise<DeleteOptions> {
  return checkedOptions(await inTurns(fromBody({ value, strictErrors: [] })));
}

function checkedOptions(raw: RawDeleteOptions): DeleteOptions {
  const errors = optionErrors(raw);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
  const { dryRun, propagationPolicy, ...options } = raw;
  return { ...options, dryRun: dryRun.length > 0, propagation: propagationPolicy as Propagation | undefined };
}

async function readOptionsBody({ request }: RestRequest): Promise<DecodedBody | undefined> {
  try {
    return await readRequestBody(request, { takesProtobuf: true });
  } catch (error) {
    throw error instanceof UndecodableBodyError ? badRequest(error.message, error) : error;
  }
}

interface RawDeleteOptions extends Omit<DeleteOptions, "dryRun" | "propagation"> {
  readonly dryRun: readonly string[];
  readonly propagationPolicy: string | undefined;
}

function fromQuery(query: URLSearchParams): RawDeleteOptions {
  return {
    dryRun: query.getAll("dryRun"),
    propagationPolicy: query.get("propagationPolicy") ?? undefined,
    orphanDependents: readBoolean(query, "orphanDependents"),
    gracePeriodSeconds: readInteger(query, "gracePeriodSeconds"),
    uid: undefined,
    resourceVersion: undefined,
  };
}

function* fromBody(body: DecodedBody): Work<RawDeleteOptions> {
  const value = yield* typedOptions(body);
  const { dryRun, propagationPolicy, orphanDependents, gracePeriodSeconds, preconditions } = value;
  const conditions: JsonObject = isJsonObject(preconditions) ? preconditions : {};
  return {
    dryRun: Array.isArray(dryRun) ? dryRun.map(String) : [],
    propagationPolicy: text(propagationPolicy),
    orphanDependents: typeof orphanDependents === "boolean" ? orphanDependents : undefined,
    gracePeriodSeconds: isNumber(gracePeriodSeconds) ? gracePeriodSeconds : undefined,
    uid: text(conditions["uid"]),
    resourceVersion: text(conditions["resourceVersion"]),
  };
}

/** Options may come under any version, or none; their fields must be what they should. */
function* typedOptions({ value: sent, fractions, raw }: DecodedBody): Work<JsonObject> {
  const value = sent ?? {};
  if (!isJsonObject(value)) {
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKind(value)} ${intoMeta}`,
    );
  }
  const { kind = "DeleteOptions", apiVersion = "meta.k8s.io/v1" } = value;
  if (kind !== "DeleteOptions") {
    const version = printJson(apiVersion);
    throw badRequest(
      `no kind ${printJson(kind)} is registered for version ${version} in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  try {
    const typed = withType(value, { apiVersion: "v1", kind: "DeleteOptions" }, raw !== undefined);
    return (yield* typing(typed, fractions)).object;
  } catch (error) {
    throw error instanceof TypedFormError ? badRequest(error.message, error) : error;
  }
}

/** What the reference reads first of any body. */
const intoMeta =
  'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

function goKind(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value === "string" ? "string" : "number";
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function optionErrors({ dryRun, propagationPolicy, orphanDependents }: RawDeleteOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    errors.push(
      invalidValue(
        "propagationPolicy",
        propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    );
  }
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy)) {
    errors.push(unsupportedValue("propagationPolicy", propagationPolicy, [...policies, "nil"]));
  }
  return [...errors, ...validateDryRun(dryRun)];
}
