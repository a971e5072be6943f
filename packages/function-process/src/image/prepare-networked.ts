// SPDX-License-Identifier: Apache-2.0

import type { NetworkCommand } from "../sandbox/sandbox-arguments.ts";
import { asOwnUser, type UnsharedNetwork } from "../sandbox/unshared-network.ts";
import type { Program } from "../spawn/guarded-process.ts";
import { type BareOptions, prepareBare } from "./prepare-bare.ts";
import { type ImageProgram, openFunctionSocket, type PreparedProgram } from "./prepare-sandboxed.ts";
import { defaultPort, type NetworkMaker, type SandboxNetwork } from "./sandbox-network.ts";

/** An image that runs without a sandbox, but in a network of its own. */
type NetworkedImage = ImageProgram & { readonly network: UnsharedNetwork };

/**
 * Prepares the process of an image that sees this machine's files but has its own network, so that ports it opens never conflict, including
 * ports that cannot be configured.
 */
export async function prepareNetworked(
  program: NetworkedImage,
  options: Omit<BareOptions, "port" | "run">,
  openNetwork: (maker: NetworkMaker) => SandboxNetwork,
): Promise<PreparedProgram> {
  const socket = await openFunctionSocket(program.socket);
  const run: BareOptions["run"] = (bare) =>
    socket.start(openNetwork(program.network), networkedCommand(program.network, bare));
  const port = Number(defaultPort);
  const prepared = await prepareBare(program, { ...options, port, run }).catch(async (error: unknown) => {
    await socket.dispose();
    throw error;
  });
  return {
    ...prepared,
    address: socket.address,
    async dispose() {
      await socket.dispose();
      await prepared.dispose();
    },
  };
}

/** Changes to the folder of a program and runs it with only its own environment. */
const enter = 'cd "$1" && shift && exec env -i "$@"';

/** The command that runs a program in a network of its own as the user who started the control plane. */
export function networkedCommand(network: UnsharedNetwork, { command, args, cwd, env }: Program): NetworkCommand {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = ["/bin/sh", "-c", enter, "purlin-enter", cwd, ...variables, command, ...args];
  return { words: asOwnUser(network, words), inputs: [] };
}
