// SPDX-License-Identifier: Apache-2.0
// The clock of the machine is set while a control plane runs, or while it does not.
import assert from "node:assert/strict";
import type { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import { type PurlinProcess, spawnPurlin } from "../../../packages/cli/test/spawn-purlin.ts";
import { sharedFolder } from "./harness/other-user.ts";

const dayMs = 86_400_000;
const clock = join(import.meta.dirname, "harness/set-clock.mjs");

function start(directory: string, days: number, atStart = "no"): PurlinProcess {
  const env = { NODE_OPTIONS: `--import=${clock}`, SET_CLOCK_DAYS: String(days), SET_CLOCK_AT_START: atStart };
  return spawnPurlin(["apiserver", "--data-dir", directory], { env });
}

async function servedBy(running: PurlinProcess): Promise<() => Promise<X509Certificate>> {
  const [, port] = await running.next("stdout", /127\.0\.0\.1:(\d+)\n/);
  return async () => {
    const socket = connect({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const certificate = socket.getPeerX509Certificate();
    socket.destroy();
    return certificate ?? assert.fail("no certificate was shown");
  };
}

const isValidAt = ({ validFromDate, validToDate }: X509Certificate, time: number): boolean =>
  validFromDate.getTime() <= time && time < validToDate.getTime();

const jumps: Record<string, { readonly days: number; readonly says: RegExp }> = {
  "forward, past the end of the certificate": {
    days: 700,
    says: /was set forward by 604800\d\ds; renewing certificates/,
  },
  "back, before the certificate": { days: -3, says: /was set back by 2592\d\ds; renewing certificates/ },
  "back by years": { days: -2000, says: /was set back by 172800\d\d\ds; renewing certificates/ },
};

for (const [name, { days, says }] of Object.entries(jumps)) {
  test(`a clock that is set ${name} while the server runs is reported, and the certificate is renewed`, async () => {
    using folder = sharedFolder();
    const running = start(join(folder.path, "data"), days);
    try {
      const served = await servedBy(running);
      const first = await served();
      const then = Date.now() + days * dayMs;
      assert.equal(isValidAt(first, then), false);
      running.child.kill("SIGUSR2");
      await running.next("stderr", says);
      // It is reported before the certificates are checked.
      for (let tries = 0; !isValidAt(await served(), then); tries++) assert.ok(tries < 100, "it was not renewed");
      assert.match(readFileSync(join(folder.path, "data", "kubeconfig"), "utf8"), /certificate-authority-data/);
    } finally {
      await running.stop();
    }
  });

  test(`a clock that is set ${name} while the server does not run leaves a control plane that can be used`, async () => {
    using folder = sharedFolder();
    const directory = join(folder.path, "data");
    const before = start(directory, 0);
    await servedBy(before);
    await before.stop();
    const meanwhile = start(directory, days, "yes");
    assert.ok(isValidAt(await (await servedBy(meanwhile))(), Date.now() + days * dayMs));
    await meanwhile.stop();
    const again = start(directory, 0);
    try {
      const certificate = await (await servedBy(again))();
      assert.ok(isValidAt(certificate, Date.now()));
      const kubeconfig = join(directory, "kubeconfig");
      const getting = spawnPurlin(["get", "namespaces", "--kubeconfig", kubeconfig]);
      await getting.next("stdout", /default/);
      await getting.stop();
    } finally {
      await again.stop();
    }
  });
}
