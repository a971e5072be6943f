// SPDX-License-Identifier: Apache-2.0
import { toTypedForm } from "@purlin/kube-objects/typed";
import type { DispatchDeps } from "../admission/webhook-dispatch.ts";
import { metaOf, withMeta } from "../objects/object-meta.ts";
import { apiVersionOf, type ResourceType } from "../registry/resource-type.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";

/** Converts and decodes the objects that webhooks and policies see and change. */
export function objectForms(
  strategyOf: (type: ResourceType) => ObjectStrategy,
): Pick<DispatchDeps, "convert" | "decode"> {
  return {
    convert: (object, from, to) => {
      // An object of a subresource with a kind of its own is the same in every version.
      if (object["kind"] !== from.kind) return object;
      const { resourceVersion } = metaOf(object);
      const stored = strategyOf(from).storage.toStored(object);
      const shown = strategyOf(to).storage.toServed(stored);
      return withMeta({ ...shown, apiVersion: apiVersionOf(to), kind: to.kind }, { resourceVersion });
    },
    decode: (object, type) =>
      object["kind"] === type.kind ? strategyOf(type).decoder.decode(object).object : toTypedForm(object).object,
  };
}
