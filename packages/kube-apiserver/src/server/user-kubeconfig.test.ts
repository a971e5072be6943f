// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { load } from "js-yaml";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { issueUserKubeconfig, kubeconfigText } from "./user-kubeconfig.ts";

const authority = createAuthority({ commonName: "purlin" });
const client = issueCertificate(authority, { commonName: "jane", usages: ["client"] });

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Record<string, string> }];
  readonly users: readonly [{ readonly name: string; readonly user: Record<string, string> }];
  readonly contexts: readonly [{ readonly context: Record<string, string> }];
}

const decoded = (text: string | undefined): string => Buffer.from(text ?? "", "base64").toString();

test("a kubeconfig has everything in it, and a namespace where one is given", () => {
  const parts = { server: "https://127.0.0.1:6443", authority, client, user: "jane" };
  const config = load(kubeconfigText(parts)) as Kubeconfig;
  const { server, ...trust } = config.clusters[0].cluster;
  assert.equal(server, "https://127.0.0.1:6443");
  assert.equal(decoded(trust["certificate-authority-data"]), authority.certPem);
  assert.equal(config.users[0].name, "jane");
  assert.equal(decoded(config.users[0].user["client-certificate-data"]), client.certPem);
  assert.equal(decoded(config.users[0].user["client-key-data"]), client.keyPem);
  assert.deepEqual(config.contexts[0].context, { cluster: "purlin", user: "jane" });
  const placed = load(kubeconfigText({ ...parts, namespace: "ns" })) as Kubeconfig;
  assert.equal(placed.contexts[0].context["namespace"], "ns");
  assert.ok(!kubeconfigText(parts).includes(authority.keyPem), "the key of the authority stays where it is");
});

function dataDirectory({
  ca = `${authority.keyPem}${authority.certPem}`,
  kubeconfig = "clusters: [{cluster: {server: 'https://h:1'}}]",
}): string {
  const directory = tempDirectory();
  mkdirSync(join(directory, "pki"));
  if (ca !== "") writeFileSync(join(directory, "pki", "ca.pem"), ca);
  writeFileSync(join(directory, "kubeconfig"), kubeconfig);
  return directory;
}

const jane = { name: "jane", groups: ["dev", "ops"], days: 3 };

test("a user gets a certificate of the authority with its name, its groups and its days", () => {
  const config = load(issueUserKubeconfig(dataDirectory({}), jane)) as Kubeconfig;
  assert.equal(config.clusters[0].cluster["server"], "https://h:1");
  const certificate = new X509Certificate(decoded(config.users[0].user["client-certificate-data"]));
  assert.ok(certificate.verify(new X509Certificate(authority.certPem).publicKey));
  assert.deepEqual(certificate.subject.split("\n").sort(), ["CN=jane", "O=dev", "O=ops"]);
  const days = (certificate.validToDate.getTime() - Date.now()) / 86_400_000;
  assert.ok(days > 2.9 && days <= 3.1, String(days));
});

test("a directory without an authority or a server is an error", () => {
  assert.throws(() => issueUserKubeconfig(dataDirectory({ ca: "" }), jane), {
    message: "cannot read pki/ca.pem: no such file",
  });
  assert.throws(() => issueUserKubeconfig(dataDirectory({ ca: "garbage" }), jane), {
    message: "cannot read pki/ca.pem: it is cut off, or not a private key followed by a certificate",
  });
  assert.throws(() => issueUserKubeconfig(dataDirectory({ kubeconfig: "clusters: []" }), jane), {
    message: "kubeconfig names no server",
  });
});
