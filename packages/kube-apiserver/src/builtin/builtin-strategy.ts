// SPDX-License-Identifier: Apache-2.0
import {
  badRequest,
  createFieldManager,
  type FieldManager,
  fieldSetOfPaths,
  type JsonObject,
  type JsonValue,
  TypedFormError,
  toTypedForm,
} from "@purlin/kube-objects";
import { withBuiltinDefaults } from "../defaults/builtin-defaults.ts";
import { apiVersionOf, hasSubresource, type ResourceType } from "../registry/resource-type.ts";
import { withMember } from "../rest/object-meta.ts";
import type { DecodedObject, Endpoint, ObjectStrategy } from "../rest/object-strategy.ts";
import { builtinPrinter } from "../table/builtin-columns.ts";
import { builtinApplyVersions, builtinSchema } from "./apply-versions.ts";
import type { KindRules } from "./kind-rules.ts";

/** The strategy of a built-in type. */
export function builtinStrategy(type: ResourceType, rules: KindRules, now: () => Date): ObjectStrategy {
  const managers = new Map<Endpoint, FieldManager>();
  const hasStatus = hasSubresource(type, "status");
  const servesStoredBytes = rules.toServed === undefined;
  return {
    requireKind: (kind, apiVersion) => requireKind(type, kind, apiVersion),
    decode: (value) => decode(type, rules, value),
    prepareCreate: (object) => {
      const cleared = hasStatus ? withMember(object, "status", emptyStatus(type)) : object;
      return rules.prepareCreate?.(cleared) ?? cleared;
    },
    prepareUpdate: (object, old, endpoint) => {
      const own = hasStatus ? onlyPart(object, old, endpoint) : object;
      return rules.prepareUpdate?.(own, old, endpoint) ?? own;
    },
    validateCreate: (object) => [...(rules.validate?.(object) ?? []), ...(rules.validateNew?.(object) ?? [])],
    validateUpdate: (object, old) => [
      ...(rules.validate?.(object) ?? []),
      ...(rules.validateChange?.(object, old) ?? []),
    ],
    warnings: () => [],
    requireDeletable: (object) => rules.requireDeletable?.(object),
    markDeleted: (object) => rules.markDeleted?.(object) ?? object,
    blocksDeletion: (object) => rules.blocksDeletion?.(object) ?? false,
    fieldValue: (object, field) =>
      rules.fields && Object.hasOwn(rules.fields, field) ? rules.fields[field]?.(object) : undefined,
    hasOwnFields: rules.fields !== undefined,
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

function decode(type: ResourceType, rules: KindRules, value: JsonObject): DecodedObject {
  try {
    const { object, unknown } = toTypedForm(value);
    const decoded = rules.decode?.(object) ?? object;
    return { object: withBuiltinDefaults(decoded), unknownFields: unknown };
  } catch (error) {
    if (error instanceof TypedFormError) {
      throw cannotHandle(type, type.kind, type.version, error.message);
    }
    throw error;
  }
}

function cannotHandle({ kind }: ResourceType, sent: string, version: string, why: string): Error {
  return badRequest(`${sent} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`);
}

function requireKind(type: ResourceType, kind: string, apiVersion: string): void {
  if (kind === "" || kind === type.kind) {
    return;
  }
  const version = (apiVersion === "" ? apiVersionOf(type) : apiVersion).split("/").at(-1) ?? "";
  const registered = `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`;
  throw cannotHandle(type, kind, version, `${registered} in scheme "pkg/api/legacyscheme/scheme.go:30"`);
}

const emptyStatuses = new Map<string, JsonValue | undefined>();

/** The status of an object that has none, as its type writes it. */
function emptyStatus(type: ResourceType): JsonValue | undefined {
  const key = `${apiVersionOf(type)}/${type.kind}`;
  if (!emptyStatuses.has(key)) {
    emptyStatuses.set(key, toTypedForm({ apiVersion: apiVersionOf(type), kind: type.kind }).object["status"]);
  }
  return emptyStatuses.get(key);
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

function createManager(type: ResourceType, endpoint: Endpoint, hasStatus: boolean, now: () => Date): FieldManager {
  const reset = endpoint === "status" ? [["spec"]] : endpoint === "" && hasStatus ? [["status"]] : [];
  const apiVersion = apiVersionOf(type);
  return createFieldManager({
    apiVersion,
    kind: type.kind,
    versions: builtinApplyVersions(type),
    ...(endpoint === "" ? {} : { subresource: endpoint }),
    ...(reset.length === 0 ? {} : { resetFields: new Map([[apiVersion, fieldSetOfPaths(reset)]]) }),
    now,
  });
}
