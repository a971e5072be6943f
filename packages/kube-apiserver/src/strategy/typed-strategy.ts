// SPDX-License-Identifier: Apache-2.0

import { finish, type Work } from "@purlin/base";
import { createFieldManager, type FieldManager, fieldSetOfPaths } from "@purlin/kube-objects/apply";
import { badRequest, type FieldError, firstErrors, invalidValue } from "@purlin/kube-objects/errors";
import {
  type Fractions,
  goQuote,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from "@purlin/kube-objects/json";
import { parseApiVersion, withMember as withMemberAt } from "@purlin/kube-objects/object";
import { hasTypedForm, requiringFewAmounts, TypedFormError, toTypedForm, typing } from "@purlin/kube-objects/typed";
import { metaOf, withMember, withMeta } from "../objects/object-members.ts";
import { apiVersionOf, hasSubresource, type ResourceType } from "../registry/registry.ts";
import { plainPrinter } from "../table/table.ts";
import { builtinApplyVersions, builtinSchema } from "./apply-versions.ts";
import type { KindRules } from "./kind-rules.ts";
import type {
  DecodedObject,
  Endpoint,
  ObjectChange,
  ObjectDecoder,
  ObjectStorage,
  ObjectStrategy,
  ObjectValidator,
  ObjectView,
  TypedBody,
} from "./object-strategy.ts";

/** The strategy of a kind with a typed form: one that Kubernetes defines in Go. */
export function typedStrategy(type: ResourceType, rules: KindRules, now: () => Date): ObjectStrategy {
  return {
    decoder: typedDecoder(type, rules),
    validator: typedValidator(rules),
    storage: typedStorage(type, rules, now),
    view: typedView(rules),
  };
}

function typedDecoder(type: ResourceType, rules: KindRules): ObjectDecoder {
  return {
    requireKind: (body) => requireKind(type, body),
    kindProblem: (body) => kindProblem(type, body),
    decode: (value, fractions) => finish(decoding(rules, value, fractions)),
    decoding: (value, fractions) => decoding(rules, value, fractions),
    emptyObject: () => withMembers(emptyObject(type), rules),
    strategicMerge: () => builtinSchema(type),
  };
}

function typedValidator(rules: KindRules): ObjectValidator {
  const validated = new WeakMap<JsonObject, readonly FieldError[]>();
  return {
    *validating(change: ObjectChange): Work<void> {
      validated.set(change.object, yield* errorsOf(rules, change));
    },
    validate: (change) => validated.get(change.object) ?? finish(errorsOf(rules, change)),
    metaChecks: (endpoint) => rules.metaChecks?.(endpoint) ?? { ofChange: true, ofWhole: false },
    warnings: ({ object, old, endpoint }) => rules.warnings?.(object, old, endpoint) ?? [],
    requestWarnings: () => rules.requestWarnings ?? [],
    requireDeletable: (object) => rules.requireDeletable?.(object),
  };
}

/** What is wrong with an object or its change: each of the rules is a part. */
function* errorsOf(rules: KindRules, { object, old, endpoint }: ObjectChange): Work<readonly FieldError[]> {
  yield* requiringFewAmounts(object, old);
  const ofFinalizers = rules.acceptsAnyFinalizer ? [] : finalizerErrors(object);
  const ofObject = rules.validate?.(object) ?? [];
  yield;
  const ofRest = rules.validatingRest === undefined ? [] : yield* rules.validatingRest(object);
  yield;
  const ofChange = old === undefined ? rules.validateNew?.(object) : rules.validateChange?.(object, old, endpoint);
  yield;
  const inParts = rules.validating === undefined ? [] : yield* rules.validating(object, old, endpoint);
  return [...ofFinalizers, ...ofObject, ...ofRest, ...(ofChange ?? []), ...inParts];
}

function typedStorage(type: ResourceType, rules: KindRules, now: () => Date): ObjectStorage {
  const managers = new Map<Endpoint, FieldManager>();
  const hasStatus = hasSubresource(type, "status");
  const versions = builtinApplyVersions(type, rules.conversions);
  return {
    prepareCreate: (whole, user) => {
      const sent = withoutFields(whole, rules);
      const isCleared = hasStatus && rules.keepsNewStatus !== true;
      const cleared = isCleared ? withMember(sent, "status", emptyObject(type)["status"]) : sent;
      return rules.prepareCreate?.(cleared, user) ?? cleared;
    },
    prepareUpdate: (whole, old, endpoint) => {
      const object = withoutFields(whole, rules);
      const own = hasStatus ? onlyPart(object, old, endpoint) : object;
      return rules.prepareUpdate?.(own, old, endpoint) ?? own;
    },
    markDeleted: (object) => rules.markDeleted?.(object) ?? object,
    blocksDeletion: (object) => rules.blocksDeletion?.(object) ?? false,
    toServed: (stored) => rules.toServed?.(stored) ?? stored,
    toStored: (served) => rules.toStored?.(served) ?? served,
    servesStoredBytes: rules.toServed === undefined,
    applyType: () => {
      const found = versions.typeAt(apiVersionOf(type));
      if (found === undefined) throw new Error(`no schema is known for ${type.kind} in ${apiVersionOf(type)}`);
      return found;
    },
    fieldManager: (endpoint) => {
      const known = managers.get(endpoint) ?? createManager({ type, rules, now }, endpoint);
      managers.set(endpoint, known);
      return known;
    },
  };
}

function typedView({ fields, fieldProblem, printer = plainPrinter }: KindRules): ObjectView {
  return {
    printer,
    fieldValue: (object, field) => (fields && Object.hasOwn(fields, field) ? fields[field]?.(object) : undefined),
    hasOwnFields: fields !== undefined,
    fieldProblem: (field) => fieldProblem?.(field),
  };
}

function* decoding(rules: KindRules, value: JsonObject, fractions?: Fractions): Work<DecodedObject> {
  const { object, unknown } = yield* typing(value, fractions);
  yield;
  const plain = rules.decode?.(object, value) ?? object;
  const decoded = rules.decodingFields === undefined ? plain : yield* rules.decodingFields(plain);
  const filled = rules.defaults?.(decoded) ?? decoded;
  yield;
  // Defaults come last, and belong where their type has them.
  const typed = filled === decoded ? filled : (yield* typing(filled)).object;
  const kept = (rules.keepsEmpty ?? []).reduce((made, path) => withEmpty(made, value, path) as JsonObject, typed);
  return { object: kept, unknownFields: unknown };
}

/** A value with an empty list or map at a path where one was sent: typed objects leave them out. */
function withEmpty(value: JsonValue, sent: JsonValue, [name, ...rest]: readonly string[]): JsonValue {
  if (name === undefined) return isEmpty(sent) ? sent : value;
  if (name === "*") {
    if (!isJsonArray(value) || !isJsonArray(sent)) return value;
    return value.map((item, index) => withEmpty(item, sent[index] ?? null, rest));
  }
  const given = isJsonObject(sent) ? (ownValue(sent, name) ?? null) : null;
  if (given === null || !isJsonObject(value)) return value;
  const before = ownValue(value, name) ?? null;
  const after = withEmpty(before, given, rest);
  return after === before ? value : { ...value, [name]: after };
}

function isEmpty(value: JsonValue): boolean {
  return isJsonArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

/** A body that says to be of another kind is refused; one that leaves it out is taken for what it should be. */
function requireKind(type: ResourceType, { kind, apiVersion, value }: TypedBody): void {
  const version = apiVersion === "" ? apiVersionOf(type) : apiVersion;
  const shown = kind === "" ? type.kind : kind;
  const problem = problemOf(() => kindProblem(type, { kind: shown, apiVersion: version, value }));
  if (problem !== undefined) {
    const short = version.split("/").at(-1) ?? "";
    throw badRequest(`${shown} in version ${JSON.stringify(short)} cannot be handled as a ${type.kind}: ${problem}`);
  }
}

function problemOf(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof TypedFormError) return error.message;
    throw error;
  }
}

const standardFinalizers: ReadonlySet<string> = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

/** Finalizers of most built-in kinds name whose they are. */
function finalizerErrors(object: JsonObject): FieldError[] {
  return firstErrors(metaOf(object).finalizers ?? [], (finalizer, index) =>
    finalizer.includes("/") || standardFinalizers.has(finalizer)
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

const emptyObjects = new Map<string, JsonObject>();

/** An empty object, as its type writes it. */
function emptyObject(type: ResourceType): JsonObject {
  const apiVersion = apiVersionOf(type);
  const key = `${apiVersion}/${type.kind}`;
  const known = emptyObjects.get(key) ?? newEmptyObject(apiVersion, type.kind);
  emptyObjects.set(key, known);
  return known;
}

/** The empty object with the members that the kind always writes. */
function withMembers(empty: JsonObject, { emptyMembers = {} }: KindRules): JsonObject {
  const { spec, annotations } = emptyMembers;
  const ownSpec = empty["spec"];
  const filled = spec && isJsonObject(ownSpec) ? { ...empty, spec: { ...spec, ...ownSpec } } : empty;
  return annotations ? withMeta(filled, { annotations: annotations as Record<string, string> }) : filled;
}

/** Of a kind without a typed form only the server itself makes objects; they have the parts that most have. */
function newEmptyObject(apiVersion: string, kind: string): JsonObject {
  return hasTypedForm(apiVersion, kind)
    ? toTypedForm({ apiVersion, kind }).object
    : { apiVersion, kind, metadata: {}, spec: {}, status: {} };
}

function withoutFields(object: JsonObject, { droppedFields = [], withoutDisabled }: KindRules): JsonObject {
  const kept = droppedFields.reduce((rest, path) => withMemberAt(rest, path, undefined), object);
  return withoutDisabled?.(kept) ?? kept;
}

/** Each way to an object changes only its part: the status, or everything else. */
function onlyPart(object: JsonObject, old: JsonObject, endpoint: Endpoint): JsonObject {
  if (endpoint === "") return withMember(object, "status", old["status"]);
  if (endpoint !== "status") return object;
  return withMember({ ...old, metadata: object["metadata"] ?? {} }, "status", object["status"]);
}

const specReset: readonly string[][] = [["spec"]];
const statusReset: readonly string[][] = [["status"]];

interface ManagerOptions {
  readonly type: ResourceType;
  readonly rules: KindRules;
  readonly now: () => Date;
}

function createManager({ type, rules, now }: ManagerOptions, endpoint: Endpoint): FieldManager {
  const hasOwnStatus = endpoint === "" && hasSubresource(type, "status");
  const reset = rules.resets?.[endpoint] ?? (endpoint === "status" ? specReset : hasOwnStatus ? statusReset : []);
  const apiVersion = apiVersionOf(type);
  const resetVersions = [apiVersion, ...Object.keys(rules.conversions ?? {})];
  return createFieldManager({
    apiVersion,
    kind: type.kind,
    versions: builtinApplyVersions(type, rules.conversions),
    emptyObject: emptyObject(type),
    ...(endpoint === "" ? {} : { subresource: endpoint }),
    ...(reset.length === 0 ? {} : { resetFields: new Map(resetVersions.map((at) => [at, fieldSetOfPaths(reset)])) }),
    now,
  });
}

/**
 * Why an object of another kind cannot be one of a built-in type: the kind is unknown, or it cannot be converted to
 * this one. Throws a TypedFormError when the object is not valid for its own kind.
 */
function kindProblem(type: ResourceType, { kind, apiVersion, value }: TypedBody): string | undefined {
  const expected = apiVersionOf(type);
  if (!hasTypedForm(apiVersion, kind)) {
    const registered = `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)}`;
    return `${registered} in scheme "pkg/runtime/scheme.go:111"`;
  }
  if (kind === type.kind) return undefined;
  toTypedForm({ ...value, apiVersion, kind });
  const [from, to] = [apiVersion.split("/").at(-1), goPackage(expected)];
  return `converting (${from}.${kind}) to (${to}.${type.kind}): unknown conversion`;
}

/** The package of the internal types of a group. */
function goPackage(apiVersion: string): string {
  const { group } = parseApiVersion(apiVersion);
  return group === "" ? "core" : (group.split(".", 1)[0] ?? "");
}
