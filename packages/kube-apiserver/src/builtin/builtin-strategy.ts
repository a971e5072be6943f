// SPDX-License-Identifier: Apache-2.0

import { createFieldManager, type FieldManager, fieldSetOfPaths } from "@purlin/kube-objects/apply";
import { badRequest, type FieldError, firstErrors, invalidValue } from "@purlin/kube-objects/errors";
import { type Fractions, goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import { finish, type Work } from "@purlin/kube-objects/turns";
import { hasTypedForm, TypedFormError, toTypedForm, typing } from "@purlin/kube-objects/typed";
import { withBuiltinDefaults } from "../defaults/builtin-defaults.ts";
import { apiVersionOf, hasSubresource, type ResourceType } from "../registry/resource-type.ts";
import { metaOf, withMember } from "../rest/object-meta.ts";
import type { DecodedObject, Endpoint, MetaChecks, ObjectStrategy } from "../rest/object-strategy.ts";
import { builtinPrinter } from "../table/builtin-columns.ts";
import { builtinApplyVersions, builtinSchema } from "./apply-versions.ts";
import type { KindRules } from "./kind-rules.ts";

/** Kinds whose rules for a change run all rules for new objects too. */
const WHOLLY: ReadonlySet<string> = new Set([
  "ConfigMap",
  "Endpoints",
  "Job",
  "Namespace",
  "Pod",
  "Secret",
  "ServiceAccount",
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
]);

/** The strategy of a built-in type. */
export function builtinStrategy(type: ResourceType, rules: KindRules, now: () => Date): ObjectStrategy {
  const managers = new Map<Endpoint, FieldManager>();
  const hasStatus = hasSubresource(type, "status");
  const servesStoredBytes = rules.toServed === undefined;
  return {
    requireKind: (kind, apiVersion, value) => requireKind(type, kind, apiVersion, value),
    kindProblem: (kind, apiVersion, value) => kindProblem(type, kind, apiVersion, value),
    emptyObject: () => emptyObject(type),
    requestWarnings: () => DEPRECATIONS[`${apiVersionOf(type)}/${type.kind}`] ?? [],
    decode: (value, fractions) => finish(decoding(rules, value, fractions)),
    decoding: (value, fractions) => decoding(rules, value, fractions),
    prepareCreate: (object) => {
      const cleared = hasStatus ? withMember(object, "status", emptyObject(type)["status"]) : object;
      return rules.prepareCreate?.(cleared) ?? cleared;
    },
    prepareUpdate: (object, old, endpoint) => {
      const own = hasStatus ? onlyPart(object, old, endpoint) : object;
      return rules.prepareUpdate?.(own, old, endpoint) ?? own;
    },
    validateCreate: (object) => [
      ...finalizerErrors(type, object),
      ...(rules.validate?.(object) ?? []),
      ...(rules.validateNew?.(object) ?? []),
    ],
    metaChecks: (endpoint) => metaChecks(type, endpoint),
    validateUpdate: (object, old, endpoint) => [
      ...finalizerErrors(type, object),
      ...(rules.validate?.(object) ?? []),
      ...(rules.validateChange?.(object, old, endpoint) ?? []),
    ],
    warnings: (object, old) => rules.warnings?.(object, old) ?? [],
    requireDeletable: (object) => rules.requireDeletable?.(object),
    markDeleted: (object) => rules.markDeleted?.(object) ?? object,
    blocksDeletion: (object) => rules.blocksDeletion?.(object) ?? false,
    fieldValue: (object, field) =>
      rules.fields && Object.hasOwn(rules.fields, field) ? rules.fields[field]?.(object) : undefined,
    hasOwnFields: rules.fields !== undefined,
    fieldProblem: (field) => rules.fieldProblem?.(field),
    toServed: (stored) => rules.toServed?.(stored) ?? stored,
    toStored: (served) => rules.toStored?.(served) ?? served,
    servesStoredBytes,
    printer: builtinPrinter(type.kind),
    strategicMerge: () => builtinSchema(type),
    fieldManager: (endpoint) => {
      const known = managers.get(endpoint) ?? createManager(type, endpoint, hasStatus, now);
      managers.set(endpoint, known);
      return known;
    },
  };
}

function* decoding(rules: KindRules, value: JsonObject, fractions?: Fractions): Work<DecodedObject> {
  const { object, unknown } = yield* typing(value, fractions);
  yield;
  const decoded = rules.decode?.(object, value) ?? object;
  const filled = withBuiltinDefaults(decoded);
  yield;
  // Defaults come last, and belong where their type has them.
  return { object: filled === decoded ? filled : (yield* typing(filled)).object, unknownFields: unknown };
}

/** A body that says to be of another kind is refused; one that leaves it out is taken for what it should be. */
function requireKind(type: ResourceType, kind: string, apiVersion: string, value: JsonObject): void {
  const version = apiVersion === "" ? apiVersionOf(type) : apiVersion;
  const shown = kind === "" ? type.kind : kind;
  const problem = problemOf(() => kindProblem(type, shown, version, value));
  if (problem !== undefined) {
    const short = version.split("/").at(-1) ?? "";
    throw badRequest(`${shown} in version ${JSON.stringify(short)} cannot be handled as a ${type.kind}: ${problem}`);
  }
}

function problemOf(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof TypedFormError) {
      return error.message;
    }
    throw error;
  }
}

const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

/** Kinds that the reference checks as it checks custom ones. That of definitions is put there by the server itself. */
const ANY_FINALIZER: ReadonlySet<string> = new Set([
  "/Event",
  "admissionregistration.k8s.io/MutatingWebhookConfiguration",
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
  "apiextensions.k8s.io/CustomResourceDefinition",
  "coordination.k8s.io/Lease",
]);

/** Finalizers of most built-in kinds name whose they are. */
function finalizerErrors({ group, kind }: ResourceType, object: JsonObject): FieldError[] {
  if (ANY_FINALIZER.has(`${group}/${kind}`)) return [];
  return firstErrors(metaOf(object).finalizers ?? [], (finalizer, index) =>
    finalizer.includes("/") || STANDARD_FINALIZERS.has(finalizer)
      ? []
      : [
          invalidValue(
            `metadata.finalizers[${index}]`,
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified",
          ),
        ],
  );
}

/** What the reference says to whoever still uses a kind. */
const DEPRECATIONS: Readonly<Record<string, readonly string[]>> = {
  "v1/Endpoints": ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"],
};

const emptyObjects = new Map<string, JsonObject>();

/** An object that says nothing, as its type writes it. */
function emptyObject(type: ResourceType): JsonObject {
  const apiVersion = apiVersionOf(type);
  const key = `${apiVersion}/${type.kind}`;
  const known = emptyObjects.get(key) ?? newEmptyObject(apiVersion, type.kind);
  emptyObjects.set(key, known);
  return known;
}

/** Of a kind without a typed form only the server itself makes objects; they have the parts that most have. */
function newEmptyObject(apiVersion: string, kind: string): JsonObject {
  return hasTypedForm(apiVersion, kind)
    ? toTypedForm({ apiVersion, kind }).object
    : { apiVersion, kind, metadata: {}, spec: {}, status: {} };
}

/** Each way to an object changes only its part: the status, or everything else. */
function onlyPart(object: JsonObject, old: JsonObject, endpoint: Endpoint): JsonObject {
  if (endpoint === "") {
    return withMember(object, "status", old["status"]);
  }
  if (endpoint !== "status") {
    return object;
  }
  return withMember({ ...old, metadata: object["metadata"] ?? {} }, "status", object["status"]);
}

/** Through the status nobody comes to own anything else; of Deployments not even labels. */
const STATUS_RESETS: Readonly<Record<string, string[][]>> = { Deployment: [["spec"], ["metadata", "labels"]] };

function createManager(type: ResourceType, endpoint: Endpoint, hasStatus: boolean, now: () => Date): FieldManager {
  const reset =
    endpoint === "status" ? (STATUS_RESETS[type.kind] ?? [["spec"]]) : endpoint === "" && hasStatus ? [["status"]] : [];
  const apiVersion = apiVersionOf(type);
  return createFieldManager({
    apiVersion,
    kind: type.kind,
    versions: builtinApplyVersions(type),
    emptyObject: emptyObject(type),
    ...(endpoint === "" ? {} : { subresource: endpoint }),
    ...(reset.length === 0 ? {} : { resetFields: new Map([[apiVersion, fieldSetOfPaths(reset)]]) }),
    now,
  });
}

/** Which checks of metadata the reference's own rules of a built-in kind repeat for a change. */
function metaChecks({ group, kind }: ResourceType, endpoint: Endpoint): MetaChecks {
  const hasNone = (kind === "Event" && group === "") || (kind === "CronJob" && endpoint === "status");
  return { ofChange: !hasNone, ofWhole: endpoint === "" && WHOLLY.has(kind) };
}

/**
 * Why an object that says to be of another kind cannot be one of a built-in type: nobody knows that kind, or those that exist do
 * not become this one. Throws a TypedFormError where it is not even one of the kind it says.
 */
function kindProblem(type: ResourceType, kind: string, apiVersion: string, value: JsonObject): string | undefined {
  const expected = apiVersionOf(type);
  if (!hasTypedForm(apiVersion, kind)) {
    const registered = `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)}`;
    return `${registered} in scheme "pkg/runtime/scheme.go:111"`;
  }
  if (kind === type.kind) {
    return undefined;
  }
  toTypedForm({ ...value, apiVersion, kind });
  const [from, to] = [apiVersion.split("/").at(-1), goPackage(expected)];
  return `converting (${from}.${kind}) to (${to}.${type.kind}): unknown conversion`;
}

/** The package of the internal types of a group. */
function goPackage(apiVersion: string): string {
  const { group } = parseApiVersion(apiVersion);
  return group === "" ? "core" : (group.split(".", 1)[0] ?? "");
}
