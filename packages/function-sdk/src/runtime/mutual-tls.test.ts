// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { newAuthority, serverCertificate, temporaryDirectory, writeCertificates } from "../../test/raw-client.ts";
import { type LogFields, type Logger, nopLogger } from "../logging/new-logger.ts";
import { type Certificates, CertificateWatch, readCertificates } from "./mutual-tls.ts";

const authority = newAuthority();

/** A watch on a directory, and promises for what it says. */
async function watching(t: TestContext, directory: string) {
  const changes: Certificates[] = [];
  const errors: string[] = [];
  let wake = (): void => {};
  const log: Logger = {
    ...nopLogger,
    error: (_, fields: LogFields = {}) => {
      errors.push(String(fields["error"]));
      wake();
    },
  };
  const onChange = (certificates: Certificates): void => {
    changes.push(certificates);
    wake();
  };
  const current = await readCertificates(directory);
  const watch = new CertificateWatch({ directory, current, onChange, log });
  // A watch keeps no process alive; a test that waits for one has to.
  const alive = setTimeout(() => {}, 60_000);
  t.after(() => {
    clearTimeout(alive);
    watch.close();
  });
  const happened = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  return { watch, changes, errors, happened };
}

async function prepared(t: TestContext, name = "one"): Promise<string> {
  const directory = join(await temporaryDirectory(t), "certs");
  await mkdir(directory);
  await writeCertificates(directory, authority, serverCertificate(authority, name));
  return directory;
}

test("three files written one after the other are one change", async (t) => {
  const directory = await prepared(t);
  // The time to write three files is not bounded: the test controls the clock.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { changes, errors } = await watching(t, directory);
  const renewed = serverCertificate(authority, "two");
  await writeCertificates(directory, authority, renewed);
  while (changes.length + errors.length === 0) {
    t.mock.timers.tick(100);
    await setImmediate();
  }
  assert.equal(changes.length, 1);
  assert.equal(changes[0]?.cert.toString(), renewed.certPem);
  assert.deepEqual(errors, [], "no half-written set was tried");
});

test("a directory that is replaced as a whole is found by looking once a minute", async (t) => {
  const directory = await prepared(t);
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { changes, happened } = await watching(t, directory);
  const renewed = serverCertificate(authority, "two");
  const other = `${directory}.new`;
  await mkdir(other);
  await writeCertificates(other, authority, renewed);
  await rename(directory, `${directory}.old`);
  await rename(other, directory);
  const changed = happened();
  t.mock.timers.tick(60_000);
  await changed;
  assert.equal(changes.at(-1)?.cert.toString(), renewed.certPem);
});

test("nothing new is nothing to say, however often it is looked at", async (t) => {
  const directory = await prepared(t);
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { changes, errors } = await watching(t, directory);
  for (let i = 0; i < 5; i++) t.mock.timers.tick(60_000);
  await readCertificates(directory);
  assert.deepEqual([changes, errors], [[], []]);
});

test("a directory that goes away is reported, and its return noticed", async (t) => {
  const directory = await prepared(t);
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { changes, errors, happened } = await watching(t, directory);
  await rename(directory, `${directory}.away`);
  const complained = happened();
  t.mock.timers.tick(60_000);
  await complained;
  assert.match(errors[0] ?? "", /cannot read .*tls\.(crt|key)|ca\.crt/);
  await mkdir(directory);
  await writeCertificates(directory, authority, serverCertificate(authority, "back"));
  const changed = happened();
  t.mock.timers.tick(60_000);
  await changed;
  assert.equal(changes.length, 1);
});

test("a closed watch reports nothing more", async (t) => {
  const directory = await prepared(t);
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
  const { watch, changes, errors } = await watching(t, directory);
  watch.close();
  watch.close();
  await rm(directory, { recursive: true });
  t.mock.timers.tick(600_000);
  assert.deepEqual([changes, errors], [[], []]);
});
