// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  parseJson,
  printJson,
} from "@purlin/kube-objects/json";
import {
  annotationOf,
  type KubeObject,
  keyOf,
  lastAppliedAnnotation,
  type ObjectKey,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { refusalOf } from "./overlay/overlay-entry.ts";
import type { PlanError } from "./plan/plan.ts";
import type { ApplyStage } from "./settle/run-pass.ts";

/** What a preview changes. */
export interface ChangeSet {
  /** Objects to apply, in stages: what defines before what is defined. */
  readonly stages: readonly (readonly KubeObject[])[];
  readonly deletes: readonly (TypeRef & ObjectKey)[];
  readonly applyAs: ApplyAs;
  /** The namespace of objects that name none. */
  readonly namespace: string;
}

/** How objects of files are applied: as their owner, or always in one way. */
export type ApplyAs =
  | { readonly mode: "auto" | "kubectl" }
  | { readonly mode: "server-side"; readonly manager: string };

/** The manager of objects that nothing has applied before. */
const defaultManager = "purlin-apply";

/** The stages of a change set. An object that is refused keeps none of the others from being applied. */
export function applyStages(changes: ChangeSet, onError: (error: PlanError) => void): readonly ApplyStage[] {
  const applying = changes.stages.map(
    (objects): ApplyStage =>
      async (client) => {
        for (const object of objects) {
          await applyOne(client, object, changes).catch((error: unknown) => onError(problemOf(object, error)));
        }
      },
  );
  const deleting: ApplyStage = async (client) => {
    for (const target of changes.deletes) {
      await client
        .delete(target)
        .catch((error: unknown) =>
          onError({ text: `${target.kind} ${placeOf(target)}: ${textOf(error)}`, isInvalid: false }),
        );
    }
  };
  return changes.deletes.length === 0 ? applying : [...applying, deleting];
}

function problemOf({ kind, metadata }: KubeObject, error: unknown): PlanError {
  return {
    text: `${kind} ${placeOf({ namespace: metadata.namespace, name: metadata.name ?? metadata.generateName ?? "" })}: ${textOf(error)}`,
    isInvalid: refusalOf(error).isInvalid,
  };
}

function placeOf({ namespace, name }: ObjectKey): string {
  return namespace ? `${namespace}/${name}` : name;
}

async function applyOne(
  client: ControllerClient,
  written: KubeObject,
  { applyAs, namespace }: ChangeSet,
): Promise<void> {
  const object = await placed(client, written, namespace);
  if (!object.metadata.name) {
    await client.create(object, { fieldManager: defaultManager });
    return;
  }
  const current = await client.get(object, keyOf(object));
  const before = current && annotationOf(current, lastAppliedAnnotation);
  const isKubectl = applyAs.mode === "kubectl" || (applyAs.mode === "auto" && before !== undefined);
  if (current !== undefined && isKubectl) {
    const patch = threeWayPatch(parsed(before), object as JsonObject, current as JsonObject);
    const { apiVersion, kind } = object;
    await client.patch({ apiVersion, kind, ...keyOf(object) }, patch, {
      type: "merge",
      fieldManager: "kubectl-client-side-apply",
    });
    return;
  }
  const fieldManager = applyAs.mode === "server-side" ? applyAs.manager : managerOf(current);
  await client.apply(object, { fieldManager, force: true, fieldValidation: "Strict" });
}

/** Puts a namespaced object that names no namespace into the given one. */
async function placed(client: ControllerClient, object: KubeObject, namespace: string): Promise<KubeObject> {
  const { namespaced } = await client.mapper.mapping(object);
  if (!namespaced || object.metadata.namespace) return object;
  return { ...object, metadata: { ...object.metadata, namespace } };
}

function parsed(text: string | undefined): JsonObject {
  if (text === undefined) return {};
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The merge patch of a client-side apply: what the file says, and nulls for what it said before and no longer says. */
function threeWayPatch(before: JsonObject, wanted: JsonObject, current: JsonObject): JsonObject {
  const patch: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(wanted)) {
    const now = ownValue(current, name);
    if (!isJsonObject(value)) {
      patch[name] = value ?? null;
      continue;
    }
    const old = ownValue(before, name);
    patch[name] = isJsonObject(now) ? threeWayPatch(isJsonObject(old) ? old : {}, value, now) : value;
  }
  for (const name of Object.keys(before))
    if (!Object.hasOwn(wanted, name) && Object.hasOwn(current, name)) patch[name] = null;
  return patch;
}

/** The Apply manager that owns most fields of an object outside its status, unless a controller is the only one. */
function managerOf(current: KubeObject | undefined): string {
  const applied = (current?.metadata.managedFields ?? []).filter(
    ({ operation, subresource, manager = "" }) =>
      operation === "Apply" && !subresource && !manager.startsWith("apiextensions.crossplane.io/"),
  );
  if (applied.some(({ manager }) => manager === defaultManager)) return defaultManager;
  const sized = applied.map((entry) => ({
    manager: entry.manager ?? "",
    size: printJson(entry.fieldsV1 ?? {}).length,
  }));
  return sized.sort((a, b) => b.size - a.size)[0]?.manager ?? defaultManager;
}
