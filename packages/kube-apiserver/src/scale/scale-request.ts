// SPDX-License-Identifier: Apache-2.0
import { conflict, type JsonObject } from "@purlin/kube-objects";
import { builtinStrategy } from "../builtin/builtin-strategy.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import { metaOf, withMeta } from "../rest/object-meta.ts";
import type { RestRequest } from "../rest/rest-context.ts";

/** A request for the Scale of an object, seen as a request for a Scale: a built-in kind, whatever it is the Scale of. */
export function asScaleRequest(rest: RestRequest): RestRequest {
  const type: ResourceType = { ...rest.type, group: "autoscaling", version: "v1", kind: "Scale", custom: false };
  return { ...rest, type, strategy: builtinStrategy(type, {}, rest.now) };
}

/** A patched Scale with the uid it has. Of built-in kinds another one is a conflict, of custom ones it is nothing. */
export function requireUid({ type, target }: RestRequest, next: JsonObject, scale: JsonObject): JsonObject {
  const [sent = "", stored = ""] = [metaOf(next).uid, metaOf(scale).uid];
  if (!type.custom && sent !== "" && sent !== stored) {
    const resource = { group: type.group, resource: `${type.resource}/scale` };
    const why = `Precondition failed: UID in precondition: ${sent}, UID in object meta: ${stored}`;
    throw conflict(resource, target.name, why);
  }
  return withMeta(next, { uid: stored });
}
