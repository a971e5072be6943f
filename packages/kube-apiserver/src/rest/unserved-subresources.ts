// SPDX-License-Identifier: Apache-2.0
import { notFound, StatusError } from "@purlin/kube-objects/errors";
import type { ResourceAccess } from "../auth/authorizer.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import type { RestServices } from "./rest-context.ts";
import { objectKey } from "./storage-key.ts";

const noContainers = "this API server runs no containers";

/** 501 for a subresource that other clusters serve; 404 for one of an object that does not exist; else undefined. */
export function unservedSubresource(
  type: ResourceType,
  { name, namespace, subresource }: ResourceAccess,
  { store }: Pick<RestServices, "store">,
): StatusError | undefined {
  const [first = ""] = subresource.split("/");
  const action = type.unserved && Object.hasOwn(type.unserved, first) ? type.unserved[first] : undefined;
  if (action === undefined) return undefined;
  if (store.get(objectKey(type, namespace, name)) === undefined) return notFound(type, name);
  const message = `cannot ${action} ${type.kind.toLowerCase()} "${name}": ${noContainers}`;
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: "NotImplemented",
    details: { name, kind: `${type.resource}/${first}` },
    code: 501,
  });
}
