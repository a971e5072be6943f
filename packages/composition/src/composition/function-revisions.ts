// SPDX-License-Identifier: Apache-2.0
import { type DevelopmentTrust, type FunctionRevisions, honoredDevelopmentOf } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";

/** Functions, as packages install them. */
export const functionType: TypeRef = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
/** Their revisions. */
export const functionRevisionType: TypeRef = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
/** The label that ties a revision to its Function. */
export const packageLabel = "pkg.crossplane.io/package";

/** The FunctionRevisions a client sees. */
export function functionRevisionsOf(client: ControllerClient): FunctionRevisions {
  return {
    get: async (name, signal) => asJson(await client.get(functionRevisionType, { name }, { signal })),
    list: async (labels, signal) => {
      const found = await client.list(functionRevisionType, { labels: Object.fromEntries(labels), signal });
      return found.map((revision) => revision);
    },
    withDigest: async (digest, signal) => {
      const field = { path: ["spec", "digest"], value: digest };
      const found = await client.list(functionRevisionType, { field, signal });
      return found.map((revision) => revision);
    },
  };
}

function asJson(object: KubeObject | undefined): JsonObject | undefined {
  return object;
}

/** Whether a Function says that it is under development, and may say so. */
export async function isUnderDevelopment(
  client: ControllerClient,
  name: string,
  { trust, signal }: { readonly trust: DevelopmentTrust; readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  const found = await client.get(functionType, { name }, { signal });
  return found !== undefined && honoredDevelopmentOf(found, trust) !== undefined;
}
