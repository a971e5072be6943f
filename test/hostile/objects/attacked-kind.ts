// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { send, type Target, type WireResponse } from "../../conformance/harness/wire.ts";

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A definition of a kind with these fields in its spec. */
export function definition(kind: string, properties: JsonObject, more: JsonObject = {}): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.hostile.example.org` },
    spec: {
      group: "hostile.example.org",
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: { type: "object", properties },
                status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              },
            },
          },
          ...more,
        },
      ],
    },
  };
}

/** The path of the objects of such a kind. */
export const objectsOf = (kind: string): string =>
  `/apis/hostile.example.org/v1/namespaces/default/${kind.toLowerCase()}s`;

/** An object of such a kind. */
export const objectNamed = (kind: string, name: string, spec: JsonObject): JsonObject => ({
  apiVersion: "hostile.example.org/v1",
  kind,
  metadata: { name },
  spec,
});

/** Sends a body that is a value, as JSON. */
export function sendJson(
  target: Target,
  [method, path]: readonly [method: string, path: string],
  body?: unknown,
  contentType = "application/json",
): Promise<WireResponse> {
  return send(target, {
    method,
    path,
    headers: { "content-type": contentType },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

/** Sends a body that is a text. */
export function sendText(
  target: Target,
  [method, path]: readonly [method: string, path: string],
  body: string,
  contentType: string,
): Promise<WireResponse> {
  return send(target, { method, path, headers: { "content-type": contentType }, body });
}

/** Creates a definition, and waits until its kind is served. */
export async function define(target: Target, kind: string, crd: JsonObject): Promise<void> {
  const { code, text } = await sendJson(target, ["POST", definitions], crd);
  if (code !== 201) throw new Error(`the definition of ${kind} was answered with ${code}: ${text.slice(0, 500)}`);
  while ((await sendJson(target, ["GET", objectsOf(kind)])).code !== 200);
}
