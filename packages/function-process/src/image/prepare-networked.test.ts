// SPDX-License-Identifier: Apache-2.0
// An image without a sandbox in a network of its own: its socket, the command that is handed to the network, and what is left afterwards.
import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import type { ProcessConfig } from "@purlin/oci";
import { defaultFunctionLimits } from "../limits/function-limits.ts";
import type { UnsharedNetwork } from "../sandbox/private-network.ts";
import type { NetworkCommand } from "../sandbox/sandbox-arguments.ts";
import type { Supervision } from "../spawn/supervision.ts";
import { certificateFlags, prepareNetworked } from "./prepare-bare.ts";
import type { ImageProgram, PreparedProgram } from "./prepare-sandboxed.ts";
import type { NetworkMaker, SandboxNetwork } from "./sandbox-network.ts";

const network: UnsharedNetwork = { unshare: "/usr/bin/unshare" };

function imageFolder(): TempFolder {
  const folder = tempFolder({ "root/app/main": "binary" });
  chmodSync(join(folder.path, "root/app/main"), 0o755);
  return folder;
}

interface Started {
  readonly maker: NetworkMaker;
  readonly command: NetworkCommand;
}

/** Prepares an image; what its start hands to the network is kept. */
async function prepared(
  folder: TempFolder,
  entrypoint: readonly string[] = ["/app/main"],
): Promise<{ readonly program: PreparedProgram; readonly started: Started[] }> {
  const started: Started[] = [];
  const child = { on: () => child, once: () => child, off: () => child, send: () => true };
  const openNetwork = (maker: NetworkMaker): SandboxNetwork => {
    const start = (command: NetworkCommand): void => void started.push({ maker, command });
    return { process: { child }, start } as Partial<Record<keyof SandboxNetwork, unknown>> as SandboxNetwork;
  };
  const process = { entrypoint, cmd: [], env: ["A=1"], workingDir: "/app" } as Partial<ProcessConfig> as ProcessConfig;
  const image: ImageProgram & { readonly network: UnsharedNetwork } = {
    ...{ kind: "image", root: join(folder.path, "root"), process, env: {}, needsNode: false, sandbox: undefined },
    ...{ socket: join(folder.path, "sockets/fn"), network },
  };
  const supervision = {
    limits: defaultFunctionLimits,
    containment: { namespace: undefined },
    tmpFolder: join(folder.path, "tmp"),
  } as Partial<Supervision> as Supervision;
  const options = { certificates: "/certs", machineEnv: {}, certificateFlag: certificateFlags[0], supervision };
  return { program: await prepareNetworked(image, options, openNetwork), started };
}

describe("an image in a network of its own", () => {
  test("listens on a socket that only this user can reach", async () => {
    using folder = imageFolder();
    const { program } = await prepared(folder);
    assert.equal(program.address, `unix:${join(folder.path, "sockets/fn")}`);
    assert.ok(statSync(join(folder.path, "sockets/fn")).isSocket());
    assert.equal(statSync(join(folder.path, "sockets")).mode & 0o077, 0);
    await program.dispose();
  });

  test("hands its command to the network when it starts, with the usual port inside", async () => {
    using folder = imageFolder();
    const { program, started } = await prepared(folder);
    assert.equal(started.length, 0, "nothing runs before");
    program.start();
    const [first] = started;
    assert.equal(first?.maker, network);
    const words = first?.command.words ?? [];
    assert.equal(words[0], "/usr/bin/unshare");
    assert.deepEqual(words.slice(words.indexOf("purlin-enter") + 1, words.indexOf("purlin-enter") + 2), [
      join(folder.path, "root/app"),
    ]);
    assert.ok(words.includes("A=1"));
    assert.deepEqual(words.slice(-3), [
      join(folder.path, "root/app/main"),
      "--address=127.0.0.1:9443",
      "--tls-certs-dir=/certs",
    ]);
    await program.dispose();
  });

  test("leaves neither its socket nor its temporary folder", async () => {
    using folder = imageFolder();
    const { program } = await prepared(folder);
    assert.ok(existsSync(program.tmp ?? ""));
    await program.dispose();
    assert.deepEqual(readdirSync(join(folder.path, "sockets")), []);
    assert.deepEqual(readdirSync(join(folder.path, "tmp")), []);
  });

  test("that cannot be started leaves no socket, and its path is free again", async () => {
    using folder = imageFolder();
    await assert.rejects(prepared(folder, ["/gone"]), { message: "the image has no /gone to start" });
    assert.deepEqual(readdirSync(join(folder.path, "sockets")), []);
    const { program } = await prepared(folder);
    assert.equal(program.address, `unix:${join(folder.path, "sockets/fn")}`);
    await program.dispose();
  });

  test("beside one that still serves listens on a path of its own", async () => {
    using folder = imageFolder();
    const [one, other] = [await prepared(folder), await prepared(folder)];
    assert.notEqual(one.program.address, other.program.address);
    await one.program.dispose();
    assert.ok(existsSync(other.program.address.slice("unix:".length)));
    await other.program.dispose();
  });
});
