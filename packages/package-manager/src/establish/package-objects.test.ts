// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { withWebhookClient } from "./package-objects.ts";

const client = { caBundle: "Y2VydA==", service: "provider-x", namespace: "crossplane-system" };
const service = { name: "provider-x", namespace: "crossplane-system", port: 9443 };

const configuration = (kind: string, ...clientConfigs: (JsonObject | undefined)[]): KubeObject => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  metadata: { name: "of-the-author" },
  webhooks: clientConfigs.map((clientConfig, at) => ({
    name: `w${at}.example.org`,
    ...(clientConfig && { clientConfig }),
  })),
});

const crd = (conversion?: JsonObject): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.org" },
  spec: { group: "example.org", ...(conversion && { conversion }) },
});

const clientConfigs: Record<string, { written: JsonObject | undefined; wanted: JsonObject; reason: string }> = {
  Absent: { written: undefined, wanted: { service }, reason: "a webhook without rules is called too" },
  Path: {
    written: { service: { name: "webhook-service", namespace: "system", path: "/validate" } },
    wanted: { service: { ...service, path: "/validate" } },
    reason: "what generators write is overwritten, the path is not",
  },
  Port: { written: { service: { port: 443 } }, wanted: { service }, reason: "packages serve on 9443" },
  Url: { written: { url: "https://evil.example/" }, wanted: { service }, reason: "a URL would exclude the service" },
  Bundle: { written: { caBundle: "b3RoZXI=" }, wanted: { service }, reason: "the certificate is ours" },
};

for (const [name, { written, wanted, reason }] of Object.entries(clientConfigs)) {
  test(`how a webhook is called, ${name}: ${reason}`, () => {
    const made = withWebhookClient(configuration("ValidatingWebhookConfiguration", written), client);
    const [webhook] = memberAt(made, ["webhooks"]) as unknown as { clientConfig: unknown }[];
    assert.deepEqual(webhook?.clientConfig, { caBundle: client.caBundle, ...wanted });
  });
}

for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]) {
  test(`a ${kind} is named after the package, and each of its webhooks calls it`, () => {
    const before = configuration(kind, {}, { service: { path: "/b" } });
    const made = withWebhookClient(before, client);
    assert.equal(made.metadata.name, `crossplane-${kind.toLowerCase()}-provider-x`);
    assert.deepEqual(
      (memberAt(made, ["webhooks"]) as unknown as { name: string; clientConfig: { caBundle: string } }[]).map(
        (one) => `${one.name} ${one.clientConfig.caBundle}`,
      ),
      ["w0.example.org Y2VydA==", "w1.example.org Y2VydA=="],
    );
    assert.equal(before.metadata.name, "of-the-author", "what came out of the package is not changed");
    assert.throws(
      () => withWebhookClient(before, undefined),
      /of-the-author has webhooks, and there is no certificate/,
    );
  });
}

test("a configuration without webhooks is one", () => {
  const { webhooks: _, ...bare } = configuration("MutatingWebhookConfiguration");
  assert.deepEqual(memberAt(withWebhookClient(bare as KubeObject, client), ["webhooks"]), []);
});

test("conversion by webhook gets the certificate and the service; the review versions stay", () => {
  const webhook = {
    conversionReviewVersions: ["v1"],
    clientConfig: { url: "https://evil.example/", service: { name: "x", namespace: "y", path: "/convert" } },
  };
  const made = withWebhookClient(crd({ strategy: "Webhook", webhook }), client);
  assert.deepEqual(memberAt(made, ["spec", "conversion"]), {
    strategy: "Webhook",
    webhook: {
      conversionReviewVersions: ["v1"],
      clientConfig: { caBundle: client.caBundle, service: { ...service, path: "/convert" } },
    },
  });
  const bare = withWebhookClient(crd({ strategy: "Webhook" }), client);
  assert.deepEqual(memberAt(bare, ["spec", "conversion", "webhook", "clientConfig", "service"]), service);
  assert.throws(() => withWebhookClient(crd({ strategy: "Webhook" }), undefined), /there is no certificate/);
});

for (const [name, object] of Object.entries({
  "a CRD that converts nothing": crd(),
  "a CRD without conversion": crd({ strategy: "None" }),
  "an XRD": { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition", metadata: {} },
})) {
  test(`${name} is installed as it is`, () => {
    assert.equal(withWebhookClient(object, client), object);
    assert.equal(withWebhookClient(object, undefined), object);
  });
}
