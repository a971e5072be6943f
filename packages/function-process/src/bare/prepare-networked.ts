// SPDX-License-Identifier: Apache-2.0
import type { Program } from "../process/guarded-process.ts";
import { type ImageProgram, openFunctionDoor, type PreparedProgram } from "../process/launch-image.ts";
import { type CellMaker, defaultPort, type NetworkCell } from "../process/network-cell.ts";
import type { CellCommand } from "../sandbox/sandbox-arguments.ts";
import { asOwnUser, type UnsharedNetwork } from "../sandbox/unshared-network.ts";
import { type BareOptions, prepareBare } from "./prepare-bare.ts";

/** An image that runs without a sandbox, but in a network of its own. */
type NetworkedImage = ImageProgram & { readonly network: UnsharedNetwork };

/**
 * Prepares the process of an image that sees this machine but not its network: whatever ports it opens, also those that it cannot be told
 * about, are its own.
 */
export async function prepareNetworked(
  program: NetworkedImage,
  options: Omit<BareOptions, "port" | "run">,
  openCell: (maker: CellMaker) => NetworkCell,
): Promise<PreparedProgram> {
  const door = await openFunctionDoor(program.socket);
  const run: BareOptions["run"] = (bare) => door.start(openCell(program.network), commandOf(program.network, bare));
  const port = Number(defaultPort);
  const prepared = await prepareBare(program, { ...options, port, run }).catch(async (error: unknown) => {
    await door.dispose();
    throw error;
  });
  return {
    ...prepared,
    address: door.address,
    async dispose() {
      await door.dispose();
      await prepared.dispose();
    },
  };
}

/** Goes to the folder of a program, and runs it with its environment alone. */
const enter = 'cd "$1" && shift && exec env -i "$@"';

function commandOf(network: UnsharedNetwork, { command, args, cwd, env }: Program): CellCommand {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = ["/bin/sh", "-c", enter, "purlin-enter", cwd, ...variables, command, ...args];
  return { words: asOwnUser(network, words), inputs: [] };
}
