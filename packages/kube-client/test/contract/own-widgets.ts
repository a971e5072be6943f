// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import type { ContractContext } from "./contract-case.ts";

/**
 * A kind of this case alone, ready to be used. A server begins to remember a kind when it comes, so version 1 is from before
 * everything it knows.
 */
export async function ownWidgets({ client, namespace, signal }: ContractContext): Promise<TypeRef> {
  await client.create(widgetsCrd(`widgets.${namespace}.example.org`));
  const widget = { apiVersion: `${namespace}.example.org/v1`, kind: "Widget" };
  for (;;) {
    const isServed = await client.list(widget).then(
      () => true,
      () => false,
    );
    if (isServed) return widget;
    await delay(20, undefined, { signal });
  }
}

/** The definition of a kind of Widgets, by its name. */
export function widgetsCrd(name: string): KubeObject {
  const [plural = "", ...group] = name.split(".");
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      group: group.join("."),
      scope: "Cluster",
      names: { plural, singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}
