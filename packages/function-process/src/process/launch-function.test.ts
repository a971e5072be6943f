// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { createFunctionProcesses } from "./function-processes.ts";
import type { FunctionProgram } from "./launch-function.ts";

const image: FunctionProgram = {
  kind: "image",
  root: "/nonexistent",
  process: { entrypoint: ["/fn"], cmd: [], env: [], workingDir: "/", user: "" },
  env: {},
  needsNode: false,
  sandbox: undefined,
  socket: "/nonexistent/socket",
};

const refused: Record<string, readonly [FunctionProgram, RegExp]> = {
  "a source file": [
    { kind: "source", file: "/fn.ts" },
    /refuses to run fn: purlin\.dev\/source runs a file without a sandbox; build a package/,
  ],
  "a command": [
    { kind: "command", command: "/bin/true", args: [] },
    /refuses to run fn: a command runs without a sandbox/,
  ],
  "a Provider in the network of the machine": [
    {
      ...image,
      sandbox: { program: "/nonexistent/bwrap", canDisableUserns: true },
      provider: { folders: {}, scratch: [], api: { host: "127.0.0.1", port: 1 }, egress: undefined },
    },
    /refuses to run fn: the provider would share the network of this machine; install pasta/,
  ],
  "an image without a sandbox": [image, /refuses to run fn: there is no sandbox; install bubblewrap and start again/],
};
for (const [name, [program, message]] of Object.entries(refused)) {
  test(`where a sandbox is required, ${name} is not started`, async () => {
    using folder = tempFolder();
    const states: string[] = [];
    await using processes = createFunctionProcesses({
      directory: join(folder.path, "state"),
      env: {},
      requireSandbox: true,
      onChange: ({ state }) => void states.push(state.phase),
    });
    const running = processes.run({ name: "fn", cwd: "/", program });
    await assert.rejects(running.served(), message);
    await running.settled();
    assert.deepEqual([running.state.phase, running.current, states], ["failed", undefined, ["failed"]]);
    running.reload();
    assert.equal(processes.run({ name: "fn", cwd: "/", program }), running, "asked for again, it stays refused");
    await processes.stop("fn");
  });
}
