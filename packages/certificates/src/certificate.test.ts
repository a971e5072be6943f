// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { type CertificateOptions, createAuthority, issueCertificate, renewAuthority } from "./certificate.ts";

const authority = createAuthority({ commonName: "test authority" });
const base: CertificateOptions = { commonName: "server", usages: ["server"] };

test("an authority is self-signed, may sign, and says so", () => {
  const cert = new X509Certificate(authority.certPem);
  assert.equal(cert.subject, "CN=test authority");
  assert.equal(cert.ca, true);
  assert.equal(cert.checkIssued(cert), true);
  assert.equal(cert.verify(cert.publicKey), true);
  assert.equal(cert.checkPrivateKey(createPrivateKey(authority.keyPem)), true);
});

for (const authorityKey of ["ecdsa-p256", "rsa-2048"] as const) {
  for (const leafKey of ["ecdsa-p256", "rsa-2048"] as const) {
    test(`a ${leafKey} certificate of a ${authorityKey} authority verifies`, () => {
      const ca = createAuthority({ commonName: "ca", algorithm: authorityKey });
      const issued = issueCertificate(ca, { ...base, algorithm: leafKey });
      const [caCert, cert] = [new X509Certificate(ca.certPem), new X509Certificate(issued.certPem)];
      assert.equal(cert.publicKey.asymmetricKeyType, leafKey === "rsa-2048" ? "rsa" : "ec");
      assert.equal(cert.checkIssued(caCert), true);
      assert.equal(cert.verify(caCert.publicKey), true);
      assert.equal(cert.ca, false);
      assert.equal(cert.checkPrivateKey(createPrivateKey(issued.keyPem)), true);
    });
  }
}

test("names, groups, addresses and usages arrive", () => {
  const issued = issueCertificate(authority, {
    commonName: "system:admin ü",
    organizations: ["system:masters", "second"],
    dnsNames: ["localhost", "*.example.org", "fn.ns.svc"],
    ipAddresses: ["127.0.0.1", "::1", "2001:db8::7"],
    usages: ["client", "server", "client"],
  });
  const cert = new X509Certificate(issued.certPem);
  const subject = cert.toLegacyObject().subject;
  assert.deepEqual([subject.CN, subject.O], ["system:admin ü", ["system:masters", "second"]]);
  assert.deepEqual(cert.keyUsage, ["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"]);
  assert.equal(cert.checkHost("localhost"), "localhost");
  assert.equal(cert.checkHost("a.example.org"), "*.example.org");
  assert.equal(cert.checkHost("elsewhere"), undefined);
  for (const address of ["127.0.0.1", "::1", "2001:db8::7"]) assert.equal(cert.checkIP(address), address);
  assert.equal(cert.checkIP("127.0.0.2"), undefined);
});

test("serial numbers are 128 bits, positive and different", () => {
  const serials = Array.from(
    { length: 20 },
    () => new X509Certificate(issueCertificate(authority, base).certPem).serialNumber,
  );
  assert.equal(new Set(serials).size, serials.length);
  for (const serial of serials) assert.match(serial, /^[89A-F][0-9A-F]{31}$/);
});

const lifetimes: Record<string, { reason: string; now: string; days: number; notAfter: string }> = {
  Short: {
    reason: "an hour is a fraction of a day",
    now: "2026-11-15T00:00:00Z",
    days: 1 / 24,
    notAfter: "2026-11-15T01:00:00.000Z",
  },
  LastUtcTime: {
    reason: "ends in UTCTime",
    now: "2049-12-30T23:59:59Z",
    days: 1,
    notAfter: "2049-12-31T23:59:59.000Z",
  },
  Generalized: {
    reason: "crosses into GeneralizedTime",
    now: "2049-12-31T12:00:00Z",
    days: 1,
    notAfter: "2050-01-01T12:00:00.000Z",
  },
  FarFuture: {
    reason: "both ends in GeneralizedTime",
    now: "2070-01-01T00:00:00Z",
    days: 365,
    notAfter: "2071-01-01T00:00:00.000Z",
  },
};

for (const [name, { reason, now, days, notAfter }] of Object.entries(lifetimes)) {
  test(`lifetime: ${name}`, () => {
    const at = new Date(now);
    const ca = createAuthority({ commonName: "ca", now: at, days: 20_000 });
    const cert = new X509Certificate(issueCertificate(ca, { ...base, now: at, days }).certPem);
    assert.equal(cert.validToDate.toISOString(), notAfter, reason);
    assert.equal(cert.validFromDate.getTime(), at.getTime() - 300_000, "backdated five minutes for clocks that differ");
  });
}

test("a certificate is backdated to the time from which it may be valid, and no further", () => {
  const now = new Date("2026-11-15T12:00:00Z");
  const ca = createAuthority({ commonName: "ca", now });
  const validFrom = (time: string): string => {
    const { certPem } = issueCertificate(ca, { ...base, now, validFrom: new Date(time) });
    return new X509Certificate(certPem).validFromDate.toISOString();
  };
  assert.equal(validFrom("2026-11-15T11:58:00Z"), "2026-11-15T11:58:00.000Z");
  assert.equal(validFrom("2026-11-15T11:00:00Z"), "2026-11-15T11:55:00.000Z", "five minutes at most");
});

test("a certificate never outlives its authority", () => {
  const ca = createAuthority({ commonName: "ca", days: 10 });
  const cert = new X509Certificate(issueCertificate(ca, { ...base, days: 365 }).certPem);
  assert.deepEqual(cert.validToDate, new X509Certificate(ca.certPem).validToDate);
});

const other = createAuthority({ commonName: "other" });
const leaf = issueCertificate(authority, base);
const expired = createAuthority({ commonName: "old", now: new Date("2001-01-01"), days: 1 });

const refusals: Record<string, { reason: string; act: () => unknown; want: RegExp }> = {
  WrongKey: {
    reason: "certificate and key must belong together",
    act: () => issueCertificate({ certPem: authority.certPem, keyPem: other.keyPem }, base),
    want: /CN=test authority.*key belongs to another certificate/,
  },
  NotAnAuthority: {
    reason: "a leaf cannot sign",
    act: () => issueCertificate(leaf, base),
    want: /not a certificate authority/,
  },
  Expired: {
    reason: "an expired authority makes useless certificates",
    act: () => issueCertificate(expired, base),
    want: /expired on 2001-01-02/,
  },
  NoUsage: {
    reason: "no usage, no purpose",
    act: () => issueCertificate(authority, { ...base, usages: [] }),
    want: /at least one usage/,
  },
  NoName: { reason: "an empty subject", act: () => createAuthority({ commonName: "" }), want: /commonName is empty/ },
  NoDays: { reason: "zero days", act: () => createAuthority({ commonName: "a", days: 0 }), want: /must be positive/ },
  NaNDays: {
    reason: "not a number",
    act: () => createAuthority({ commonName: "a", days: Number.NaN }),
    want: /must be positive/,
  },
  BadDns: {
    reason: "spaces in a name",
    act: () => issueCertificate(authority, { ...base, dnsNames: ["a b"] }),
    want: /"a b".*not a DNS name/,
  },
  LongDns: {
    reason: "254 bytes",
    act: () => issueCertificate(authority, { ...base, dnsNames: ["a.".repeat(127)] }),
    want: /not a DNS name/,
  },
  NonAsciiDns: {
    reason: "needs punycode",
    act: () => issueCertificate(authority, { ...base, dnsNames: ["ü.de"] }),
    want: /not a DNS name/,
  },
  BadIp: {
    reason: "a name is not an IP address",
    act: () => issueCertificate(authority, { ...base, ipAddresses: ["host"] }),
    want: /not an IPv4/,
  },
};

for (const [name, { reason, act, want }] of Object.entries(refusals)) {
  test(`refuses: ${name}`, () => assert.throws(act, want, reason));
}

// Made with OpenSSL: P-384, PrintableString names, a SHA-1 key identifier; valid for a hundred years.
const foreign = {
  certPem: `-----BEGIN CERTIFICATE-----
MIICCzCCAZKgAwIBAgIUBzS5mn1Uww5NpXjTB7jobeUtvTowCgYIKoZIzj0EAwIw
NDELMAkGA1UEBhMCREUxEzARBgNVBAoMCk90aGVyIFRvb2wxEDAOBgNVBAMMB2Zv
cmVpZ24wIBcNMjYxMTE1MDQ0NzA1WhgPMjEyNjEwMjIwNDQ3MDVaMDQxCzAJBgNV
BAYTAkRFMRMwEQYDVQQKDApPdGhlciBUb29sMRAwDgYDVQQDDAdmb3JlaWduMHYw
EAYHKoZIzj0CAQYFK4EEACIDYgAEOhOI8sVkOtPsPdN6gXetsaerV7rPG0/BFToy
9euw5JlL7DNwW8McAhlKe3qAUvfuldMABR4U9US0EyoA01GGuSnSbDE8xBBwPnK4
h5a08eFt+HKRhoim6Fm3GOjojybUo2MwYTAdBgNVHQ4EFgQUoEpuN+W3oZVPwNQU
K2ZB8DnrdB0wHwYDVR0jBBgwFoAUoEpuN+W3oZVPwNQUK2ZB8DnrdB0wDwYDVR0T
AQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAgQwCgYIKoZIzj0EAwIDZwAwZAIwRH7H
Red2WD9AWVabJcCtV9WXXZctaZ0dF0mW1bg4BAL5Q9c/H4DMlHJxk8MZ9wpeAjAm
hUSUqvUhBbSd20H2xBqNQ42mb+zdr3nOVEdlucQuUsZYsuVWJM6B5H7dId/a7h8=
-----END CERTIFICATE-----
`,
  keyPem: `-----BEGIN PRIVATE KEY-----
MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAQhmzuxhh5JbQUUSoZ
wDPj4vARUem5MvXqQv+XmhThc31/zOGTfUvVogDAOIrYoBShZANiAAQ6E4jyxWQ6
0+w903qBd62xp6tXus8bT8EVOjL167DkmUvsM3BbwxwCGUp7eoBS9+6V0wAFHhT1
RLQTKgDTUYa5KdJsMTzEEHA+criHlrTx4W34cpGGiKboWbcY6OiPJtQ=
-----END PRIVATE KEY-----
`,
};

test("an authority of another tool signs, name and key identifier taken byte for byte", () => {
  const issued = new X509Certificate(issueCertificate(foreign, base).certPem);
  const ca = new X509Certificate(foreign.certPem);
  assert.equal(issued.checkIssued(ca), true, "checkIssued compares the key identifiers too");
  assert.equal(issued.verify(ca.publicKey), true);
});

test("an authority without a key identifier signs certificates without one", () => {
  const bare = {
    certPem: `-----BEGIN CERTIFICATE-----
MIIBcTCB+KADAgECAhRfzrJcj5KIdOC5t594uugd7JjbmjAKBggqhkjOPQQDAjAP
MQ0wCwYDVQQDDARiYXJlMCAXDTI2MTExNTA0NDcwNVoYDzIxMjYxMDIyMDQ0NzA1
WjAPMQ0wCwYDVQQDDARiYXJlMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEOhOI8sVk
OtPsPdN6gXetsaerV7rPG0/BFToy9euw5JlL7DNwW8McAhlKe3qAUvfuldMABR4U
9US0EyoA01GGuSnSbDE8xBBwPnK4h5a08eFt+HKRhoim6Fm3GOjojybUoxMwETAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA2gAMGUCMQCHca9cjCp89cCXn3TB
uS9QlmuIsh/cSMqI86+BLPb5UvH7dyxsdz6+WyRBsYpXGrICMBwv6Iww7XVo/Rz2
KO2udQ/oZP4oDvvThEy0+EDSDfS2AwYtX8bhV17vFum2SNrpIw==
-----END CERTIFICATE-----
`,
    keyPem: foreign.keyPem,
  };
  const issued = new X509Certificate(issueCertificate(bare, base).certPem);
  assert.equal(issued.checkIssued(new X509Certificate(bare.certPem)), true);
});

// Also made with OpenSSL.
const edwards = {
  certPem: `-----BEGIN CERTIFICATE-----
MIIBMDCB46ADAgECAhQQOntTOilADERMTcptZBOe20ZNYzAFBgMrZXAwDTELMAkG
A1UEAwwCZWQwIBcNMjYxMTE1MDQ0NzMzWhgPMjEyNjEwMjIwNDQ3MzNaMA0xCzAJ
BgNVBAMMAmVkMCowBQYDK2VwAyEA6+fnP5CP9NbY1HrmzNTwaQnXpk+/dGoxaPxl
Sw3Ys0CjUzBRMB0GA1UdDgQWBBStLjPkY+E76pXIBxdQj/3iMLj7JjAfBgNVHSME
GDAWgBStLjPkY+E76pXIBxdQj/3iMLj7JjAPBgNVHRMBAf8EBTADAQH/MAUGAytl
cANBALomzN9XiaNKay9FMLZWCtapCqhPvgrVYmtCD//BY2s/lngzTyNeO3xVQ1C3
n0tM9XPcTdFa1t2tB7yW9JeBjgI=
-----END CERTIFICATE-----
`,
  keyPem: `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIOlGWvZ4VdRIgz2LH15XCHMV+bnfMK+BsKBqEFXX8R7l
-----END PRIVATE KEY-----
`,
};

test("an authority with a key of a kind not known here is refused by name", () => {
  assert.throws(() => issueCertificate(edwards, base), /type "ed25519": the authority's key must be EC or RSA/);
});

test("a renewed authority says what it said before, for longer; what it signed before counts", () => {
  const now = new Date("2030-01-01T00:00:00Z");
  for (const one of [foreign, createAuthority({ commonName: "mine", dnsNames: ["ca.example.org"], now, days: 30 })]) {
    const renewed = renewAuthority(one, { now, days: 100 });
    assert.equal(renewed.keyPem, one.keyPem);
    const [before, after] = [new X509Certificate(one.certPem), new X509Certificate(renewed.certPem)];
    assert.deepEqual([after.subject, after.issuer, after.ca], [before.subject, before.subject, true]);
    assert.equal(after.subjectAltName, before.subjectAltName);
    assert.notEqual(after.serialNumber, before.serialNumber);
    assert.equal(after.validToDate.toISOString(), "2030-04-11T00:00:00.000Z");
    assert.equal(after.verify(after.publicKey), true);
    for (const authority of [one, renewed]) {
      const issued = new X509Certificate(issueCertificate(authority, { ...base, now }).certPem);
      assert.deepEqual([issued.checkIssued(before), issued.checkIssued(after)], [true, true]);
      assert.equal(issued.verify(after.publicKey), true);
    }
  }
});

// Also made with OpenSSL: an authority that another one signed.
const middle = {
  certPem: `-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIUALbjQnnDiViR/yFSetzU4ddMvXswCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEcm9vdDAgFw0yNjExMTUxODA0MTBaGA8yMTI2MTAyMjE4MDQx
MFowETEPMA0GA1UEAwwGbWlkZGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
pwPoInsSdgXzNUlh1Z8vCEYhfxKdbdpDmgUQIDvMR2ybbJ4M5HIxBJ1aXY9p85Qi
yjXGT8CGgKcYIYbJr5I4iqNTMFEwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQU
jM8sHiCobJoHQU+O3hbUiQTb3BEwHwYDVR0jBBgwFoAU5qH6iml06JowGMHghGOB
0fy95akwCgYIKoZIzj0EAwIDSAAwRQIhAJqB1MxcmeOe8ya9CXGg4bTePLheMrqV
W6bTB6tof4cJAiB4c6ygng7WD6VSNhmzhK6Cxw9ZbnJeo/CpRBFyi6HWiQ==
-----END CERTIFICATE-----
`,
  keyPem: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgh8LPnS3ZLLJP6Xze
JrHQ6SESyPHRgrH9ualrjBrAQDOhRANCAASnA+giexJ2BfM1SWHVny8IRiF/Ep1t
2kOaBRAgO8xHbJtsngzkcjEEnVpdj2nzlCLKNcZPwIaApxghhsmvkjiK
-----END PRIVATE KEY-----
`,
};

test("an authority that another one signed is not renewed, nor one that has ended or whose key is another", () => {
  assert.throws(() => renewAuthority(middle), /cannot renew an authority that another authority signed/);
  assert.throws(() => renewAuthority(expired), /expired on 2001-01-02/);
  assert.throws(() => renewAuthority({ ...authority, keyPem: other.keyPem }), /the private key belongs to another/);
});
