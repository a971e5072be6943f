// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { connect, createServer } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { createCrossplaneAuthority, issueAsCrossplane } from "@purlin/certificates/testing";
import { createInformerPool } from "@purlin/kube-client";
import { type ClosableControllerClient, createControllerClient } from "@purlin/kube-controller";
import type { KubeObject, OwnerReference } from "@purlin/kube-objects/object";
import { namespace, type PackageCluster, startPackageCluster } from "../../../test/package-cluster.ts";
import { otherKinds } from "../../package-kinds.ts";
import {
  type CertificateDeps,
  ensureAuthority,
  ensureLeaf,
  type Leaf,
  type LeafRequest,
  secretData,
  secretText,
} from "./certificate-secrets.ts";

const dayMs = 86_400_000;
const signal = new AbortController().signal;

interface Scene extends AsyncDisposable {
  readonly cluster: PackageCluster;
  readonly client: ClosableControllerClient;
  readonly deps: CertificateDeps;
  advance(ms: number): void;
  leaf(more?: Partial<LeafRequest>): Promise<Leaf>;
  secret(name: string): Promise<KubeObject>;
}

async function start(days?: number): Promise<Scene> {
  const cluster = await startPackageCluster();
  const informers = createInformerPool(cluster.kube);
  const client = createControllerClient({ client: cluster.kube, informers, uncached: [otherKinds.secret] });
  let now = Date.now();
  const deps: CertificateDeps = { client, namespace, clock: { now: () => now, schedule: () => () => {} }, days };
  const request: LeafRequest = {
    secretName: "fn-tls-server",
    commonName: "fn",
    dnsNames: ["fn", "fn.ns"],
    usage: "server",
  };
  return {
    cluster,
    client,
    deps,
    advance: (ms) => {
      now += ms;
    },
    leaf: (more) => ensureLeaf(deps, { ...request, ...more }, signal),
    secret: (name) => cluster.kube.get(otherKinds.secret, { namespace, name }),
    async [Symbol.asyncDispose]() {
      await client.close();
      await informers.stop();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

const certificateOf = (secret: KubeObject): X509Certificate => new X509Certificate(secretText(secret, "tls.crt") ?? "");
const owner = (name: string): OwnerReference => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "FunctionRevision",
  name,
  uid: `uid-of-${name}`,
  controller: true,
  blockOwnerDeletion: true,
});

test("what was issued while the clock was years ahead is replaced, although it ends after the authority that is renewed", async () => {
  await using scene = await start();
  const years = 20 * 365 * dayMs;
  scene.advance(years);
  const ahead = certificateOf((await scene.leaf()).secret);
  assert.ok(ahead.validFromDate.getTime() > Date.now() + years / 2);
  scene.advance(-years);
  const { secret, renewInMs = 0 } = await scene.leaf();
  const leaf = certificateOf(secret);
  assert.ok(leaf.validFromDate.getTime() <= Date.now() + dayMs, leaf.validFrom);
  const authority = new X509Certificate((await ensureAuthority(scene.deps, signal)).certPem);
  assert.ok(authority.validFromDate.getTime() <= Date.now() + dayMs, authority.validFrom);
  assert.ok(leaf.validToDate < authority.validToDate && renewInMs > 0, "it is renewed in time");
  assert.equal(certificateOf((await scene.leaf()).secret).serialNumber, leaf.serialNumber, "once");
});

test("the authority is made once, in the form Crossplane reads", async () => {
  await using scene = await start();
  const authority = await ensureAuthority(scene.deps, signal);
  assert.match(authority.keyPem, /^-----BEGIN RSA PRIVATE KEY-----/);
  assert.deepEqual(createPrivateKey(authority.keyPem).asymmetricKeyDetails?.modulusLength, 2048);
  const certificate = new X509Certificate(authority.certPem);
  assert.equal(
    certificate.subject,
    "O=Purlin\nCN=purlin packages",
    "not Crossplane's: a leaf of Crossplane would look self-signed",
  );
  assert.equal(certificate.subjectAltName, "DNS:crossplane-root-ca");
  assert.equal(certificate.ca, true);
  const years = (certificate.validToDate.getTime() - Date.now()) / dayMs / 365;
  assert.ok(years > 9.9 && years < 10.1, `${years} years`);
  assert.deepEqual(await ensureAuthority(scene.deps, signal), authority);
});

for (const [name, data] of Object.entries({
  Empty: {},
  NoKey: secretData({ "tls.crt": "something" }),
  EmptyKey: secretData({ "tls.crt": "something", "tls.key": "" }),
})) {
  test(`an authority's Secret that an installer left ${name} is filled`, async () => {
    await using scene = await start();
    const metadata = { name: "crossplane-root-ca", namespace, labels: { keep: "me" } };
    await scene.cluster.kube.create({ ...otherKinds.secret, metadata, data });
    const authority = await ensureAuthority(scene.deps, signal);
    const stored = await scene.secret("crossplane-root-ca");
    assert.equal(secretText(stored, "tls.key"), authority.keyPem);
    assert.deepEqual(stored.metadata.labels, { keep: "me" });
  });
}

test("a certificate is signed by the authority, for its names, its use and a year", async () => {
  await using scene = await start();
  const { secret, mark, renewInMs } = await scene.leaf({ owner: owner("one") });
  const authority = await ensureAuthority(scene.deps, signal);
  const certificate = certificateOf(secret);
  assert.ok(certificate.verify(new X509Certificate(authority.certPem).publicKey));
  assert.equal(certificate.subjectAltName, "DNS:fn, DNS:fn.ns");
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"], "serving, and nothing else");
  assert.equal(secretText(secret, "ca.crt"), authority.certPem);
  assert.equal(secret["type"], "Opaque");
  assert.deepEqual(secret.metadata.ownerReferences, [owner("one")]);
  assert.equal(mark, undefined, "the first one needs no mark");
  const days = (renewInMs ?? 0) / dayMs;
  assert.ok(days > 243 && days < 244, `renewed after ${days} days`);
  scene.cluster.takeWrites();
  await scene.leaf({ owner: owner("one") });
  assert.deepEqual(scene.cluster.takeWrites(), []);
});

test("it is renewed when a third of its life is left, and the annotation records it", async () => {
  await using scene = await start(30);
  const first = await scene.leaf();
  scene.advance(19.9 * dayMs);
  assert.equal(secretText((await scene.leaf()).secret, "tls.crt"), secretText(first.secret, "tls.crt"));
  scene.advance(0.2 * dayMs);
  const second = await scene.leaf();
  assert.notEqual(secretText(second.secret, "tls.crt"), secretText(first.secret, "tls.crt"));
  assert.match(second.mark ?? "", /^[0-9a-f]{16}$/);
  assert.equal(certificateOf(second.secret).subjectAltName, "DNS:fn, DNS:fn.ns");
  assert.equal((await scene.leaf()).mark, second.mark);
  scene.advance(20.1 * dayMs);
  const third = await scene.leaf();
  assert.notEqual(third.mark, second.mark);
});

const yearMs = 365 * dayMs;

test("an authority in the last third of its life gets another certificate of its key; certificates that it signed stay valid, and are renewed in time", async () => {
  await using scene = await start();
  const before = await ensureAuthority(scene.deps, signal);
  scene.advance(6 * yearMs);
  const leaf = await scene.leaf();
  assert.deepEqual(await ensureAuthority(scene.deps, signal), before);
  scene.advance(0.75 * yearMs);
  const after = await ensureAuthority(scene.deps, signal);
  assert.equal(after.keyPem, before.keyPem);
  const [one, other] = [new X509Certificate(before.certPem), new X509Certificate(after.certPem)];
  assert.deepEqual([other.subject, other.subjectAltName, other.ca], [one.subject, one.subjectAltName, true]);
  assert.ok(other.validToDate.getTime() - one.validToDate.getTime() > 6.7 * yearMs);
  assert.equal(secretText(await scene.secret("crossplane-root-ca"), "tls.crt"), after.certPem);
  assert.deepEqual(await ensureAuthority(scene.deps, signal), after, "once");
  const renewed = await scene.leaf();
  assert.notEqual(secretText(renewed.secret, "tls.crt"), secretText(leaf.secret, "tls.crt"), "its own time had come");
  assert.equal(secretText(renewed.secret, "ca.crt"), after.certPem);
  for (const ca of [one, other]) {
    for (const { secret } of [leaf, renewed]) assert.ok(certificateOf(secret).checkIssued(ca));
  }
});

test("a certificate with the authority's certificate of before is the authority's, and renewed with it", async () => {
  await using scene = await start();
  await ensureAuthority(scene.deps, signal);
  scene.advance(6.6 * yearMs);
  const first = await scene.leaf();
  scene.advance(0.2 * yearMs);
  const after = await ensureAuthority(scene.deps, signal);
  scene.cluster.takeWrites();
  const kept = await scene.leaf();
  assert.deepEqual(scene.cluster.takeWrites(), [], "nothing is made again before its time");
  assert.notEqual(secretText(kept.secret, "ca.crt"), after.certPem);
  const days = (kept.renewInMs ?? 0) / dayMs;
  assert.ok(days > 170 && days < 171, `renewed after ${days} days`);
  scene.advance(kept.renewInMs ?? 0);
  const second = await scene.leaf();
  assert.equal(secretText(second.secret, "ca.crt"), after.certPem);
  assert.notEqual(second.mark, first.mark);
});

for (const [name, authority] of Object.entries({
  "that Crossplane made": createCrossplaneAuthority({ notBefore: new Date(Date.now() - 7 * yearMs) }),
  "that an earlier version of ours made": createAuthority({
    commonName: "Crossplane",
    organizations: ["Crossplane"],
    now: new Date(Date.now() - 7 * yearMs),
  }),
})) {
  test(`an authority ${name} is renewed in the last third of its life, and its leaves stay valid`, async () => {
    await using scene = await start();
    const leaf = issueAsCrossplane(authority, { dnsNames: ["fn.ns"], usages: ["server"] });
    const data = secretData({ "tls.crt": authority.certPem, "tls.key": authority.keyPem });
    await scene.cluster.kube.create({
      ...otherKinds.secret,
      metadata: { name: "crossplane-root-ca", namespace },
      data,
    });
    const renewed = await ensureAuthority(scene.deps, signal);
    assert.equal(renewed.keyPem, authority.keyPem);
    const [before, after] = [new X509Certificate(authority.certPem), new X509Certificate(renewed.certPem)];
    assert.equal(after.subject, before.subject);
    assert.ok(after.validToDate.getTime() - before.validToDate.getTime() > 6.9 * yearMs);
    assert.ok(new X509Certificate(leaf.certPem).verify(after.publicKey));
    assert.equal(secretText(await scene.secret("crossplane-root-ca"), "tls.crt"), renewed.certPem);
  });
}

test("a leaf that we issue with Crossplane's authority has its own subject and both key identifiers", async () => {
  await using scene = await start();
  const authority = createCrossplaneAuthority();
  const data = secretData({ "tls.crt": authority.certPem, "tls.key": authority.keyPem });
  await scene.cluster.kube.create({ ...otherKinds.secret, metadata: { name: "crossplane-root-ca", namespace }, data });
  const { secret } = await scene.leaf();
  const certificate = certificateOf(secret);
  assert.equal(certificate.subject, "CN=fn");
  const ids = [subjectKeyIdentifierOid, authorityKeyIdentifierOid].map((oid) => certificate.raw.includes(oid));
  assert.deepEqual(ids, [true, true]);
  const pem = {
    ca: authority.certPem,
    cert: secretText(secret, "tls.crt") ?? "",
    key: secretText(secret, "tls.key") ?? "",
  };
  assert.equal(await trustsServer(pem, "fn.ns"), true, "OpenSSL needs no exception for it");
});

const subjectKeyIdentifierOid = Buffer.from("0603551d0e", "hex");
const authorityKeyIdentifierOid = Buffer.from("0603551d23", "hex");

/** Whether plain OpenSSL, as any client of Node uses it, trusts a server with this certificate. */
async function trustsServer(pem: { ca: string; cert: string; key: string }, servername: string): Promise<boolean> {
  const server = createServer({ cert: pem.cert, key: pem.key }, (socket) => socket.on("error", () => {}).end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1", servername, ca: pem.ca });
  try {
    await once(socket, "secureConnect");
    return socket.authorized;
  } finally {
    socket.destroy();
    server.close();
  }
}

const lookedAfter = createAuthority({ commonName: "vault", now: new Date(Date.now() - 9.9 * yearMs) });
const expired = createAuthority({
  commonName: "Crossplane",
  organizations: ["Crossplane"],
  now: new Date(Date.now() - 10.1 * yearMs),
});
for (const [name, authority] of Object.entries({ "of another tool": lookedAfter, "that has ended": expired })) {
  test(`an authority ${name} is left as it is`, async () => {
    await using scene = await start();
    const data = secretData({ "tls.crt": authority.certPem, "tls.key": authority.keyPem });
    await scene.cluster.kube.create({
      ...otherKinds.secret,
      metadata: { name: "crossplane-root-ca", namespace },
      data,
    });
    assert.deepEqual(await ensureAuthority(scene.deps, signal), authority);
    assert.deepEqual((await scene.secret("crossplane-root-ca"))["data"], data);
  });
}

test("one that ends with its authority is the last: making another one would change nothing", async () => {
  await using scene = await start(30);
  const authority = createAuthority({ commonName: "vault", days: 10 });
  const data = secretData({ "tls.crt": authority.certPem, "tls.key": authority.keyPem });
  await scene.cluster.kube.create({ ...otherKinds.secret, metadata: { name: "crossplane-root-ca", namespace }, data });
  const last = await scene.leaf();
  assert.equal(last.renewInMs, undefined);
  scene.advance(9 * dayMs);
  assert.equal(secretText((await scene.leaf()).secret, "tls.crt"), secretText(last.secret, "tls.crt"));
});

test("it moves to a new owner without a new certificate, and keeps its owner when none is requested", async () => {
  await using scene = await start();
  const first = await scene.leaf({ owner: owner("one") });
  const kept = await scene.leaf();
  assert.deepEqual(kept.secret.metadata.ownerReferences, [owner("one")]);
  const moved = await scene.leaf({ owner: owner("two") });
  assert.deepEqual(moved.secret.metadata.ownerReferences, [owner("two")]);
  assert.equal(secretText(moved.secret, "tls.key"), secretText(first.secret, "tls.key"));
});

test("another name of the Service makes no new certificate", async () => {
  await using scene = await start();
  await scene.leaf();
  const renamed = await scene.leaf({ dnsNames: ["other", "other.ns"] });
  assert.equal(certificateOf(renamed.secret).subjectAltName, "DNS:fn, DNS:fn.ns");
});

const foreign = createAuthority({ commonName: "another tool" });
const theirs = issueCertificate(foreign, { commonName: "fn", dnsNames: ["fn.ns"], usages: ["server"], days: 1 });
for (const [name, texts] of Object.entries({
  OneKey: { "tls.crt": "anything" },
  OnlyAuthority: { "ca.crt": foreign.certPem },
  NoCertificate: { "ca.crt": foreign.certPem, "tls.crt": "anything", "tls.key": "anything" },
  Foreign: { "ca.crt": foreign.certPem, "tls.crt": theirs.certPem, "tls.key": theirs.keyPem },
})) {
  test(`a Secret that another tool manages is left alone: ${name}`, async () => {
    await using scene = await start();
    const metadata = { name: "fn-tls-server", namespace };
    const data = secretData(texts);
    await scene.cluster.kube.create({ ...otherKinds.secret, metadata, data });
    const { renewInMs, mark } = await scene.leaf({ owner: owner("one") });
    assert.deepEqual([renewInMs, mark], [undefined, undefined]);
    const stored = await scene.secret("fn-tls-server");
    assert.deepEqual(stored["data"], data);
    assert.equal(stored.metadata.ownerReferences, undefined);
  });
}

test("a Secret that is there but empty is filled, and keeps what else it has", async () => {
  await using scene = await start();
  const metadata = { name: "fn-tls-server", namespace, labels: { keep: "me" } };
  await scene.cluster.kube.create({ ...otherKinds.secret, metadata, data: secretData({ "tls.crt": "" }) });
  const { secret } = await scene.leaf();
  assert.equal(certificateOf(secret).subjectAltName, "DNS:fn, DNS:fn.ns");
  assert.deepEqual(secret.metadata.labels, { keep: "me" });
});

test("an invalid authority is reported with its Secret", async () => {
  await using scene = await start();
  const metadata = { name: "crossplane-root-ca", namespace };
  const data = secretData({ "tls.crt": "nonsense", "tls.key": "nonsense" });
  await scene.cluster.kube.create({ ...otherKinds.secret, metadata, data });
  await assert.rejects(scene.leaf(), /cannot keep the certificate in Secret "crossplane-system\/fn-tls-server"/);
});
