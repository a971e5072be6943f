// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, textAt, withMember } from "@purlin/kube-objects/object";

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
