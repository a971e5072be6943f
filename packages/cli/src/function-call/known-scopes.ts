// SPDX-License-Identifier: Apache-2.0
import { type KindScope, type ScopeOf, scopesOfCrds } from "@purlin/function-runner";
import { builtinOpenAPI, findSchema, type GroupVersionKind, openAPIPathKey } from "@purlin/kube-objects";

/** The built-in kinds that live outside namespaces. OpenAPI documents without paths do not tell. */
const clusterScoped = new Set([
  "APIService",
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "MutatingWebhookConfiguration",
  "Namespace",
  "ValidatingWebhookConfiguration",
]);

/** The scopes of all kinds that exist without there being an object: built-in ones and those of the definitions. */
export function knownScopes(crds: Iterable<unknown>): ScopeOf {
  const custom = scopesOfCrds(crds);
  return (gvk) => custom(gvk) ?? builtinScope(gvk);
}

function builtinScope(gvk: GroupVersionKind): KindScope | undefined {
  const document = builtinOpenAPI().document(openAPIPathKey(gvk));
  if (document === undefined || findSchema(document, gvk) === undefined) return undefined;
  return clusterScoped.has(gvk.kind) ? "Cluster" : "Namespaced";
}
