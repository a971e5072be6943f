// SPDX-License-Identifier: Apache-2.0
import { badRequest, conflict, goQuote, isJsonObject, type JsonValue, notFound } from "@purlin/kube-objects";
import type { BoundObject } from "../auth/service-account-tokens.ts";
import { textAt } from "../builtin/read-field.ts";
import { metaOf } from "../rest/object-meta.ts";
import type { RestRequest } from "../rest/rest-context.ts";

/** What a token can be bound to. There are no Nodes here, so none is ever found. */
const RESOURCES: ReadonlyMap<string, string> = new Map([
  ["Pod", "pods"],
  ["Secret", "secrets"],
  ["Node", "nodes"],
]);

/**
 * The object that a token of the account asked about is to end with; undefined when the reference is none. Throws for what is not there,
 * and for what no token can end with.
 */
export function boundObject(
  { store, target }: Pick<RestRequest, "store" | "target">,
  reference: JsonValue | undefined,
): BoundObject | undefined {
  if (!isJsonObject(reference)) return undefined;
  const [kind, name, wanted] = [textAt(reference, "kind"), textAt(reference, "name"), textAt(reference, "uid")];
  const resource = resourceOf(textAt(reference, "apiVersion"), kind);
  if (name === "") throw badRequest("Name parameter required.");
  const object = store.get(`//${resource}/${target.namespace}/${name}`)?.value;
  if (object === undefined) throw notFound({ group: "", resource }, name);
  const { uid = "" } = metaOf(object);
  if (wanted !== "" && wanted !== uid) {
    const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: "", resource: kind }, name, why);
  }
  if (resource === "pods" && textAt(object, "spec", "serviceAccountName") !== target.name) {
    const account = goQuote(target.name);
    throw badRequest(
      `cannot bind token for serviceaccount ${account} to pod running with different serviceaccount name.`,
    );
  }
  return { kind: resource === "pods" ? "pod" : "secret", name, uid };
}

function resourceOf(apiVersion: string, kind: string): string {
  const parts = apiVersion.split("/");
  // As in the reference, a version that cannot be read is as good as none.
  const isCore = parts.length !== 2 || parts[0] === "";
  const resource = isCore ? RESOURCES.get(kind) : undefined;
  if (resource !== undefined) return resource;
  const shown = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  throw badRequest(`cannot bind token to object of type ${shown}, Kind=${kind}`);
}
