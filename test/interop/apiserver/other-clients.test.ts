// SPDX-License-Identifier: Apache-2.0
// The official Python and JavaScript clients do the same on both servers and must print the same.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { javascriptClient, pythonClient } from "../../../tools/peers/kube-clients.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { TextMask } from "./masked-text.ts";
import { type Program, type ProgramResult, runProgram } from "./run-program.ts";
import { type Server, startTwoServers, type TwoServers } from "./two-servers.ts";

let servers: TwoServers;
before(async () => {
  servers = await startTwoServers();
});
after(() => servers[Symbol.asyncDispose]());

const script = (name: string): string => join(import.meta.dirname, "clients", name);

const programs: Readonly<Record<string, (server: Server) => Program>> = {
  "the Python client": ({ kubeconfig, directory }) => ({
    program: join(installed(pythonClient, cacheDirectory), "bin", "python"),
    args: [script("dynamic-client.py"), kubeconfig, join(directory, "discovery.json")],
  }),
  "the JavaScript client": ({ kubeconfig }) => {
    const entry = join(
      installed(javascriptClient, cacheDirectory),
      "node_modules",
      javascriptClient.name,
      "dist/index.js",
    );
    return { program: process.execPath, args: [script("client-node.ts"), entry, kubeconfig] };
  },
};

async function run(server: Server, program: (server: Server) => Program): Promise<ProgramResult> {
  const { exitCode, stdout, stderr } = await runProgram(program(server));
  const mask = new TextMask([[new URL(server.url).host, "<address>"]]);
  return { exitCode, stdout: mask.mask(stdout), stderr: mask.mask(stderr) };
}

for (const [name, program] of Object.entries(programs)) {
  test(`${name} sees no difference`, async () => {
    const [ours, theirs] = await Promise.all([run(servers.embedded, program), run(servers.real, program)]);
    assert.equal(theirs.exitCode, 0, `on the real server: ${theirs.stderr}`);
    assert.deepEqual(ours, theirs);
  });
}
