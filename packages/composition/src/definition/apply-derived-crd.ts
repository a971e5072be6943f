// SPDX-License-Identifier: Apache-2.0

import { type ControllerClient, crdType, reservedFor } from "@purlin/kube-controller";
import { conflict, isAlreadyExists, textOf } from "@purlin/kube-objects/errors";
import { type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { controllerOf, isControlledBy, type KubeObject, memberAt, objectAt, textAt } from "@purlin/kube-objects/object";
import { toTypedForm } from "@purlin/kube-objects/typed";
import { fieldManagers } from "../composite-resource/constants.ts";

/** A derived CRD as it is stored. */
interface AppliedCrd {
  readonly crd: KubeObject;
  readonly isChanged: boolean;
}

/**
 * Stores a derived CRD: creates it if it does not exist, otherwise replaces labels, annotations, owner and spec. Nothing is
 * written when nothing would change. Rejects when another owner controls a CRD of that name.
 */
export async function applyDerivedCrd(
  client: ControllerClient,
  wanted: KubeObject,
  signal: AbortSignal,
): Promise<AppliedCrd> {
  const stored = await client.get(crdType, { name: wanted.metadata.name ?? "" }, { signal });
  if (stored !== undefined) checkControl(stored, wanted);
  if (stored !== undefined && isAsWanted(stored, wanted)) return { crd: stored, isChanged: false };
  const options = { fieldManager: fieldManagers.update, signal };
  const write =
    stored === undefined
      ? client.create(wanted, options).catch((error: unknown) => asConflict(error, wanted))
      : client.update(replaced(stored, wanted), options);
  const crd = await write.catch((error: unknown) => inTermsOfDefinition(error, wanted));
  return { crd, isChanged: crd.metadata.resourceVersion !== stored?.metadata.resourceVersion };
}

/** A CRD that exists although the cache did not hold it was created a moment ago: the next reconcile reads it. */
function asConflict(error: unknown, { metadata }: KubeObject): never {
  if (!isAlreadyExists(error)) throw error;
  const resource = { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" };
  throw conflict(resource, metadata.name ?? "", textOf(error));
}

/** The API server reports errors of a schema that all versions share at a path that definitions do not have. */
function inTermsOfDefinition(error: unknown, wanted: KubeObject): never {
  const text = textOf(error);
  const versions = memberAt(wanted, ["spec", "versions"]);
  const place =
    Array.isArray(versions) && versions.length === 1 ? "spec.versions[0].schema" : "spec.versions[*].schema";
  const translated = text.replaceAll("spec.validation.openAPIV3Schema", `${place}.openAPIV3Schema`);
  throw translated === text ? error : new Error(translated, { cause: error });
}

function checkControl(stored: KubeObject, wanted: KubeObject): void {
  const controller = controllerOf(stored);
  const uid = controllerOf(wanted)?.uid ?? "";
  const owner = reservedFor(stored.metadata.name ?? "");
  if (controller === undefined && owner !== undefined) throw notControlled(stored, uid, owner);
  if (controller === undefined || isControlledBy(stored, uid)) return;
  const { kind, name } = controller;
  throw notControlled(stored, uid, `${kind} "${name}"`);
}

function notControlled({ metadata }: KubeObject, uid: string, owner: string): Error {
  return new Error(
    `existing object is not controlled by UID "${uid}": CustomResourceDefinition "${metadata.name}" belongs to ${owner}`,
  );
}

function replaced(stored: KubeObject, wanted: KubeObject): KubeObject {
  const { labels: _labels, annotations: _annotations, ownerReferences: _owners, ...kept } = stored.metadata;
  return { ...stored, metadata: { ...kept, ...wanted.metadata }, spec: objectAt(wanted, ["spec"]) };
}

/** Whether the stored CRD equals what the server would store. */
function isAsWanted(stored: KubeObject, wanted: KubeObject): boolean {
  const same = (a: unknown, b: unknown): boolean => jsonEqual((a ?? {}) as JsonValue, (b ?? {}) as JsonValue);
  return (
    same(stored.metadata.labels, wanted.metadata.labels) &&
    same(stored.metadata.annotations, wanted.metadata.annotations) &&
    same(stored.metadata.ownerReferences, wanted.metadata.ownerReferences) &&
    same(stored["spec"], asStored(wanted))
  );
}

/** The spec as the API server stores it: without unknown fields and with defaults. */
function asStored(crd: KubeObject): JsonObject {
  const spec = objectAt(toTypedForm(crd).object, ["spec"]);
  const kind = textAt(spec, ["names", "kind"]) ?? "";
  const names = { singular: kind.toLowerCase(), listKind: `${kind}List`, ...objectAt(spec, ["names"]) };
  return { ...spec, names, conversion: conversionOf(spec) };
}

const httpsPort = 443;

function conversionOf(spec: JsonObject): JsonObject {
  const conversion = { strategy: "None", ...objectAt(spec, ["conversion"]) };
  const service = memberAt(conversion, ["webhook", "clientConfig", "service"]);
  if (service === undefined) return conversion;
  const webhook = objectAt(conversion, ["webhook"]);
  const clientConfig = objectAt(webhook, ["clientConfig"]);
  const withPort = { port: httpsPort, ...(service as JsonObject) };
  return { ...conversion, webhook: { ...webhook, clientConfig: { ...clientConfig, service: withPort } } };
}
