// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "../../package-kinds.ts";
import { declaresWebhooks } from "./provider-webhooks.ts";

/** A client of a server with one CRD, of the name `kegs.example.org`, that converts by a strategy. */
function clientWith(strategy: string): ControllerClient {
  const get = async (_: unknown, { name }: { readonly name: string }): Promise<object | undefined> =>
    name === "kegs.example.org" ? { metadata: { name }, spec: { conversion: { strategy } } } : undefined;
  return { get } as Partial<ControllerClient> as ControllerClient;
}

const declares = (strategy: string, kind: string, name = "kegs.example.org"): Promise<boolean> => {
  const revision = { metadata: { name: "p-1" }, status: { objectRefs: [{ kind, name }] } } as Partial<KubeObject>;
  const context = {
    type: packageTypes.Provider,
    revision: revision as KubeObject,
    signal: new AbortController().signal,
  };
  return declaresWebhooks(clientWith(strategy), context);
};

test("a package has webhooks when it installs one, or a kind that it converts, directly or as a managed resource definition", async () => {
  assert.equal(await declares("None", "ValidatingWebhookConfiguration"), true);
  assert.equal(await declares("None", "MutatingWebhookConfiguration"), true);
  for (const kind of ["CustomResourceDefinition", "ManagedResourceDefinition"]) {
    assert.equal(await declares("Webhook", kind), true, kind);
    assert.equal(await declares("None", kind), false, kind);
    assert.equal(await declares("Webhook", kind, "inactive.example.org"), false, "a kind that is not served yet");
  }
});
