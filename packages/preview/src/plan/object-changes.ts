// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { crossplaneAnnotations } from "@purlin/composition";
import { compareValues, type FieldChange } from "@purlin/kube-objects/difference";
import { isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import {
  annotationOf,
  controllerOf,
  isControlledBy,
  type KubeObject,
  lastAppliedAnnotation,
  memberAt,
  objectAt,
  objectsAt,
  parseApiVersion,
  textAt,
  textsAt,
} from "@purlin/kube-objects/object";
import type { OverlayEntry } from "../overlay/overlay-entry.ts";
import type { Pass } from "../settle/run-pass.ts";
import { hasMasked, isMasked, type Mask, shownValue } from "./mask.ts";
import type { ChangeClass, PlannedChange } from "./plan.ts";

/** What changes of objects are computed with. */
export interface ChangeContext {
  readonly pass: Pass;
  readonly mask: Mask;
  readonly projection: ProjectionOptions;
  readonly ignores: (change: { readonly path: string; readonly kind: string; readonly apiVersion: string }) => boolean;
  /** The uids that the preview gave to objects that do not exist yet. */
  readonly newUids: ReadonlySet<string>;
  /** The names that the preview made up for objects that do not exist yet. */
  readonly newNames: ReadonlySet<string>;
  readonly stepOf: (xr: string, resource: string) => string | undefined;
}

/** The change of one object of an overlay; undefined when nothing of it would be seen. */
export async function objectChange(entry: OverlayEntry, context: ChangeContext): Promise<PlannedChange | undefined> {
  const { before, now, refusal } = entry;
  const shown = now ?? before;
  if (shown === undefined) return undefined;
  const schema = schemaIn(await context.pass.overlay.definitionOf(shown), shown.apiVersion);
  const show = (object: KubeObject | undefined): JsonObject | undefined =>
    object && context.mask.object(projected(object, context.projection), schema);
  // The version in which an object was read or written is not part of it.
  const earlier = before && { ...before, apiVersion: shown.apiVersion };
  const [old, next] = [show(earlier), show(isGoing(entry) ? undefined : now)];
  const all = old !== undefined && next !== undefined ? compareValues(old, next, schema) : [];
  const fields = all.filter(({ path }) => !context.ignores({ path, ...shown }));
  const kind = classOf(entry, fields);
  if (kind === undefined) return undefined;
  const round = entry.writers[0]?.round ?? 0;
  const generatedFrom = before === undefined ? partOf(shown.metadata.name ?? "", context.newNames) : undefined;
  return {
    class: kind,
    apiVersion: shown.apiVersion,
    kind: shown.kind,
    namespace: shown.metadata.namespace,
    name: shown.metadata.name ?? "",
    isNameGenerated: generatedFrom !== undefined || isNameGenerated(entry, context.newUids),
    ...(generatedFrom !== undefined && { generatedFrom }),
    resource: annotationOf(shown, crossplaneAnnotations.resourceName),
    round,
    ...(round >= context.pass.forecastFrom && { after: "composed resources are ready" }),
    approximate: [...entry.approximate].sort(),
    external: externalOf(kind, before),
    ...(refusal !== undefined && { refusal: { ...refusal, text: context.mask.text(refusal.text) } }),
    ...(isGoing(entry) && now !== undefined && { waitsFor: now.metadata.finalizers ?? [] }),
    isDestructive: destructive.has(kind) || isImmutable(entry, schema),
    fields: fields.map((field) => hidden(field, context)),
    digest: digestOf([kind, fields.length > 0 ? fields : next] as JsonValue),
    ...shownForms(old, next),
  };
}

const destructive: ReadonlySet<ChangeClass> = new Set(["delete", "recreate", "leave-behind"]);

/** How API servers and controllers say that a field of an existing object cannot change. */
const immutableText =
  /\bimmutable\b|may not be changed|may not change (?:fields|once set)|updates to \S+ spec for fields other than/i;

/** Whether an update is refused because it changes what the server or the schema calls immutable: only another object can have the value. */
function isImmutable({ before, refusal }: OverlayEntry, schema: JsonObject | undefined): boolean {
  if (before === undefined || refusal === undefined) return false;
  return immutableText.test(refusal.text) || immutabilityTexts(schema).some((text) => refusal.text.includes(text));
}

/** A rule that a value, or one of its fields, is what it was before. */
const equalsOld = /\bself((?:\.\w+)*)\s*==\s*oldSelf\1(?![\w.])|\boldSelf((?:\.\w+)*)\s*==\s*self\2(?![\w.])/;

/** The texts with which an API server refuses a value by the rules of a schema that make it immutable. */
function immutabilityTexts(schema: JsonValue | undefined): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(immutabilityTexts);
  if (!isJsonObject(schema)) return [];
  const rules = objectsAt(schema, ["x-kubernetes-validations"]).flatMap(({ rule, message }) => {
    if (typeof rule !== "string" || !equalsOld.test(rule)) return [];
    return [typeof message === "string" && message !== "" ? message : rule.trim()];
  });
  return [...rules, ...Object.values(schema).flatMap((member) => immutabilityTexts(member))];
}

/** Both forms as they are shown. The controller is compared as one field, which objects do not have. */
function shownForms(old: JsonObject | undefined, next: JsonObject | undefined): Pick<PlannedChange, "old" | "new"> {
  const shown = (object: JsonObject | undefined): JsonObject | undefined => {
    if (object === undefined) return undefined;
    const { controller: _controller, ...metadata } = (object["metadata"] ?? {}) as JsonObject;
    return shownValue({ ...object, metadata }) as JsonObject;
  };
  return { old: shown(old), new: shown(next) };
}

function digestOf(value: JsonValue): string {
  return createHash("sha256").update(printJson(value)).digest("hex");
}

/** Whether the change deletes an object that something still holds. */
function isGoing({ before, now }: OverlayEntry): boolean {
  return now?.metadata.deletionTimestamp !== undefined && !before?.metadata.deletionTimestamp;
}

function classOf(entry: OverlayEntry, fields: readonly FieldChange[]): ChangeClass | undefined {
  const { before, now, refusal, wasRemoved } = entry;
  if (refusal !== undefined) return "refused";
  if (before === undefined) return now === undefined ? undefined : "create";
  if (now === undefined || isGoing(entry)) return "delete";
  if (wasRemoved) return "recreate";
  if (fields.length === 0) return undefined;
  const isAdopted = controllerOf(before) === undefined && controllerOf(now) !== undefined;
  return isAdopted ? "adopt" : "update";
}

/** Names of composed resources contain a hash of the uid of their composite resource, and a claim makes up the name of its own. */
export function isNameGenerated({ before, now, writers }: OverlayEntry, newUids: ReadonlySet<string>): boolean {
  if (before !== undefined || now === undefined) return false;
  if (writers[0]?.controller.startsWith("claim/")) return now.kind !== "Secret";
  if (!now.metadata.generateName) return false;
  return controllerOf(now) === undefined || [...newUids].some((uid) => isControlledBy(now, uid));
}

/** The made-up name that a longer name contains. */
function partOf(name: string, newNames: ReadonlySet<string>): string | undefined {
  return [...newNames].find((one) => one !== name && name.includes(one));
}

/** What a change of a managed resource does to what it manages. */
function externalOf(kind: ChangeClass, object: KubeObject | undefined): PlannedChange["external"] {
  if (object === undefined || !["delete", "recreate", "update"].includes(kind)) return undefined;
  const isManaged =
    memberAt(object, ["spec", "forProvider"]) !== undefined ||
    memberAt(object, ["spec", "providerConfigRef"]) !== undefined;
  if (kind === "update") return isManaged ? "unknown" : undefined;
  const policies = textsAt(object, ["spec", "managementPolicies"]);
  const isOrphaned = textAt(object, ["spec", "deletionPolicy"]) === "Orphan";
  const keeps = policies.length > 0 && !policies.includes("*") && !policies.includes("Delete");
  if (isOrphaned || keeps) return "kept";
  return isManaged ? "deleted" : undefined;
}

/** A field change without values that must not, or cannot, be shown. */
function hidden(field: FieldChange, context: Pick<ChangeContext, "newUids" | "newNames">): FieldChange {
  const { path, op, old, new: next } = field;
  if (isMasked(old) || isMasked(next)) return { path, op, sensitive: true };
  const unknown = isUnknown(next, [...context.newUids, ...context.newNames]);
  return {
    path,
    op,
    ...(old !== undefined && { old: shownValue(old) }),
    ...(next !== undefined && { new: shownValue(next) }),
    ...((hasMasked(old) || hasMasked(next)) && { sensitive: true }),
    ...(unknown && { unknown }),
  };
}

function isUnknown(value: JsonValue | undefined, made: readonly string[]): boolean {
  if (value === undefined || made.length === 0) return false;
  const text = printJson(value);
  return made.some((one) => text.includes(one));
}

/** What to compare beyond what users write. */
interface ProjectionOptions {
  readonly status: boolean;
  readonly owners: boolean;
}

const serverMetadata = new Set([
  "resourceVersion",
  "uid",
  "generation",
  "creationTimestamp",
  "managedFields",
  "selfLink",
  "ownerReferences",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
]);

/** The part of an object that a plan is about: without what the server writes, and what every reconcile keeps up to date. */
export function projected(object: KubeObject, { status, owners }: ProjectionOptions): JsonObject {
  const { metadata, spec, status: reported, apiVersion, kind, ...rest } = object as JsonObject;
  return {
    apiVersion: apiVersion ?? "",
    kind: kind ?? "",
    metadata: projectedMetadata(object, metadata, owners),
    ...rest,
    ...(spec !== undefined && { spec: projectedSpec(spec) }),
    ...(status && reported !== undefined && { status: reported }),
  };
}

function projectedMetadata(object: KubeObject, metadata: JsonValue | undefined, owners: boolean): JsonObject {
  const kept = Object.entries(isJsonObject(metadata) ? metadata : {}).filter(([name]) => !serverMetadata.has(name));
  const shown = Object.fromEntries(
    kept.map(([name, value]) => [name, name === "annotations" ? withoutLastApplied(value) : (value ?? null)]),
  );
  const { ownerReferences } = object.metadata;
  if (owners && ownerReferences)
    return { ...shown, ownerReferences: ownerReferences.map(({ uid: _uid, ...owner }) => owner) as JsonValue };
  const controller = controllerOf(object);
  return controller === undefined
    ? shown
    : { ...shown, controller: `${controller.kind}.${parseApiVersion(controller.apiVersion).group}/${controller.name}` };
}

function withoutLastApplied(annotations: JsonValue | undefined): JsonValue {
  if (!isJsonObject(annotations)) return annotations ?? null;
  const { [lastAppliedAnnotation]: _applied, ...rest } = annotations;
  return rest;
}

function projectedSpec(spec: JsonValue): JsonValue {
  if (!isJsonObject(spec)) return spec;
  const { resourceRefs: _refs, crossplane, ...rest } = spec;
  if (!isJsonObject(crossplane)) return { ...rest, ...(crossplane !== undefined && { crossplane }) };
  const { resourceRefs: _modern, ...others } = crossplane;
  return Object.keys(others).length === 0 ? rest : { ...rest, crossplane: others };
}

/** The schema of a kind in a version, from its CustomResourceDefinition. */
export function schemaIn(crd: KubeObject | undefined, apiVersion: string): JsonObject | undefined {
  if (crd === undefined) return undefined;
  const { version } = parseApiVersion(apiVersion);
  const found = objectsAt(crd, ["spec", "versions"]).find((one) => one["name"] === version);
  return found === undefined ? undefined : objectAt(found, ["schema", "openAPIV3Schema"]);
}
