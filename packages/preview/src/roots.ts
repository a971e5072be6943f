// SPDX-License-Identifier: Apache-2.0
import {
  compositionKinds,
  compositionRefOf,
  crossplaneLabels,
  type DefinitionFacts,
  definitionFacts,
  revisionRefOf,
  updatePolicyOf,
  withCrossplaneFields,
} from "@purlin/composition";
import { isNoMatch } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import {
  controllerOf,
  type KubeObject,
  numberAt,
  type ObjectKey,
  objectAt,
  objectsAt,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { type LabelSelector, matchesLabels } from "@purlin/kube-objects/selector";
import type { ChangeSet } from "./change-set.ts";
import { identityAt, identityOf, kindIdentity } from "./overlay/live-reads.ts";
import type { ApplyStage, Pass } from "./settle/run-pass.ts";

/** Which composite resources a preview looks at. */
export interface RootOptions {
  /** Functions that run from another source than before. */
  readonly functions: readonly string[];
  /** Only these, as `name` or `namespace/name`; all when empty. */
  readonly only: readonly string[];
  /** Only those with these labels; all unless given. */
  readonly labelSelector?: LabelSelector | undefined;
  readonly namespace: string;
}

/**
 * The composite resources and claims that a change set may concern: those it names, those of a kind whose Composition or definition it
 * changes or deletes, those whose pipelines run such a function, and all when it changes anything else that functions may read.
 */
export async function rootsOf(
  pass: Pass,
  { stages, deletes }: ChangeSet,
  options: RootOptions,
): Promise<readonly KubeObject[]> {
  const { client } = pass;
  const definitions = await pass.definitions();
  const roots: KubeObject[] = [];
  const kinds = new Map<string, DefinitionFacts>();
  for (const object of stages.flat()) {
    if (isComposite(object, definitions)) roots.push(...(await namedRoot(client, object, options)));
    else for (const facts of await concerned(client, object, definitions)) kinds.set(facts.name, facts);
  }
  for (const target of deletes) {
    const deleted = await deletedObject(pass, target);
    if (isComposite(target, definitions)) roots.push(...(await makersOf(client, deleted, definitions)));
    else for (const facts of await concernedByDeletion(client, deleted, definitions)) kinds.set(facts.name, facts);
  }
  for (const name of options.functions)
    for (const facts of await usersOf(client, name, definitions)) kinds.set(facts.name, facts);
  const isEmpty = stages.flat().length + deletes.length + options.functions.length === 0;
  for (const facts of isEmpty ? definitions : kinds.values()) roots.push(...(await listComposites(client, facts)));
  const chosen = roots.filter((root) => isChosen(root, options));
  pass.skipped.push(...chosen.filter((root) => !isRun(root)));
  return chosen.filter(isRun);
}

function isComposite(object: TypeRef, definitions: readonly DefinitionFacts[]): boolean {
  return definitions.some(({ compositeType, claimType }) =>
    [compositeType, claimType].some((type) => type !== undefined && kindIdentity(type) === kindIdentity(object)),
  );
}

/** A composite resource of the change set; a claim with the composite resource that it is bound to. */
async function namedRoot(
  client: ControllerClient,
  object: KubeObject,
  { namespace }: RootOptions,
): Promise<readonly KubeObject[]> {
  const { name } = object.metadata;
  if (!name) return [];
  const stored = await client.get(object, { namespace: object.metadata.namespace ?? namespace, name });
  return stored === undefined ? [] : [stored];
}

/** The definitions whose composite resources an object may concern. */
async function concerned(
  client: ControllerClient,
  object: KubeObject,
  definitions: readonly DefinitionFacts[],
): Promise<readonly DefinitionFacts[]> {
  const kind = kindIdentity(object);
  if (kind === kindIdentity(compositionKinds.composition)) {
    const composed = textAt(object, ["spec", "compositeTypeRef", "kind"]);
    const group = (textAt(object, ["spec", "compositeTypeRef", "apiVersion"]) ?? "").split("/")[0] ?? "";
    return definitions.filter(({ compositeType }) => kindIdentity(compositeType) === `${group}/${composed}`);
  }
  if (kind === kindIdentity(compositionKinds.definition))
    return definitions.filter(({ name }) => name === object.metadata.name);
  if (kind === "pkg.crossplane.io/Function") return usersOf(client, object.metadata.name ?? "", definitions);
  return definitions;
}

/**
 * The definitions whose composite resources the deletion of an object may concern: of a Composition, those of its kind. Anything else may be
 * read by functions, or something goes with it: what a package installed, and kinds that composite resources compose.
 */
async function concernedByDeletion(
  client: ControllerClient,
  deleted: KubeObject | undefined,
  definitions: readonly DefinitionFacts[],
): Promise<readonly DefinitionFacts[]> {
  if (deleted === undefined) return [];
  const isComposition = kindIdentity(deleted) === kindIdentity(compositionKinds.composition);
  return isComposition ? concerned(client, deleted, definitions) : definitions;
}

/** An object of the change set as it is without its deletion. */
async function deletedObject({ client, overlay }: Pass, target: TypeRef & ObjectKey): Promise<KubeObject | undefined> {
  return overlay.entries.get(identityAt(target, target))?.before ?? (await client.get(target, target));
}

/** The claim or composite resource that makes a composite resource again when it is deleted. */
async function makersOf(
  client: ControllerClient,
  deleted: KubeObject | undefined,
  definitions: readonly DefinitionFacts[],
): Promise<readonly KubeObject[]> {
  const owner = deleted && controllerOf(deleted);
  const { claimRef } = objectAt(deleted ?? {}, ["spec"]);
  const claim = claimRef as (TypeRef & ObjectKey) | undefined;
  const refs = [
    ...(owner === undefined ? [] : [{ ...owner, namespace: deleted?.metadata.namespace }]),
    ...(claim === undefined ? [] : [claim]),
  ];
  const found = refs.filter((ref) => isComposite(ref, definitions)).map((ref) => client.get(ref, ref));
  return (await Promise.all(found)).filter((one) => one !== undefined);
}

/** The definitions of which some Composition has a step that runs a function. */
async function usersOf(
  client: ControllerClient,
  name: string,
  definitions: readonly DefinitionFacts[],
): Promise<readonly DefinitionFacts[]> {
  const used = new Set<string>();
  for (const kind of [compositionKinds.composition, compositionKinds.revision]) {
    for (const composition of await client.list(kind)) {
      const runs = objectsAt(composition, ["spec", "pipeline"]).some(
        (step) => textAt(step, ["functionRef", "name"]) === name,
      );
      const group = (textAt(composition, ["spec", "compositeTypeRef", "apiVersion"]) ?? "").split("/")[0] ?? "";
      if (runs) used.add(`${group}/${textAt(composition, ["spec", "compositeTypeRef", "kind"])}`);
    }
  }
  return definitions.filter(({ compositeType }) => used.has(kindIdentity(compositeType)));
}

/** A composite resource that is being deleted is no longer composed. */
function isRun({ metadata }: KubeObject): boolean {
  return !metadata.deletionTimestamp;
}

function isChosen(object: KubeObject, { only, labelSelector }: RootOptions): boolean {
  if (labelSelector !== undefined && !matchesLabels(labelSelector, object.metadata.labels)) return false;
  return only.length === 0 || namesOf(object).some((name) => only.includes(name));
}

/** What `only` may call a composite resource. Nested ones belong to the one at the root of their tree. */
function namesOf({ metadata: { namespace = "", name = "", labels } }: KubeObject): readonly string[] {
  return [name, `${namespace}/${name}`, labels?.[crossplaneLabels.composite] ?? name];
}

/** The names of `only` that none of these objects, and nothing that is deleted, has. */
export function unmatched(
  { only }: RootOptions,
  objects: readonly KubeObject[],
  { deletes }: ChangeSet,
): readonly string[] {
  const deleted = deletes.flatMap(({ namespace = "", name }) => [name, `${namespace}/${name}`]);
  const known = new Set([...objects.flatMap(namesOf), ...deleted]);
  return only.filter((name) => !known.has(name));
}

const compositionNameLabel = "crossplane.io/composition-name";

/**
 * Moves composite resources with a Manual update policy to the newest revision of the Compositions that a change set contains, as their
 * owners may do later. Adds the identities of those that it moves to a set.
 */
export function movePinned({ stages }: ChangeSet, moved: Set<string>): ApplyStage {
  const changed = stages.flat().filter((object) => kindIdentity(object) === kindIdentity(compositionKinds.composition));
  return async (client) => {
    const newest = new Map<string, string>();
    for (const { metadata } of changed) {
      const revision = await newestRevision(client, metadata.name ?? "");
      if (revision !== undefined) newest.set(metadata.name ?? "", revision);
    }
    if (newest.size === 0) return;
    for (const definition of await client.list(compositionKinds.definition)) {
      const facts = definitionFacts(definition);
      for (const xr of await listComposites(client, facts))
        if (await moveOne(client, xr, { facts, newest })) moved.add(identityOf(xr));
    }
  };
}

async function moveOne(
  client: ControllerClient,
  xr: KubeObject,
  { facts, newest }: { readonly facts: DefinitionFacts; readonly newest: ReadonlyMap<string, string> },
): Promise<boolean> {
  const { schema } = facts;
  const revision = newest.get(compositionRefOf(xr, schema) ?? "");
  const isPinned = updatePolicyOf(xr, schema) === "Manual" && !xr.metadata.deletionTimestamp;
  if (!isPinned || revision === undefined || revisionRefOf(xr, schema) === revision) return false;
  await client.update(withCrossplaneFields(xr, schema, { compositionRevisionRef: { name: revision } }), {
    fieldManager: "purlin-diff",
  });
  return true;
}

async function newestRevision(client: ControllerClient, name: string): Promise<string | undefined> {
  const revisions = await client.list(compositionKinds.revision, { labels: { [compositionNameLabel]: name } });
  const numberOf = (one: KubeObject): number => numberAt(one, ["spec", "revision"]) ?? 0;
  return [...revisions].sort((a, b) => numberOf(b) - numberOf(a))[0]?.metadata.name;
}

/** The composite resources of a definition. A kind that is not served has no objects; its definition reports why. */
async function listComposites(
  client: ControllerClient,
  { compositeType }: DefinitionFacts,
): Promise<readonly KubeObject[]> {
  try {
    return await client.list(compositeType);
  } catch (error) {
    if (!isNoMatch(error)) throw error;
    return [];
  }
}
