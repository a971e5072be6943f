// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAuthority, readValidity, remainingLifetimeMs, shouldRenew } from "./certificate.ts";

const start = new Date("2048-01-01T00:00:00Z");
const { certPem } = createAuthority({ commonName: "ca", now: start, days: 900 });
const afterDays = (days: number): Date => new Date(start.getTime() + days * 86_400_000);

test("validity is read from the certificate, across 2050", () => {
  const { notBefore, notAfter } = readValidity(certPem);
  assert.equal(notBefore.toISOString(), "2047-12-31T23:55:00.000Z");
  assert.deepEqual(notAfter, afterDays(900));
});

test("the remaining lifetime runs out and goes negative", () => {
  assert.equal(remainingLifetimeMs(certPem, afterDays(899)), 86_400_000);
  assert.equal(remainingLifetimeMs(certPem, afterDays(900)), 0);
  assert.equal(remainingLifetimeMs(certPem, afterDays(901)), -86_400_000);
});

const renewals: Record<string, { days: number; fraction?: number; want: boolean; reason: string }> = {
  Fresh: { days: 0, want: false, reason: "all of it is left" },
  BeforeLastThird: { days: 599, want: false, reason: "a little more than a third is left" },
  LastThird: { days: 601, want: true, reason: "less than a third is left" },
  Expired: { days: 1000, want: true, reason: "nothing is left" },
  OwnFraction: { days: 500, fraction: 0.5, want: true, reason: "less than half is left" },
};

for (const [name, { days, fraction, want, reason }] of Object.entries(renewals)) {
  test(`renewal: ${name}`, () => assert.equal(shouldRenew(certPem, afterDays(days), fraction), want, reason));
}

test("text that is not a certificate is an error", () => {
  assert.throws(() => readValidity("nothing"));
});
