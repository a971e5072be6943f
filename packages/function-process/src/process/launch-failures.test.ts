// SPDX-License-Identifier: Apache-2.0
// Images that cannot be started: they are tried again and again, so each try must leave nothing behind.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { ProcessConfig } from "@purlin/oci";
import { takeSocket } from "../image/prepare-sandboxed.ts";
import { openSandboxNetwork } from "../image/sandbox-network.ts";
import { openBehind } from "../sandbox/private-network.ts";
import { openSupervision } from "../spawn/supervision.ts";
import { createPortPool } from "./function-port.ts";
import { createLaunch } from "./launch-function.ts";

const runnable: ProcessConfig = { entrypoint: ["/fn"], cmd: [], env: [], workingDir: "/", user: "" };
const rows: { why: string; config: Partial<ProcessConfig>; socket?: string; says: RegExp }[] = [
  { why: "no entry point", config: { entrypoint: [] }, says: /it could not be started: the image has no entry point/ },
  { why: "a variable with a NUL", config: { env: ["A=\0"] }, says: /it could not be started: .*null bytes/ },
  {
    why: "a socket where none can be",
    config: {},
    socket: "s".repeat(120),
    says: /it could not be started: .*(EINVAL|ENAMETOOLONG|invalid)/,
  },
];

for (const { why, config, socket = "fn", says } of rows) {
  test(`an image that cannot be started leaves no socket behind: ${why}`, async () => {
    using folder = tempFolder();
    const wanted = join(folder.path, socket);
    const resources = openSupervision(join(folder.path, "state"));
    const launch = createLaunch({
      program: {
        kind: "image",
        root: folder.path,
        process: { ...runnable, ...config },
        env: {},
        needsNode: false,
        sandbox: { program: "/bin/false", canDisableUserns: true },
        socket: wanted,
      },
      cwd: "/",
      env: {},
      certificates: async () => folder.path,
      ports: createPortPool(),
      openNetwork: (maker) => openSandboxNetwork(maker),
      openShaped: openSandboxNetwork,
      graceMs: 0,
      supervision: resources.general,
    });
    for (let round = 0; round < 3; round++) {
      const { promise, resolve } = Promise.withResolvers<string>();
      launch({ message() {}, output() {}, exceeded() {}, held() {}, ended: resolve });
      assert.match(await promise, says);
    }
    assert.equal(openBehind(wanted), undefined, "no network is attached");
    const next = await takeSocket(wanted);
    assert.equal(next.path, wanted, "it is free");
    await next.dispose();
    resources.close();
  });
}
