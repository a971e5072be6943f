// SPDX-License-Identifier: Apache-2.0
import {
  createFieldManager,
  type FieldManager,
  type JsonObject,
  jsonEqual,
  unclassifiedError,
} from "@purlin/kube-objects";
import { scaleApplyType } from "../builtin/apply-versions.ts";
import { metaOf, withMeta } from "../rest/object-meta.ts";
import type { ApplyPatch } from "../rest/patch-request.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { atTarget } from "../rest/update.ts";
import { SCALE_VERSION } from "./scale-object.ts";
import { asScaleRequest } from "./scale-request.ts";

/** Knows who owns the fields of Scales. */
export function scaleManager({ now }: Pick<RestRequest, "now">): FieldManager {
  const type = scaleApplyType();
  return createFieldManager({
    apiVersion: SCALE_VERSION,
    kind: "Scale",
    versions: { typeAt: (apiVersion) => (apiVersion === SCALE_VERSION ? type : undefined) },
    subresource: "scale",
    now,
  });
}

/** The Scale after a configuration was applied to it. */
export function applyScale(rest: RestRequest, scale: JsonObject, { config, options }: ApplyPatch): JsonObject {
  const { custom } = rest.type;
  if (custom && metaOf(scale).managedFields === undefined) {
    throw notConvertible("failed to create manager for existing fields: failed to convert live object", {});
  }
  const next = scaleManager(rest).apply(scale, config, { manager: options.manager, force: options.force });
  if (
    custom &&
    !jsonEqual(withMeta(next, { managedFields: undefined }), withMeta(scale, { managedFields: undefined }))
  ) {
    throw notConvertible("failed to convert new object", config);
  }
  const scaleRest = asScaleRequest(rest);
  return next === scale ? scale : atTarget(scaleRest, scaleRest.strategy.decode(next).object);
}

/** The reference tries to convert the Scale of a custom object as if it were the object: applying to it cannot change it. */
function notConvertible(what: string, config: JsonObject): Error {
  const { namespace = "", name = "" } = metaOf(config);
  const why = `request to convert CR to an invalid group/version: ${SCALE_VERSION}`;
  return unclassifiedError(`${what} (${namespace}/${name}; ${SCALE_VERSION}, Kind=Scale) to proper version: ${why}`);
}
