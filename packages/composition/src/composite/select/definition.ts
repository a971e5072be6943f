// SPDX-License-Identifier: Apache-2.0

import { during, notFound } from "@purlin/kube-objects/errors";
import { isJsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, textAt, textMapAt, textsAt } from "@purlin/kube-objects/object";
import { apiGroup, kinds } from "../../composite-resource/constants.ts";
import type { MatchLabels } from "../../composite-resource/crossplane-fields.ts";
import type { CompositeDeps } from "../context.ts";

/** The fields of an XRD that reconciling its composite resources depends on. */
export interface DefinitionFacts {
  readonly enforcedComposition: string | undefined;
  readonly defaultComposition: string | undefined;
  readonly defaultRevisionSelector: MatchLabels | undefined;
  /** Keys a connection secret may have; none means any. */
  readonly connectionSecretKeys: readonly string[];
  /** Status fields that are ours unless the author declared a field of that name. */
  readonly ownStatusFields: ReadonlySet<OwnStatusField>;
  /** The XRD itself, for the annotations of the guard. */
  readonly annotated: KubeObject;
}

/** Status fields of ours that give way to fields of the same name in the author's schema. */
export type OwnStatusField = "claimConditions" | "lastHandledReconcileAt" | "crossplane";

const giveWay: readonly OwnStatusField[] = ["claimConditions", "lastHandledReconcileAt", "crossplane"];
const known = new WeakMap<KubeObject, DefinitionFacts>();

/** The XRD at the start of a reconcile. */
export interface CompositeDefinition {
  /** Undefined when the XRD could not be read. */
  readonly facts: DefinitionFacts | undefined;
  /** Throws the error of the read when there are no facts. */
  require(): DefinitionFacts;
}

/** Reads the XRD from the cache each time, so that an edit counts at once. Never rejects. */
export async function readDefinition(deps: CompositeDeps, signal: AbortSignal): Promise<CompositeDefinition> {
  try {
    const facts = await during("cannot get composite resource definition", () => readFacts(deps, signal));
    return { facts, require: () => facts };
  } catch (error) {
    const require = (): never => {
      throw error;
    };
    return { facts: undefined, require };
  }
}

async function readFacts({ client, kind }: CompositeDeps, signal: AbortSignal): Promise<DefinitionFacts> {
  const definition = await client.get(kinds.definition, { name: kind.definition }, { signal });
  if (definition === undefined) {
    throw notFound({ group: apiGroup, resource: "compositeresourcedefinitions" }, kind.definition);
  }
  const facts = known.get(definition) ?? factsOf(definition);
  if (Object.isFrozen(definition)) known.set(definition, facts);
  return facts;
}

/** The facts in an XRD. */
function factsOf(definition: KubeObject): DefinitionFacts {
  const selector = memberAt(definition, ["spec", "defaultCompositionRevisionSelector"]);
  return {
    annotated: definition,
    enforcedComposition: textAt(definition, ["spec", "enforcedCompositionRef", "name"]),
    defaultComposition: textAt(definition, ["spec", "defaultCompositionRef", "name"]),
    defaultRevisionSelector: isJsonObject(selector) ? (textMapAt(selector, ["matchLabels"]) ?? {}) : undefined,
    connectionSecretKeys: textsAt(definition, ["spec", "connectionSecretKeys"]),
    ownStatusFields: new Set(giveWay.filter((field) => !authorDeclares(definition, field))),
  };
}

function authorDeclares(definition: KubeObject, field: string): boolean {
  const versions = memberAt(definition, ["spec", "versions"]);
  const referenceable = Array.isArray(versions)
    ? versions.filter((v) => isJsonObject(v) && v["referenceable"] === true)
    : [];
  const schema = referenceable.at(-1);
  if (!isJsonObject(schema)) return false;
  const path = ["schema", "openAPIV3Schema", "properties", "status", "properties"];
  return Object.hasOwn(objectAt(schema, path), field);
}
