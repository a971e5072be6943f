// SPDX-License-Identifier: Apache-2.0
// The texts are those of Go's crypto/x509. What kube-apiserver answers to many more requests is recorded in kube-builtin.
import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { createAuthority, issueCertificate } from "../certificate.ts";
import * as der from "../der-writer.ts";
import { certificatesProblem } from "./issued-certificates.ts";
import { keyPairProblem } from "./key-pair.ts";
import { signingRequestOrganizations, signingRequestProblem } from "./signing-request.ts";

const pemOf = (bytes: Uint8Array, type = "CERTIFICATE REQUEST"): Buffer =>
  Buffer.from(`-----BEGIN ${type}-----\n${Buffer.from(bytes).toString("base64")}\n-----END ${type}-----\n`);
const problemOf = (bytes: Uint8Array): string | undefined => signingRequestProblem(pemOf(bytes), () => undefined);

const ed = generateKeyPairSync("ed25519");
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });

interface Parts {
  readonly keys?: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly keyInfo?: Uint8Array;
  readonly algorithm?: Uint8Array;
  readonly subject?: Uint8Array;
  readonly names?: Uint8Array;
  readonly twice?: boolean;
  readonly version?: Uint8Array;
  /** Attributes before the one with the extensions. */
  readonly attributes?: Uint8Array;
}

const edAlgorithm = der.sequence(der.oid("1.3.101.112"));
const nameOf = (value: Uint8Array): Buffer => der.sequence(der.setOfOne(der.sequence(der.objectIds.commonName, value)));

/** A request with a valid signature, whatever its parts are. */
function request({ keys = ed, ...parts }: Parts = {}): Buffer {
  const names = parts.names ?? der.sequence(der.contextPrimitive(2, Buffer.from("a.example.org")));
  const extension = der.sequence(der.objectIds.subjectAltName, der.octetString(names));
  const extensions = der.sequence(...(parts.twice ? [extension, extension] : [extension]));
  const body = der.sequence(
    parts.version ?? der.smallInteger(0),
    parts.subject ?? nameOf(der.utf8String("x")),
    parts.keyInfo ?? keys.publicKey.export({ type: "spki", format: "der" }),
    der.contextConstructed(
      0,
      parts.attributes ?? Buffer.alloc(0),
      der.sequence(der.oid("1.2.840.113549.1.9.14"), der.setOfOne(extensions)),
    ),
  );
  const signature = sign(keys === ed ? null : "sha256", body, keys.privateKey);
  return der.sequence(body, parts.algorithm ?? edAlgorithm, der.bitString(signature));
}

const ecAlgorithm = der.sequence(der.objectIds.ecdsaWithSha256);
const san = (tag: number, bytes: Uint8Array | string): Buffer =>
  der.sequence(der.contextPrimitive(tag, typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes));
const ecInfo = (curve: string, point: Uint8Array): Buffer =>
  der.sequence(der.sequence(der.oid("1.2.840.10045.2.1"), der.oid(curve)), der.bitString(point));
const p256 = "1.2.840.10045.3.1.7";

const rows: Readonly<Record<string, readonly [Uint8Array, string | undefined]>> = {
  "with an Ed25519 key": [request(), undefined],
  "with an ECDSA key": [request({ keys: ec, algorithm: ecAlgorithm }), undefined],
  "with bytes after it": [Buffer.concat([request(), Buffer.from([0])]), "asn1: syntax error: trailing data"],
  "signed with another key": [
    request({ keyInfo: generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "der" }) }),
    "x509: Ed25519 verification failure",
  ],
  "with the algorithm of another key": [
    request({ algorithm: ecAlgorithm }),
    "x509: signature algorithm specifies an ECDSA public key, but have public key of type ed25519.PublicKey",
  ],
  "with an unknown algorithm": [
    request({ algorithm: der.sequence(der.oid("1.2.3")) }),
    "x509: cannot verify signature: algorithm unimplemented",
  ],
  "with MD5": [
    request({ algorithm: der.sequence(der.oid("1.2.840.113549.1.1.4"), der.nullValue()) }),
    "x509: cannot verify signature: insecure algorithm MD5-RSA",
  ],
  "with a subject that is not text": [
    request({ subject: nameOf(der.tlv(0x0c, Buffer.from([0xff]))) }),
    "asn1: invalid UTF-8 string",
  ],
  "with a subject of another type": [
    request({ subject: der.smallInteger(1) }),
    "asn1: structure error: tags don't match (16 vs {class:0 tag:2 length:1 isCompound:false}) {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} RDNSequence @2",
  ],
  "with a version that is too large": [
    request({ version: der.unsignedInteger(Buffer.alloc(9, 1)) }),
    "asn1: structure error: integer too large",
  ],
  "with the same extension twice": [
    request({ twice: true }),
    "x509: certificate request contains duplicate requested extensions",
  ],
  "with an address of 3 bytes": [
    request({ names: san(7, Buffer.from([1, 2, 3])) }),
    "x509: cannot parse IP address of length 3",
  ],
  "with a name that is not ASCII": [request({ names: san(2, "\xe4") }), "x509: SAN dNSName is malformed"],
  "with names that are not a list": [
    request({ names: der.smallInteger(1) }),
    "x509: invalid subject alternative names",
  ],
  "with a point that is not on its curve": [
    request({ keyInfo: ecInfo(p256, Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)])) }),
    "P256 point not on curve",
  ],
  "with a coordinate that is too large": [
    request({ keyInfo: ecInfo(p256, Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 255)])) }),
    "invalid P256 element encoding",
  ],
  "with a coordinate that is too large for another curve": [
    request({ keyInfo: ecInfo("1.3.132.0.34", Buffer.concat([Buffer.from([4]), Buffer.alloc(96, 255)])) }),
    "invalid P384Element encoding",
  ],
  "with a compressed point": [
    request({ keyInfo: ecInfo(p256, Buffer.concat([Buffer.from([2]), Buffer.alloc(32, 1)])) }),
    "ecdsa: invalid uncompressed public key",
  ],
  "with an unknown curve": [
    request({ keyInfo: ecInfo("1.3.132.0.10", Buffer.alloc(65, 4)) }),
    "x509: unsupported elliptic curve",
  ],
};

for (const [name, [bytes, want]] of Object.entries(rows)) {
  test(`a request ${name}`, () => {
    assert.equal(problemOf(bytes), want);
  });
}

test("a URI is what the caller says", () => {
  const bytes = pemOf(request({ names: san(6, "https://x/") }));
  assert.equal(
    signingRequestProblem(bytes, (text) => `no ${text}`),
    "x509: no https://x/",
  );
});

const mutated = (bytes: Uint8Array): fc.Arbitrary<Buffer> =>
  fc
    .array(fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255), isCut: fc.boolean() }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((edits) => {
      let changed = Buffer.from(bytes);
      for (const { at, byte, isCut } of edits) {
        if (isCut && byte < 20) changed = changed.subarray(0, at);
        else if (at < changed.length) changed[at] = byte;
      }
      return changed;
    });

const authority = createAuthority({ commonName: "test" });

test("bytes of any kind give an answer, and changed bytes never a valid signature", () => {
  const whole = request();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => typeof problemOf(bytes) === "string"),
    { numRuns: 300 },
  );
  fc.assert(
    fc.property(mutated(whole), (bytes) => {
      assert.equal(problemOf(bytes) === undefined, bytes.equals(whole));
    }),
    { numRuns: 500 },
  );
});

test("changed certificates give an answer", () => {
  const text = authority.certPem.split("\n").slice(1, -2).join("");
  fc.assert(
    fc.property(mutated(Buffer.from(text, "base64")), (bytes) => {
      const problem = certificatesProblem(pemOf(bytes, "CERTIFICATE"), () => undefined);
      return problem === undefined || problem !== "";
    }),
    { numRuns: 500 },
  );
});

test("our own certificates are right, alone and in a chain", () => {
  const leaf = issueCertificate(authority, { commonName: "leaf", dnsNames: ["a.example.org"], usages: ["server"] });
  for (const pem of [authority.certPem, leaf.certPem, leaf.certPem + authority.certPem]) {
    assert.equal(
      certificatesProblem(Buffer.from(pem), () => undefined),
      undefined,
    );
  }
});

const pair = (certificate: string, key: string): string | undefined =>
  keyPairProblem({ certificate: Buffer.from(certificate), key: Buffer.from(key), uriProblem: () => undefined });

test("a certificate and a key belong together or not", () => {
  const other = createAuthority({ commonName: "other" });
  const sec1 = createPrivateKey(authority.keyPem).export({ type: "sec1", format: "pem" }).toString();
  const edPem = ed.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  assert.equal(pair(authority.certPem, authority.keyPem), undefined);
  assert.equal(pair(authority.certPem, sec1), undefined);
  assert.equal(pair(authority.certPem, other.keyPem), "tls: private key does not match public key");
  assert.equal(pair(authority.certPem, edPem), "tls: private key type does not match public key type");
  assert.equal(pair("", authority.keyPem), "tls: failed to find any PEM data in certificate input");
  assert.equal(pair(authority.certPem, ""), "tls: failed to find any PEM data in key input");
  assert.match(pair(authority.keyPem, authority.certPem) ?? "", /PEM inputs may have been switched$/);
  assert.match(pair(authority.certPem, authority.certPem) ?? "", /^tls: found a certificate rather than a key/);
});

const many = (bytes: number, part: Uint8Array): Buffer => Buffer.alloc(bytes - (bytes % part.length), part);

test("requests and certificates of more than 64 KiB are refused before they are read", () => {
  const none = (): undefined => undefined;
  const small = pemOf(request({ names: der.tlv(0x30, many(60_000, Buffer.from([0x82, 1, 97]))) }));
  assert.equal(signingRequestProblem(small, none), undefined);
  const text = "must not be larger than 64 KiB";
  const large = pemOf(request({ names: der.tlv(0x30, many(70_000, Buffer.from([0x82, 1, 97]))) }));
  assert.equal(signingRequestProblem(large, none), text);
  assert.equal(certificatesProblem(Buffer.alloc(64 * 1024 + 1), none), text);
  const { certPem, keyPem } = authority;
  const largeCertificate = pemOf(Buffer.alloc(64 * 1024 + 1), "CERTIFICATE").toString();
  assert.equal(pair(largeCertificate, keyPem), `tls: the certificate was not checked: it ${text}`);
  assert.equal(pair(certPem.repeat(200), keyPem), undefined, "of a chain only the first certificate is read");
});

test("organizations are those of a request that is not refused for its size", () => {
  const organization = (count: number): Buffer => {
    const one = der.setOfOne(der.sequence(der.oid("2.5.4.10"), der.utf8String("system:masters")));
    return der.sequence(...Array.from({ length: count }, () => one));
  };
  const found = (count: number): string[] =>
    signingRequestOrganizations(pemOf(request({ subject: organization(count) })));
  assert.deepEqual(found(2), ["system:masters", "system:masters"]);
  assert.deepEqual(found(4000), []);
});

test("attributes that ask for no extensions are ignored, whatever they are", () => {
  const others = [
    Buffer.from([5, 0]),
    der.sequence(),
    der.sequence(der.oid("1.2.3"), der.setOfOne(Buffer.from([5, 0]))),
  ];
  const wrongId = der.sequence(Buffer.from([6, 1, 0x80]));
  const withoutValue = der.sequence(der.oid("1.2.840.113549.1.9.14"));
  for (const attribute of [...others, wrongId, withoutValue]) {
    assert.equal(problemOf(request({ attributes: many(20_000, attribute) })), undefined, attribute.toString("hex"));
  }
});
