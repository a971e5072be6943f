// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { createRevocationCheck, revokedBefore, revokeUser } from "./revoked-users.ts";
import type { CertificateSubject } from "./user.ts";

function dataDirectory(): string {
  const directory = tempDirectory();
  mkdirSync(join(directory, "pki"));
  return directory;
}

const noon = Date.parse("2026-01-02T12:00:00Z");
const certificate = (validFrom: number, more: Partial<CertificateSubject> = {}): CertificateSubject => ({
  ...{ commonName: "jane", organizations: ["devs"], fingerprint: "ab", validFrom },
  ...more,
});

test("certificates of a revoked user are refused unless they are valid from then on", () => {
  const directory = dataDirectory();
  const isRevoked = createRevocationCheck(directory);
  assert.equal(isRevoked(certificate(noon - 1000)), false, "nothing is revoked");
  revokeUser(directory, "jane", new Date(noon + 999));
  assert.equal(isRevoked(certificate(noon - 1000)), true);
  assert.equal(isRevoked(certificate(noon)), false, "issued after it");
  assert.equal(isRevoked(certificate(Number.NaN)), true, "without a time");
  assert.equal(isRevoked(certificate(noon - 1000, { commonName: "joe" })), false, "another user");
  assert.equal(isRevoked(certificate(0, { organizations: ["system:masters"] })), false, "an administrator");
  assert.equal(isRevoked(certificate(0, { commonName: "constructor" })), false, "a name of an object's own");
  assert.equal(statSync(join(directory, "pki/revoked.json")).mode & 0o077, 0);
});

test("a second revocation refuses what was issued after the first, within the same second too", () => {
  const directory = dataDirectory();
  const isRevoked = createRevocationCheck(directory);
  revokeUser(directory, "jane", new Date(noon));
  const issued = revokedBefore(directory, "jane")?.getTime() ?? assert.fail();
  assert.equal(isRevoked(certificate(issued)), false);
  revokeUser(directory, "jane", new Date(noon + 1));
  assert.equal(isRevoked(certificate(issued)), true);
});

test("other users stay revoked until their last certificate has expired", () => {
  const directory = dataDirectory();
  revokeUser(directory, "old", new Date(noon - 367 * 86_400_000));
  revokeUser(directory, "recent", new Date(noon - 300 * 86_400_000));
  revokeUser(directory, "jane", new Date(noon));
  const users = Object.keys(JSON.parse(readFileSync(join(directory, "pki/revoked.json"), "utf8")));
  assert.deepEqual(users, ["recent", "jane"]);
  assert.deepEqual(revokedBefore(directory, "jane"), new Date(noon));
  assert.equal(revokedBefore(directory, "old"), undefined);
});

test("a file that is removed revokes nothing, and one that is damaged refuses everyone but administrators", () => {
  const directory = dataDirectory();
  const isRevoked = createRevocationCheck(directory);
  revokeUser(directory, "jane", new Date(noon));
  assert.equal(isRevoked(certificate(0)), true);
  const file = join(directory, "pki/revoked.json");
  for (const text of ["{", "[]", '"jane"']) {
    writeFileSync(file, text);
    assert.throws(() => isRevoked(certificate(0, { commonName: "joe" })), /is not a JSON object of users and times/);
    assert.throws(() => revokeUser(directory, "joe"), /is not a JSON object of users and times/);
    assert.equal(readFileSync(file, "utf8"), text);
    assert.equal(isRevoked(certificate(0, { organizations: ["system:masters"] })), false);
  }
  rmSync(file);
  assert.equal(isRevoked(certificate(0)), false);
});
