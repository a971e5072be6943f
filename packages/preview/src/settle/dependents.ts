// SPDX-License-Identifier: Apache-2.0
import { compositionKinds, type DefinitionFacts, functionType, resourceRefsOf } from "@purlin/composition";
import { isNoMatch } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { type KubeObject, objectsAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { kindIdentity } from "../overlay/live-reads.ts";
import type { Pass } from "./run-pass.ts";

const packageKinds = ["Function", "Provider", "Configuration"];
const packageType = (kind: string): TypeRef => ({ ...functionType, kind });

/** What keeps revisions: the kind of its revisions. */
const revisionTypes: ReadonlyMap<string, TypeRef> = new Map([
  [kindIdentity(compositionKinds.composition), compositionKinds.revision],
  ...packageKinds.map((kind) => [kindIdentity(packageType(kind)), packageType(`${kind}Revision`)] as const),
]);

const packageRevisions: ReadonlySet<string> = new Set(
  packageKinds.map((kind) => kindIdentity(packageType(`${kind}Revision`))),
);

const namespaceKind = kindIdentity({ apiVersion: "v1", kind: "Namespace" });

/**
 * Objects that may go with one that is deleted: what a composite resource composes, the revisions of a Composition or package, what a
 * revision of a package installed, and the claims and composite resources of a namespace.
 */
export async function dependentsOf(pass: Pass, owner: KubeObject): Promise<readonly KubeObject[]> {
  const kind = kindIdentity(owner);
  const revisions = revisionTypes.get(kind);
  if (revisions !== undefined) return listServed(pass.client, revisions);
  if (packageRevisions.has(kind)) return installedBy(pass.client, owner);
  const definitions = [...(await pass.definitions()), ...pass.removedDefinitions()];
  if (kind === namespaceKind) return inNamespace(pass.client, definitions, owner.metadata.name ?? "");
  const facts = definitions.find(({ compositeType }) => kindIdentity(compositeType) === kind);
  return facts === undefined ? [] : referencedBy(pass, owner, facts);
}

/** The composed resources of a composite resource that exist. */
export async function referencedBy(
  pass: Pass,
  xr: KubeObject,
  { schema }: Pick<DefinitionFacts, "schema">,
): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  for (const ref of resourceRefsOf(xr, schema)) {
    const { name, namespace = xr.metadata.namespace } = ref;
    if (name === undefined || name === "") continue;
    const object = await pass.client.get(ref, { name, namespace }).catch(ignoreNoMatch);
    if (object !== undefined) found.push(object);
  }
  return found;
}

async function installedBy(client: ControllerClient, revision: KubeObject): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  for (const ref of objectsAt(revision, ["status", "objectRefs"])) {
    const type = { apiVersion: textAt(ref, ["apiVersion"]) ?? "", kind: textAt(ref, ["kind"]) ?? "" };
    const object = await client.get(type, { name: textAt(ref, ["name"]) ?? "" }).catch(ignoreNoMatch);
    if (object !== undefined) found.push(object);
  }
  return found;
}

async function inNamespace(
  client: ControllerClient,
  definitions: readonly DefinitionFacts[],
  namespace: string,
): Promise<readonly KubeObject[]> {
  const types = definitions.flatMap(({ compositeType, claimType }) => [claimType ?? [], compositeType].flat());
  const lists = await Promise.all(types.map((type) => listServed(client, type)));
  return lists.flat().filter(({ metadata }) => metadata.namespace === namespace);
}

/** The objects of a kind; none of a kind that is not served. */
async function listServed(client: ControllerClient, type: TypeRef): Promise<readonly KubeObject[]> {
  return (await client.list(type).catch(ignoreNoMatch)) ?? [];
}

function ignoreNoMatch(error: unknown): undefined {
  if (!isNoMatch(error)) throw error;
  return undefined;
}
