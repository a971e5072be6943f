// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { controllerOf, type KubeObject, memberAt, type TypeRef, textAt, withMember } from "@purlin/kube-objects/object";
import { hasCapability } from "@purlin/oci";

/** The type of managed resource definitions, which the CRDs of providers become. */
export const managedDefinitionType: TypeRef = {
  apiVersion: "apiextensions.crossplane.io/v1alpha1",
  kind: "ManagedResourceDefinition",
};

/** The capability of providers whose controllers wait until their kinds are served. */
const safeStart = "safe-start";

/** Kinds that configure a provider: they are not managed resources, and are served in any case. */
const configurationKinds = new Set([
  "ProviderConfig",
  "ClusterProviderConfig",
  "ProviderConfigUsage",
  "ClusterProviderConfigUsage",
]);

/** Whether a package or its revision has the capability to start before its kinds are served. */
export function startsSafely(capabilities: readonly string[]): boolean {
  return hasCapability(capabilities, safeStart);
}

/** Whether an object is an activated managed resource definition. */
export function isActiveDefinition(object: KubeObject): boolean {
  return object.kind === managedDefinitionType.kind && textAt(object, ["spec", "state"]) === "Active";
}

/** The revision that controls a managed resource definition. */
export function revisionOf(mrd: KubeObject): { readonly name: string }[] {
  const controller = controllerOf(mrd);
  return controller?.kind === "ProviderRevision" ? [{ name: controller.name }] : [];
}

/**
 * The objects of a provider with its CRDs as managed resource definitions. They are active unless the provider starts safely: then
 * activation policies decide. Throws when a CRD cannot be converted.
 */
export function convertCrds(objects: readonly KubeObject[], capabilities: readonly string[]): readonly KubeObject[] {
  const state = startsSafely(capabilities) ? {} : { state: "Active" };
  return objects.map((object) => {
    if (object.apiVersion !== "apiextensions.k8s.io/v1" || object.kind !== "CustomResourceDefinition") return object;
    if (configurationKinds.has(textAt(object, ["spec", "names", "kind"]) ?? "")) return object;
    const { spec } = object;
    if (!isJsonObject(spec)) throw new Error(`CustomResourceDefinition ${object.metadata.name} has no spec`);
    return { ...managedDefinitionType, metadata: object.metadata, spec: { ...spec, ...state } } as KubeObject;
  });
}

/** How webhooks that a package brings are called: through the Service of the package. */
export interface WebhookClient {
  /** The server's certificate, in base64. */
  readonly caBundle: string;
  /** The Service, named after the package. */
  readonly service: string;
  readonly namespace: string;
}

const port = 9443;
const configurations = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];

/** The object as it is installed: its webhooks call the package, whatever the package's YAML has. */
export function withWebhookClient(object: KubeObject, client: WebhookClient | undefined): KubeObject {
  if (configurations.includes(object.kind)) return configuration(object, required(object, client));
  if (textAt(object, ["spec", "conversion", "strategy"]) !== "Webhook") return object;
  const path = ["spec", "conversion", "webhook", "clientConfig"];
  return withMember(object, path, clientConfig(memberAt(object, path), required(object, client)));
}

function required({ kind, metadata }: KubeObject, client: WebhookClient | undefined): WebhookClient {
  if (client !== undefined) return client;
  throw new Error(`${kind} ${metadata.name ?? ""} has webhooks, and there is no certificate to call them with`);
}

/** One name per kind and package: a new revision replaces the old one, whatever its name in the YAML. */
function configuration(object: KubeObject, client: WebhookClient): KubeObject {
  const name = `crossplane-${object.kind.toLowerCase()}-${client.service}`;
  const webhooks = memberAt(object, ["webhooks"]);
  const called = (Array.isArray(webhooks) ? webhooks : []).map((webhook) =>
    isJsonObject(webhook) ? { ...webhook, clientConfig: clientConfig(webhook["clientConfig"], client) } : webhook,
  );
  return withMember(withMember(object, ["metadata", "name"], name), ["webhooks"], called);
}

/** The path is the author's; a URL, which would exclude a service, is not. */
function clientConfig(written: JsonValue | undefined, client: WebhookClient): JsonObject {
  const { url: _, service, ...rest } = isJsonObject(written) ? written : {};
  const { caBundle, namespace } = client;
  return {
    ...rest,
    caBundle,
    service: { ...(isJsonObject(service) ? service : {}), name: client.service, namespace, port },
  };
}
