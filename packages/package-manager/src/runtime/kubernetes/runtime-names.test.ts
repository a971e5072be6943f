// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "../../package-kinds.ts";
import { endpointOf, runtimeNames, serverNames } from "./runtime-names.ts";

const long = "x".repeat(250);
const of = (owner: string, spec: JsonObject = {}): KubeObject => ({
  ...packageTypes.Function.revision,
  metadata: { name: `${owner.slice(0, 50)}-aaaaaaaaaaaa`, labels: { "pkg.crossplane.io/package": owner } },
  spec,
});

const own = { tlsServerSecretName: "fn-aaaaaaaaaaaa-tls-server" };
const named = (...names: readonly string[]): JsonObject =>
  Object.fromEntries(
    ["deploymentTemplate", "serviceTemplate", "serviceAccountTemplate"].map((template, index) => [
      template,
      { metadata: { name: names[index] ?? "" } },
    ]),
  );

interface Row {
  readonly reason: string;
  readonly kind?: "Function" | "Provider";
  readonly revision: KubeObject;
  readonly config?: JsonObject;
  readonly want: object;
  readonly names: readonly string[];
}

const rows: Readonly<Record<string, Row>> = {
  Package: {
    reason: "Service and certificate are the package's, the rest is the revision's",
    revision: of("fn", { tlsServerSecretName: "fn-tls-server" }),
    want: { isPerRevision: false, service: "fn", deployment: "fn-aaaaaaaaaaaa", serverSecret: "fn-tls-server" },
    names: ["fn", "fn.ns", "fn.ns.svc"],
  },
  Revision: {
    reason: "all is the revision's where its manager says so; it answers to the package's name as well",
    revision: of("fn", own),
    want: { isPerRevision: true, service: "fn-aaaaaaaaaaaa", serverSecret: "fn-aaaaaaaaaaaa-tls-server" },
    names: ["fn-aaaaaaaaaaaa", "fn-aaaaaaaaaaaa.ns", "fn-aaaaaaaaaaaa.ns.svc", "fn", "fn.ns", "fn.ns.svc"],
  },
  Unsaid: {
    reason: "where the manager sets nothing the package's names are used",
    revision: of("fn"),
    want: { isPerRevision: false, service: "fn", serverSecret: "fn-tls-server", clientSecret: undefined },
    names: ["fn", "fn.ns", "fn.ns.svc"],
  },
  Provider: {
    reason: "a provider has a certificate to call with",
    kind: "Provider",
    revision: of("fn"),
    want: { serverSecret: "fn-tls-server", clientSecret: "fn-tls-client" },
    names: ["fn", "fn.ns", "fn.ns.svc"],
  },
  Long: {
    reason: "names of Secrets are cut at 253 characters",
    revision: of(long),
    want: { serverSecret: `${"x".repeat(253 - "-tls-server".length)}-tls-server` },
    names: [long, `${long}.ns`, `${long}.ns.svc`],
  },
  Templates: {
    reason: "names of the runtime config win",
    revision: of("fn", own),
    config: named("d", "s", "a"),
    want: { deployment: "d", service: "s", serviceAccount: "a", isPerRevision: true },
    names: ["s", "s.ns", "s.ns.svc", "fn", "fn.ns", "fn.ns.svc"],
  },
};

for (const [name, { reason, kind = "Function", revision, config = {}, want, names }] of Object.entries(rows)) {
  test(`names ${name}: ${reason}`, () => {
    const found = runtimeNames(packageTypes[kind], revision, config);
    assert.deepEqual({ ...found, ...want }, found);
    assert.deepEqual(serverNames(found, "ns"), names);
  });
}

test("functions are dialled by the name their certificate carries", () => {
  assert.equal(endpointOf("fn", "ns"), "dns:///fn.ns:9443");
});
