// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "@purlin/kube-objects/json";
import { openCluster } from "../cluster/cluster-client.ts";
import { ownVersion } from "../command-name.ts";
import { printYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";

/** `purlin version` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = textOption(input, "output") ?? "text";
  if (!["text", "yaml", "json"].includes(output)) {
    throw new UserError(`--output ${output}: expected text, yaml or json`, { exitCode: 2 });
  }
  const clientVersion = { version: ownVersion(), node: process.version };
  const server = isSet(input, "client") ? undefined : await serverVersionOf(input, io).catch(toError);
  const serverVersion = server instanceof Error ? undefined : server;
  const versions = { clientVersion, ...(serverVersion !== undefined && { serverVersion }) };
  if (output === "json") io.stdout.write(`${JSON.stringify(versions, undefined, 2)}\n`);
  else if (output === "yaml") io.stdout.write(printYaml(versions));
  else {
    const line = serverVersion === undefined ? "" : `Server Version: ${gitVersion(serverVersion)}\n`;
    io.stdout.write(`Client Version: v${clientVersion.version} (Node ${clientVersion.node})\n${line}`);
  }
  // This command's version is known without a server, as in kubectl.
  if (server instanceof Error) throw server;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(textOf(error));
}

async function serverVersionOf(input: CommandInput, io: Io): Promise<JsonValue> {
  await using cluster = await openCluster(input, io);
  return await cluster.client.raw({ method: "GET", path: "/version", signal: io.signal });
}

function gitVersion(version: JsonValue): string {
  return String((version as { readonly gitVersion?: string }).gitVersion ?? "unknown");
}
