// SPDX-License-Identifier: Apache-2.0

import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Cluster } from "../cluster/cluster-client.ts";
import { pathOf, type Target } from "../cluster/find-resource.ts";
import { textOf, UserError } from "../user-error.ts";

/** Which objects of a type are meant. */
export interface Selection {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** What the API server answers for a target, in one of its forms. */
export interface Fetched {
  readonly target: Target;
  readonly answer: JsonValue;
}

export const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** The query of a selection. An object that is named needs none. */
export function queryOf({ labelSelector, fieldSelector }: Selection): Record<string, string> {
  return { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
}

/** Reads one target. Throws a UserError where it is not found. */
export async function fetchTarget(
  { client }: Cluster,
  target: Target,
  { selection, accept, signal }: { selection: Selection; accept: string; signal: AbortSignal },
): Promise<Fetched> {
  const path = pathOf(target.resource, { namespace: selection.namespace, name: target.name });
  const query = target.name === undefined ? queryOf(selection) : {};
  try {
    return { target, answer: await client.raw({ method: "GET", path, accept, query, signal }) };
  } catch (error) {
    const hint = isNotFound(error) && target.resource.namespaced ? ": check the name and --namespace" : "";
    throw new UserError(`${textOf(error)}${hint}`, { cause: error });
  }
}

/** The objects of an answer. Items of built-in lists carry no type. */
export function objectsOf({ target, answer }: Fetched): KubeObject[] {
  if (target.name !== undefined) return [answer as KubeObject];
  const { items } = answer as { readonly items?: readonly KubeObject[] | null };
  const { apiVersion, kind } = target.resource;
  return (items ?? []).map((item) => (item.kind ? item : { ...item, apiVersion, kind }));
}
