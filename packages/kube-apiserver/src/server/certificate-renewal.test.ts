// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { renewInTime } from "./certificate-renewal.ts";
import { loadCertificates, type ServingCertificates } from "./serving-certificates.ts";

const dayMs = 86_400_000;
const start = new Date("2030-01-01T00:00:00Z");

function renewing(directory = tempDirectory()): {
  readonly clock: ManualClock;
  readonly current: ServingCertificates;
  readonly renewed: ServingCertificates[];
  readonly errors: unknown[];
  readonly stop: () => void;
} {
  const clock = manualClock(start.getTime());
  const current = loadCertificates(directory, { now: start });
  const renewed: ServingCertificates[] = [];
  const errors: unknown[] = [];
  const stop = renewInTime({
    directory,
    current,
    clock,
    onRenewed: (certificates) => renewed.push(certificates),
    onError: (error) => errors.push(error),
  });
  return { clock, current, renewed, errors, stop };
}

test("a server that runs for two years never serves a certificate that has expired, and renews seldom", () => {
  const { clock, current, renewed, stop } = renewing();
  let serving = current;
  for (let day = 0; day < 730; day += 1) {
    clock.advance(dayMs);
    serving = renewed.at(-1) ?? serving;
    for (const pair of [serving.server, serving.admin]) {
      assert.ok(new X509Certificate(pair.certPem).validToDate.getTime() > clock.now(), `expired on day ${day}`);
    }
  }
  assert.ok(renewed.length >= 2 && renewed.length <= 8, `renewed ${renewed.length} times`);
  assert.equal(serving.authority.certPem, current.authority.certPem, "existing kubeconfigs stay valid");
  stop();
});

test("nothing is reported while nothing is renewed", () => {
  const { clock, renewed, stop } = renewing();
  clock.advance(30 * dayMs);
  assert.equal(renewed.length, 0);
  stop();
});

test("a directory that cannot be read is tried again", () => {
  const directory = tempDirectory();
  const { clock, renewed, errors, stop } = renewing(directory);
  rmSync(join(directory, "pki"), { recursive: true });
  writeFileSync(join(directory, "pki"), "not a folder");
  clock.advance(300 * dayMs);
  assert.equal(renewed.length, 0);
  assert.ok(errors.length > 0);
  rmSync(join(directory, "pki"));
  clock.advance(dayMs);
  assert.equal(renewed.length, 1);
  stop();
});

test("nothing is renewed after it was stopped", () => {
  const { clock, renewed, stop } = renewing();
  stop();
  clock.advance(400 * dayMs);
  assert.equal(renewed.length, 0);
});
