// SPDX-License-Identifier: Apache-2.0
import { badRequest, type FieldError, invalid, invalidValue, unsupportedValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { validateDryRun } from "@purlin/kube-objects/patch";
import { TypedFormError, toTypedForm } from "@purlin/kube-objects/typed";
import { readBoolean, readInteger } from "./list-options.ts";
import { type DecodedBody, readRequestBody, UndecodableBody } from "./request-body.ts";
import type { RestRequest } from "./rest-context.ts";

type Propagation = "Orphan" | "Background" | "Foreground";

/** How something is to be deleted. */
export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly propagation: Propagation | undefined;
  /** The older way to say Orphan or not. */
  readonly orphanDependents: boolean | undefined;
  readonly gracePeriodSeconds: number | undefined;
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
  const raw = body === undefined ? fromQuery(rest.request.query) : fromBody(body);
  const { propagationPolicy, orphanDependents } = raw;
  if (rest.type.rules.orphansByDefault && propagationPolicy === undefined && orphanDependents === undefined) {
    rest.notes.push(preserved);
  }
  return checkedOptions(raw);
}

/** The options in another object, such as an Eviction. Throws 422 for those that mean nothing. */
export function deleteOptionsOf(value: JsonObject): DeleteOptions {
  return checkedOptions(fromBody({ value, strictErrors: [] }));
}

function checkedOptions(raw: RawOptions): DeleteOptions {
  const errors = optionErrors(raw);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
  const { dryRun, propagationPolicy, ...options } = raw;
  return { ...options, dryRun: dryRun.length > 0, propagation: propagationPolicy as Propagation | undefined };
}

async function readOptionsBody({ request }: RestRequest): Promise<DecodedBody | undefined> {
  try {
    return await readRequestBody(request, { takesProtobuf: true });
  } catch (error) {
    throw error instanceof UndecodableBody ? badRequest(error.message, error) : error;
  }
}

interface RawOptions extends Omit<DeleteOptions, "dryRun" | "propagation"> {
  readonly dryRun: readonly string[];
  readonly propagationPolicy: string | undefined;
}

function fromQuery(query: URLSearchParams): RawOptions {
  return {
    dryRun: query.getAll("dryRun"),
    propagationPolicy: query.get("propagationPolicy") ?? undefined,
    orphanDependents: readBoolean(query, "orphanDependents"),
    gracePeriodSeconds: readInteger(query, "gracePeriodSeconds"),
    uid: undefined,
    resourceVersion: undefined,
  };
}

function fromBody(body: DecodedBody): RawOptions {
  const value = typedOptions(body);
  const { dryRun, propagationPolicy, orphanDependents, gracePeriodSeconds, preconditions } = value;
  const conditions: JsonObject = isJsonObject(preconditions) ? preconditions : {};
  return {
    dryRun: Array.isArray(dryRun) ? dryRun.map(String) : [],
    propagationPolicy: text(propagationPolicy),
    orphanDependents: typeof orphanDependents === "boolean" ? orphanDependents : undefined,
    gracePeriodSeconds: typeof gracePeriodSeconds === "number" ? gracePeriodSeconds : undefined,
    uid: text(conditions["uid"]),
    resourceVersion: text(conditions["resourceVersion"]),
  };
}

/** Options may come under any version, or none; their fields must be what they should. */
function typedOptions({ value: sent, fractions }: DecodedBody): JsonObject {
  const value = sent ?? {};
  if (!isJsonObject(value)) {
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKind(value)} ${intoMeta}`,
    );
  }
  const { kind = "DeleteOptions", apiVersion = "meta.k8s.io/v1" } = value;
  if (kind !== "DeleteOptions") {
    const version = JSON.stringify(apiVersion);
    throw badRequest(
      `no kind ${JSON.stringify(kind)} is registered for version ${version} in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  try {
    return toTypedForm({ ...value, apiVersion: "v1", kind: "DeleteOptions" }, fractions).object;
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

function optionErrors({ dryRun, propagationPolicy, orphanDependents }: RawOptions): FieldError[] {
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
