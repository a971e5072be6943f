// SPDX-License-Identifier: Apache-2.0
import type { AwaitingWork } from "@purlin/base";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, parseApiVersion, stringAt } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, labelSelectorOf, matchesLabels } from "@purlin/kube-objects/selector";
import { metaOf } from "../objects/object-meta.ts";
import type { Catalog } from "../registry/registry.ts";
import { keyPrefix, objectKey, type ResourceType } from "../registry/resource-type.ts";
import type { Store } from "../store/store.ts";
import type { AdmissionAttributes } from "./admission.ts";
import type { Policy, PolicyBinding } from "./policy.ts";

/** What the parameters of policies depend on. */
export interface ParamDeps {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  /** Stored objects as their type serves them. */
  readonly served: (objects: readonly JsonObject[], type: ResourceType) => AwaitingWork<readonly JsonObject[]>;
}

/** A policy or a binding whose parameters cannot be found: the text of the reference, and whose fault it is. */
export class ParamProblem extends Error {
  readonly ofPolicy: boolean;

  constructor(message: string, { ofPolicy }: { readonly ofPolicy: boolean }) {
    super(message);
    this.ofPolicy = ofPolicy;
  }
}

/** The type of the parameters of a policy; undefined for a policy without. */
export function paramType({ paramKind }: Policy, catalog: Catalog): ResourceType | undefined {
  if (paramKind === undefined) return undefined;
  const { group, version } = parseApiVersion(paramKind.apiVersion);
  const found = catalog
    .group(group)
    ?.versions.find((one) => one.version === version)
    ?.resources.find(({ kind }) => kind === paramKind.kind);
  if (found !== undefined) return found;
  const shown = `${group === "" ? "/" : ""}${paramKind.apiVersion}, Kind=${paramKind.kind}`;
  throw new ParamProblem(`failed to find resource referenced by paramKind: '${shown}'`, { ofPolicy: true });
}

/** The parameters of a binding for a write: one evaluation for each. Undefined stands for the evaluation without parameters. */
export function* paramsOf(
  { paramRef }: PolicyBinding,
  { type, attributes }: { readonly type: ResourceType | undefined; readonly attributes: AdmissionAttributes },
  deps: ParamDeps,
): AwaitingWork<readonly (JsonObject | undefined)[]> {
  if (type === undefined || paramRef === undefined) return [undefined];
  const namespace = paramNamespace(paramRef, type, attributes);
  const found = yield* deps.served(selected(paramRef, { type, namespace }, deps.store), type);
  if (found.length > 0) return found;
  if (stringAt(paramRef, ["parameterNotFoundAction"]) === "Allow") return [];
  throw new ParamProblem("no params found for policy binding with `Deny` parameterNotFoundAction", { ofPolicy: false });
}

function paramNamespace(paramRef: JsonObject, type: ResourceType, attributes: AdmissionAttributes): string {
  const own = stringAt(paramRef, ["namespace"]);
  if (!type.namespaced) {
    if (own === "") return "";
    throw new ParamProblem("paramRef.namespace must not be provided for a cluster-scoped `paramKind`", {
      ofPolicy: false,
    });
  }
  if (own !== "") return own;
  if (attributes.type.namespaced) return attributes.namespace;
  const why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
  throw new ParamProblem(why, { ofPolicy: false });
}

interface ParamPlace {
  readonly type: ResourceType;
  readonly namespace: string;
}

function selected(paramRef: JsonObject, { type, namespace }: ParamPlace, store: Store<JsonObject>): JsonObject[] {
  const name = stringAt(paramRef, ["name"]);
  if (name !== "") {
    const found = store.get(objectKey(type, namespace, name))?.value;
    return found === undefined ? [] : [found];
  }
  const selector = memberAt(paramRef, ["selector"]);
  if (!isJsonObject(selector)) return [];
  const wanted = labelSelectorOf(selector as LabelSelectorObject);
  return store
    .list({ prefix: keyPrefix(type, namespace), filter: ({ value }) => matchesLabels(wanted, metaOf(value).labels) })
    .entries.map(({ value }) => value);
}
