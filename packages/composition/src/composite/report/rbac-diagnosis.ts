// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { memberAt, parseApiVersion, type TypeRef, textAt } from "@purlin/kube-objects/object";

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"] as const;

/** A kind in a namespace that could not be managed. */
type Managed = TypeRef & { readonly namespace?: string | undefined };

/**
 * Asks the API server whether the control plane may manage a kind. Resolves to the denied verbs in words; undefined when nothing is
 * denied or the review fails: a diagnosis never hides the error it explains.
 */
export async function diagnoseAccess(
  resource: Managed,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { resource: plural, namespaced } = await client.mapper.mapping(resource, signal);
    const { group, version } = parseApiVersion(resource.apiVersion);
    const namespace = namespaced ? resource.namespace : undefined;
    const asked = { group, version, resource: plural, ...(namespace ? { namespace } : {}) };
    if (await isAllowed("*", asked, { client, signal })) return undefined;
    const answers = await Promise.all(verbs.map((verb) => isAllowed(verb, asked, { client, signal })));
    const denied = verbs.filter((_, index) => !answers[index]);
    if (denied.length === 0) return undefined;
    const what = group === "" ? `${plural}/${version}` : `${plural}.${group}/${version}`;
    const where = namespace ? ` in namespace ${namespace}` : "";
    return `${await ownName(client, signal)} is not allowed to [${denied.join(", ")}] resource ${what}${where}`;
  } catch {
    return undefined;
  }
}

type Attributes = Readonly<Record<string, string>>;

async function isAllowed(
  verb: string,
  attributes: Attributes,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<boolean> {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    metadata: {},
    spec: { resourceAttributes: { ...attributes, verb } },
  };
  return memberAt(await client.create(review, { signal }), ["status", "allowed"]) === true;
}

/** The user name of the control plane at the API server. */
async function ownName(client: ControllerClient, signal: AbortSignal): Promise<string> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: {} };
  const unknown = "the control plane";
  const answer = await client.create(review, { signal }).catch(() => undefined);
  return (answer && textAt(answer, ["status", "userInfo", "username"])) ?? unknown;
}
