// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { attachEgress } from "./egress.ts";
import { findProgram } from "./find-bwrap.ts";
import { findUnsharedNetwork, inNetwork } from "./private-network.ts";

test("a private network is connected while programs in it begin and end", async (t) => {
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  const [found, network] = [findProgram("pasta", env), await findUnsharedNetwork(env)];
  if ("reason" in found || network === undefined) {
    const why = "reason" in found ? found.reason : "this user cannot create network namespaces";
    assert.equal(process.env["REQUIRE_SANDBOX"], undefined, why);
    return t.skip(why);
  }
  const busy = "i=0; while [ $i -lt 100 ]; do sleep 0.003; i=$((i+1)); done; read -r line";
  for (let round = 0; round < 5; round++) {
    const [command = "", ...args] = inNetwork(network, busy, []);
    const child = spawn(command, args, { stdio: ["pipe", "ignore", "inherit"], env });
    try {
      const attached = await attachEgress({ kind: "pasta", path: found.path }, child.pid ?? 0);
      attached.kill();
      await attached.ended;
    } finally {
      child.kill("SIGKILL");
    }
  }
});
